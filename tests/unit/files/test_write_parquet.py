"""Writes lines to Parquet files."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow.parquet import read_schema, read_table

from prefpairs.errors import UsageError
from prefpairs.files.input_paths import find_inputs
from prefpairs.files.open_input import open_input
from prefpairs.files.parquet_writer import Table, open_table

COLUMNS = {"chat": "chat", "calls": "json", "text": "string", "score": "float64", "label": "bool"}
COLUMNS |= {"ids": "ints"}
ROWS: list[dict[str, Any]] = [
    {
        "chat": [{"role": "user", "content": "Q \U0001f600"}],
        "calls": [{"role": "assistant", "tool_calls": [{"a": {"x": place}}]}, {"b": [1, "c"]}],
        "text": "2024-01-01",
        "score": place / 2,
        "label": place % 2 == 0,
        "ids": [place, 0] * (place % 3),
    }
    for place in range(2500)
]


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with open_table(str(path)) as table:
        table.begin(COLUMNS)
        for row in rows:
            table.write(json.dumps(row).encode())


def test_there_and_back(tmp_path: Path) -> None:
    """All rows are read back unchanged, across row groups; dates stay text."""
    _write(tmp_path / "t.parquet", ROWS)
    (source,) = find_inputs([str(tmp_path / "t.parquet")])
    with open_input(source) as opened:
        assert [json.loads(record.data) for record in opened.records] == ROWS


def test_types(tmp_path: Path) -> None:
    """The types that Arrow and the Hub's libraries read."""
    _write(tmp_path / "t.parquet", ROWS[:1])
    schema = read_schema(tmp_path / "t.parquet")
    assert str(schema.field("calls").type) == "list<element: extension<arrow.json>>"
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    assert features["calls"] == {"feature": {"_type": "Json"}, "_type": "List"}
    assert str(schema.field("ids").type) == "list<element: int32>"
    assert features["ids"] == {"feature": {"_type": "Value", "dtype": "int32"}, "_type": "List"}
    assert features["score"] == {"dtype": "float64", "_type": "Value"}
    assert [*features["chat"]["feature"]] == ["content", "role"]


def test_nulls_and_no_rows(tmp_path: Path) -> None:
    """An unknown value is null; a table may have no rows."""
    _write(tmp_path / "t.parquet", [{**ROWS[0], "score": None, "text": None}])
    (row,) = read_table(tmp_path / "t.parquet").to_pylist()
    assert (row["score"], row["text"]) == (None, None)
    _write(tmp_path / "t.parquet", [])
    assert read_table(tmp_path / "t.parquet").num_rows == 0


def test_same_bytes(tmp_path: Path) -> None:
    """The same rows give the same bytes."""
    for name in ("a", "b"):
        _write(tmp_path / name, ROWS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_all_or_nothing(tmp_path: Path) -> None:
    """After an error the old file stays, and no other file is left."""
    (tmp_path / "t.parquet").write_bytes(b"old")

    def fail(table: Table) -> None:
        table.begin(COLUMNS)
        table.write(json.dumps(ROWS[0]).encode())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), open_table(str(tmp_path / "t.parquet")) as table:
        fail(table)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_over_its_input(tmp_path: Path) -> None:
    """An input is not overwritten."""
    path = tmp_path / "t.parquet"
    path.write_bytes(b"old")
    with (
        pytest.raises(UsageError, match="is both input and output"),
        open_table(str(path), find_inputs([str(path)])),
    ):
        pass


def test_a_column_of_objects(tmp_path: Path) -> None:
    """A column of objects, which some trainers use for answers."""
    row = {"chosen": {"from": "gpt", "value": "2024-01-01"}}
    with open_table(str(tmp_path / "t.parquet")) as table:
        table.begin({"chosen": "object"})
        table.write(json.dumps(row).encode())
    (source,) = find_inputs([str(tmp_path / "t.parquet")])
    with open_input(source) as opened:
        assert [json.loads(record.data) for record in opened.records] == [row]
