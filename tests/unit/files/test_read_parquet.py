"""The rows of a Parquet file as JSON."""

import io
import struct
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from prefpairs.errors import BadInput
from prefpairs.files.input_file import Input, Limits
from prefpairs.files.parquet_reader import parquet_rows
from prefpairs.model.json_codec import decode

X = Input("x.parquet", "x.parquet")


def _file(*rows: dict[str, Any], schema: Any = None) -> io.BytesIO:
    file = io.BytesIO()
    write_table(pa.Table.from_pylist(list(rows), schema=schema), file)
    file.seek(0)
    return file


def _row(**values: Any) -> Any:
    return decode(next(parquet_rows(_file(values), X)))


def test_rows_in_their_order() -> None:
    """Rows are in order, with nested lists and objects, nulls and texts of any script."""
    rows = [
        {"prompt": [{"role": "user", "content": "é\u2028"}], "score": 1.0, "note": None},
        {"prompt": [{"role": "user", "content": "b"}], "score": 0.25, "note": "x"},
    ]
    assert [decode(row) for row in parquet_rows(_file(*rows), X)] == rows


def test_more_rows_than_a_batch() -> None:
    """All rows of several batches are read."""
    rows = [{"n": number} for number in range(3000)]
    assert [decode(row) for row in parquet_rows(_file(*rows), X)] == rows


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (2**63 - 1, 2**63 - 1),
        (True, True),
        (Decimal("0.70"), 0.7),
        (Decimal(10**20 + 1), 10**20 + 1),
        (b"caf\xc3\xa9", "café"),
        (b"\xff1", {"raw_base64": "/zE="}),
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4, 5), "03:04:05"),
        (timedelta(seconds=90), "0:01:30"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02 03:04:05+00:00"),
        ([Decimal("1.5"), None], [1.5, None]),
        ({"a": b"x"}, {"a": "x"}),
    ],
)
def test_values_that_json_has_no_form_for(value: Any, read: Any) -> None:
    """Decimals become numbers, bytes and times become text."""
    assert _row(value=value) == {"value": read}


def test_nanoseconds() -> None:
    """Times in nanoseconds, as pandas writes them, do not crash."""
    schema = pa.schema([("at", pa.timestamp("ns"))])
    row = next(parquet_rows(_file({"at": 1_767_225_600_123_456_789}, schema=schema), X))
    assert decode(row)["at"].startswith("2026-01-01 00:00:00.123456")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.list_(pa.timestamp("ns")), [1_767_225_600_123_456_789]),
        (pa.struct([("at", pa.timestamp("ns"))]), {"at": 1_767_225_600_123_456_789}),
        (pa.duration("ns"), 123_456_789),
        (pa.time64("ns"), 123_456_789),
    ],
    ids=["list", "struct", "duration", "time"],
)
def test_other_nanoseconds(kind: Any, value: Any) -> None:
    """Nanoseconds in a column that is not needed do not make the file unreadable."""
    schema = pa.schema([("prompt", pa.string()), ("timing", kind)])
    rows = parquet_rows(_file({"prompt": "Q", "timing": value}, schema=schema), X)
    assert decode(next(rows))["prompt"] == "Q"


def test_map_column() -> None:
    """A map contains the same kinds of values as other columns."""
    schema = pa.schema([("scores", pa.map_(pa.string(), pa.decimal128(3, 2)))])
    row = next(
        parquet_rows(
            _file({"scores": {"a": Decimal("0.50")}}, schema=schema),
            X,
        )
    )
    assert decode(row) == {"scores": [["a", 0.5]]}


def test_nan_is_still_a_nan() -> None:
    """NaN as a score keeps its own reason, as in JSON."""
    row = decode(next(parquet_rows(_file({"score": float("nan")}), X)))
    assert str(row) == "{'score': nan}"


def test_torn_file() -> None:
    """A file without its end is rejected by name."""
    data = _file({"a": 1}).getvalue()
    with pytest.raises(BadInput) as caught:
        list(parquet_rows(io.BytesIO(data[:-20]), X))
    assert caught.value.path == "x.parquet"
    assert caught.value.problem.startswith("not a Parquet file that can be read")


def test_empty_file() -> None:
    """An empty file has no rows and no error."""
    schema = pa.schema([("a", pa.int64())])
    assert list(parquet_rows(_file(schema=schema), X)) == []


def _of_json(text: str) -> io.BytesIO:
    """A file with one text in a JSON column."""
    column = pa.ExtensionArray.from_storage(pa.json_(), pa.array([text], pa.string()))
    file = io.BytesIO()
    write_table(pa.table({"a": column}), file)
    file.seek(0)
    return file


def test_half_of_an_emoji_in_json() -> None:
    """Half an emoji is replaced as in a line of JSON, and the rest of the file is read."""
    assert decode(next(parquet_rows(_of_json('"\\ud800 é"'), X))) == {"a": "\ufffd é"}


def test_json_that_is_nested_too_deeply() -> None:
    """Too deep nesting is an error message, not a crash."""
    with pytest.raises(BadInput):
        list(parquet_rows(_of_json("[" * 100_000), X))


def test_a_page_that_changed() -> None:
    """Checksums, if present, are verified, since another score would give other pairs."""
    file = io.BytesIO()
    table = pa.table({"score": [0.25, 0.75]})
    write_table(table, file, write_page_checksum=True, use_dictionary=False, compression="none")
    data = file.getvalue()
    assert [decode(row) for row in parquet_rows(io.BytesIO(data), X)] == table.to_pylist()
    place = data.index(struct.pack("<2d", 0.25, 0.75))
    changed = data[:place] + struct.pack("<2d", 0.75, 0.25) + data[place + 16 :]
    with pytest.raises(BadInput, match="CRC"):
        list(parquet_rows(io.BytesIO(changed), X))


def test_unused_columns() -> None:
    """A date without a Python form in an unused column does not reject the file."""
    far = pa.array([4_000_000, 0], pa.int32()).cast(pa.date32())
    file = io.BytesIO()
    write_table(pa.table({"prompt": ["Q", "Q"], "far": far}), file)
    file.seek(0)
    assert [decode(row) for row in parquet_rows(file, X)] == [
        {"prompt": "Q", "far": {"type": "date32[day]", "value": 4_000_000}},
        {"prompt": "Q", "far": "1970-01-01"},
    ]


def test_columns_of_one_name() -> None:
    """Repeated column names are rejected, since only one could be read."""
    file = io.BytesIO()
    table = pa.table([["Q"], ["a"], ["b"]], names=["prompt", "response", "response"])
    write_table(table, file)
    file.seek(0)
    with pytest.raises(BadInput, match='2 of its columns are called "response"'):
        list(parquet_rows(file, X))


def test_rows_that_take_nothing() -> None:
    """The limit counts rows as JSON, since a million nulls take only a few bytes."""
    file = io.BytesIO()
    write_table(pa.table({"x": pa.nulls(1_000_000)}), file)
    file.seek(0)
    rows = parquet_rows(file, X._replace(limits=Limits(unpacked=5000)))
    with pytest.raises(BadInput, match="more than a file of rows should"):
        list(islice(rows, 1000))
