"""Rows of Arrow as values, including those without a Python form, in each kind of container."""

from collections.abc import Callable
from datetime import datetime
from time import process_time
from typing import Any

import pyarrow as pa
import pytest

from prefpairs.files.arrow_values import rows_of, without_nanoseconds

NO_TEXT = [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0\3\0\0\0"), pa.py_buffer(b"\xff1a")]
"""Two texts: bytes that are not UTF-8, and a letter."""

ODD: list[tuple[Any, Any, Any]] = [
    (
        pa.array([4_000_000, 0], pa.date32()),
        {"type": "date32[day]", "value": 4_000_000},
        "1970-01-01",
    ),
    (pa.array([2**62, 0], pa.timestamp("us")), {"type": "timestamp[us]", "value": 2**62}, None),
    (pa.array([2**62, 0], pa.duration("s")), {"type": "duration[s]", "value": 2**62}, "0:00:00"),
    (pa.Array.from_buffers(pa.string(), 2, NO_TEXT), b"\xff1", "a"),
]


def _rows(column: Any) -> list[Any]:
    batch = without_nanoseconds(pa.record_batch([column], names=["x"]))
    return [row["x"] for row in rows_of(batch)]


def _struct(column: Any) -> Any:
    return pa.StructArray.from_arrays([column, column], ["a", "b"])


def _list(column: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), column)


def _map(column: Any) -> Any:
    return pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["k", "l"]), column)


AROUND: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "nothing": (lambda column: column, lambda value: value),
    "a struct": (_struct, lambda value: {"a": value, "b": value}),
    "a list": (_list, lambda value: [value]),
    "a list of one": (lambda given: pa.FixedSizeListArray.from_arrays(given, 1), lambda one: [one]),
    "a list of structs": (lambda given: _list(_struct(given)), lambda one: [{"a": one, "b": one}]),
}  # fmt: skip


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("column", "first", "second"), ODD, ids=lambda one: str(one)[:12])
def test_values_without_a_form(column: Any, first: Any, second: Any, around: str) -> None:
    """Such values stay distinct, and values next to them are unchanged."""
    put, told = AROUND[around]
    found = _rows(put(column))
    assert found[0] == told(first)
    assert found[1] == _rows(put(column)[1:])[0]
    if second is not None and around == "nothing":
        assert str(found[1]) == second


@pytest.mark.parametrize(("column", "first", "second"), ODD, ids=lambda one: str(one)[:12])
def test_maps(column: Any, first: Any, second: Any) -> None:
    """The members of a map become pairs, as in other rows."""
    found = _rows(_map(column))
    assert found == [[("k", first)], [("l", _rows(column)[1])]]
    assert second is None or str(found[1][0][1]) == second


def test_unknown_time_zone() -> None:
    """Times in an unknown zone stay distinct."""
    for unit in ("us", "ns"):
        column = pa.array([1000, 2000, None], pa.timestamp(unit, "Foo/Bar"))
        first, second, nothing = _rows(column)
        assert (first != second, nothing) == (True, None)


@pytest.mark.full
def test_many_times_in_an_unknown_zone() -> None:
    """An unknown zone is looked up once."""
    column = pa.array(range(50_000), pa.timestamp("us", "Foo/Baz"))
    begin = process_time()
    assert len(_rows(column)) == 50_000
    assert process_time() - begin < 1


def test_nanoseconds_in_containers() -> None:
    """Nanoseconds become microseconds, as elsewhere."""
    column = pa.array([1_000_001, None], pa.timestamp("ns"))
    second = datetime(1970, 1, 1, 0, 0, 0, 1000)  # noqa: DTZ001 - as Arrow has it
    assert _rows(pa.FixedSizeListArray.from_arrays(column, 1)) == [[second], [None]]
    assert _rows(_map(column)) == [[("k", second)], [("l", None)]]


def test_objects_with_a_name_twice() -> None:
    """Objects with a repeated name keep all of it."""
    column = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    assert _rows(column) == [[("a", 1), ("a", 2)]]
