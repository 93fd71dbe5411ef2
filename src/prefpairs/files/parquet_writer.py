"""A Parquet file that lines of JSON are written to. Needs the extra `parquet`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from prefpairs.errors import UsageError
from prefpairs.files.arrow_values import require_room_for_pyarrow
from prefpairs.files.input_file import Input
from prefpairs.files.output import open_binary
from prefpairs.model.json_codec import decode, encode, encode_sorted
from prefpairs.optional_libraries import install_command, missing_library

_GROUP = 1000
"""Rows in a row group, which a reader must hold in memory."""

_CHAT = {"role": "string", "content": "string"}


class Table:
    """Takes lines of JSON, once `begin` has set the kind of each column."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._columns: Mapping[str, str] = {}
        self._rows: list[dict[str, Any]] = []
        self._writer: Any = None

    def begin(self, columns: Mapping[str, str]) -> None:
        """Set the kind of each column: a scalar, ints, chat, json or object."""
        require_room_for_pyarrow()
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        fields = [(name, _type_of(kind)) for name, kind in columns.items()]
        features = {name: _feature_of(kind) for name, kind in columns.items()}
        # From this `load_dataset` takes the types; other readers see lists and strings.
        metadata = {"huggingface": encode_sorted({"info": {"features": features}})}
        self._columns = columns
        self._writer = ParquetWriter(self._file, pa.schema(fields, metadata))

    def write(self, line: bytes, /) -> object:
        """Take one line."""
        row = decode(line)
        for name, kind in self._columns.items():
            if kind == "object":
                row[name] = encode(row[name]).decode()
            elif kind == "json" and row[name] is not None:
                row[name] = [encode(item).decode() for item in row[name]]
        self._rows.append(row)
        if len(self._rows) >= _GROUP:
            self._flush()
        return None

    def end(self) -> None:
        """Write the remaining rows."""
        if self._writer is not None:
            self._flush()
            self._writer.close()

    def abandon(self) -> None:
        """Stop writing; the file will be discarded."""
        if self._writer is not None:
            self._writer.is_open = False

    def _flush(self) -> None:
        if not self._rows:
            return
        import pyarrow as pa

        schema = self._writer.schema
        arrays = [
            _array_of([row[name] for row in self._rows], kind)
            for name, kind in self._columns.items()
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        self._rows = []


def _array_of(values: list[Any], kind: str) -> Any:
    import pyarrow as pa

    if kind == "object":
        return pa.ExtensionArray.from_storage(pa.json_(), pa.array(values, pa.string()))
    if kind != "json":
        return pa.array(values, _type_of(kind))
    # Arrow cannot build lists of an extension type from values, so the type is added afterwards.
    texts = pa.array(values, pa.list_(pa.string()))
    marked = pa.ExtensionArray.from_storage(pa.json_(), texts.values)
    return pa.ListArray.from_arrays(texts.offsets, marked)


@contextmanager
def open_table(path: str, inputs: Sequence[Input] = (), **how: Any) -> Iterator[Table]:
    """A Parquet file, which appears when the block succeeds."""
    try:
        import pyarrow as pa
    except ImportError:
        raise missing_library("writing .parquet", "parquet") from None
    if not hasattr(pa, "json_"):
        raise UsageError("writing .parquet needs pyarrow 19 or newer", install_command("parquet"))
    with open_binary(path, inputs, **how) as file:
        table = Table(file)
        try:
            yield table
            table.end()
        except BaseException:
            table.abandon()
            raise


def _type_of(kind: str) -> Any:
    """The Arrow type of a column."""
    import pyarrow as pa

    if kind == "object":
        return pa.json_()
    if kind == "json":
        return pa.list_(pa.json_())
    if kind == "ints":
        return pa.list_(pa.int32())
    if kind == "chat":
        return pa.list_(pa.struct([(name, pa.string()) for name in _CHAT]))
    scalars = {"float64": pa.float64, "int64": pa.int64, "bool": pa.bool_}
    return scalars.get(kind, pa.string)()


def _feature_of(kind: str) -> dict[str, Any]:
    """The type of a column as the Hub's libraries write it."""
    if kind == "object":
        return {"_type": "Json"}
    if kind == "json":
        return {"feature": {"_type": "Json"}, "_type": "List"}
    if kind == "ints":
        return {"feature": {"dtype": "int32", "_type": "Value"}, "_type": "List"}
    if kind == "chat":
        chat = {name: {"dtype": dtype, "_type": "Value"} for name, dtype in _CHAT.items()}
        return {"feature": chat, "_type": "List"}
    return {"dtype": kind, "_type": "Value"}
