"""Rows of Arrow as Python values, even if a column has values that Python cannot represent.

Dates after the year 9999, unknown time zones and strings that are not UTF-8 have no Python
equivalent. Such a value becomes one that is neither text nor number nor message, so that only rows
that need it are bad. Different values remain different.
"""

from contextlib import suppress
from functools import cache
from typing import Any

from prefpairs.model import memory_guard

_OUT_OF_MEMORY = ("bad_alloc", "Failed to launch worker thread")
"""What pyarrow's error contains if it does not raise MemoryError. A thread needs a stack."""


_ROOM = 150_000_000
"""The address space that pyarrow needs as it is loaded; with less, it ends the process."""


def require_room_for_pyarrow() -> None:
    """Raise MemoryError if a limit on memory leaves too little to load pyarrow."""
    if memory_guard.LIMITED:
        memory_guard.require(_ROOM)


def rows_of(batch: Any) -> list[dict[str, Any]]:
    """The rows of a batch."""
    names = batch.schema.names
    columns = [_values(column) for column in batch.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(column: Any) -> list[Any]:
    """The values of a column; converted one by one if Python cannot represent one of them."""
    try:
        found: list[Any] = column.to_pylist()
    except (OverflowError, ValueError, KeyError) as error:
        _raise_for_memory(error)
        return [_value(one) for one in column]
    return found


def _value(scalar: Any) -> Any:
    """A value, or its replacement."""
    import pyarrow as pa

    kind = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_struct(kind):
        return _members([kind.field(place).name for place in range(kind.num_fields)], scalar)
    if hasattr(scalar, "values"):  # a list or a map
        of_one = _pair if pa.types.is_map(kind) else _value
        return [of_one(one) for one in scalar.values]
    if isinstance(scalar, (pa.DictionaryScalar, pa.ExtensionScalar)):
        return _value(scalar.value)
    return _single(scalar)


def _single(scalar: Any) -> Any:
    """A value without inner values. If it has no equivalent: bytes, or its type and number."""
    if not _is_known_zone(getattr(scalar.type, "tz", None)):
        return _as_number(scalar)
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return scalar.as_buffer().to_pybytes()
    except (OverflowError, ValueError) as error:
        _raise_for_memory(error)
        return _as_number(scalar)


def _as_number(scalar: Any) -> dict[str, Any]:
    return {"type": str(scalar.type), "value": scalar.value}


@cache
def _is_known_zone(name: str | None) -> bool:
    """Whether Python knows a time zone. Cached, since Python searches folders for it each time."""
    import pyarrow as pa

    with suppress(ValueError, KeyError):  # KeyError is raised by pytz, if it is installed
        return name is None or pa.lib.string_to_tzinfo(name) is not None
    return False


def _members(names: list[str], scalar: Any) -> Any:
    """An object; a list of pairs if two members have the same name."""
    values = [_value(scalar[place]) for place in range(len(names))]
    pairs = list(zip(names, values, strict=True))
    return dict(pairs) if len({*names}) == len(names) else pairs


def _pair(scalar: Any) -> tuple[Any, Any]:
    """A member of a map."""
    return _value(scalar[0]), _value(scalar[1])


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory was short, whatever pyarrow makes of it."""
    return isinstance(error, MemoryError) or any(told in str(error) for told in _OUT_OF_MEMORY)


def _raise_for_memory(error: Exception) -> None:
    """Raise errors about memory, which are not about the value."""
    if is_out_of_memory(error):
        raise error


def without_nanoseconds(batch: Any) -> Any:
    """The batch with its times in microseconds, the resolution that Python has."""
    import pyarrow as pa

    columns = [column.with_type(_coarse(column.type)) for column in batch.schema]
    schema = pa.schema(columns, metadata=batch.schema.metadata)
    return batch if schema.equals(batch.schema) else batch.cast(schema, safe=False)


def _coarse(kind: Any) -> Any:
    """An Arrow type with microseconds in place of nanoseconds, at any depth."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return pa.struct([_coarse_field(kind.field(place)) for place in range(kind.num_fields)])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return make(_coarse_field(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_coarse_field(kind.value_field), kind.list_size)
    if pa.types.is_map(kind):
        fields = _coarse_field(kind.key_field), _coarse_field(kind.item_field)
        return pa.map_(*fields, kind.keys_sorted)
    return _coarse_single(kind) if getattr(kind, "unit", None) == "ns" else kind


def _coarse_field(field: Any) -> Any:
    return field.with_type(_coarse(field.type))


def _coarse_single(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.duration("us") if pa.types.is_duration(kind) else pa.time64("us")
