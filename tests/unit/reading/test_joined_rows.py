"""Rows of other files that are joined to the rows of a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from prefpairs.errors import BadField, BadInput, OptionsBothNeeded
from prefpairs.fields.joined_rows import JoinTable, with_joined
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.input_file import Limits
from prefpairs.files.join_file import read_join_tables
from prefpairs.option import filled

Row = dict[str, Any]


def _table(*rows: Row, on: tuple[str, ...] = ("id",)) -> JoinTable:
    table = JoinTable("scores.jsonl", on)
    for number, row in enumerate(rows, 1):
        table.add(number, json.dumps(row).encode())
    return table


def _joined(row: Any, *tables: JoinTable) -> tuple[Any, list[str]]:
    record, noticed = with_joined(json.dumps(row).encode(), tables)
    return json.loads(record), noticed


def test_columns_are_added() -> None:
    """Those that the row lacks, or has without a value."""
    table = _table({"id": "a", "score": 1, "note": "x"}, {"id": "b", "score": 0})
    row = {"id": "a", "prompt": "Q", "note": None}
    assert _joined(row, table) == ({"id": "a", "prompt": "Q", "note": "x", "score": 1}, [])
    assert table.unused == 1


def test_rows_without_a_partner_are_counted() -> None:
    """Rows without a partner or without the key are counted and read as they are."""
    table = _table({"id": "a", "score": 1})
    for row in ({"id": "z"}, {"id": None}, {}):
        assert _joined(row, table) == (row, ["not_joined"])
    assert with_joined(b"[1]", [table]) == (b"[1]", [])
    assert with_joined(b"{torn", [table]) == (b"{torn", [])


def test_a_column_of_both_must_agree() -> None:
    """If both files have a column, its values must agree, since either could be meant."""
    table = _table({"id": "a", "score": 1})
    assert _joined({"id": "a", "score": 1}, table)[0] == {"id": "a", "score": 1}
    with pytest.raises(BadField):
        _joined({"id": "a", "score": 0.5}, table)


def test_keys() -> None:
    """Several fields, also nested ones; a number and its text are the same key."""
    table = _table({"run": 1, "task": {"id": "t"}, "score": 1}, on=("run", "task.id"))
    assert _joined({"run": "1", "task": {"id": "t"}}, table)[0]["score"] == 1
    assert _joined({"run": 2, "task": {"id": "t"}}, table)[1] == ["not_joined"]


def test_several_files() -> None:
    """Each is joined in turn, so a later key may come from an earlier file."""
    asked, judged = _table({"id": "a", "judge": "j"}), _table({"judge": "j", "s": 1}, on=("judge",))
    assert _joined({"id": "a"}, asked, judged) == ({"id": "a", "judge": "j", "s": 1}, [])


def test_files_that_cannot_be_joined(tmp_path: Path) -> None:
    """Errors name the line."""
    path = tmp_path / "scores.jsonl"
    for rows, problem in (
        ('{"id": 1}\n\n{"id": "1"}\n', ":3: line 1 has the same key"),
        ('{"id": 1}\n{"nr": 1}\n', ":2: id: expected the key"),
        ("{torn\n", ":1: "),
    ):
        path.write_text(rows, "utf-8")
        with pytest.raises(BadInput) as caught:
            read_join_tables([str(path)], ["id"], Limits())
        assert problem in f"{caught.value.path}: {caught.value.problem}"


def test_options() -> None:
    """The file and the key are named together."""
    for typed in ({"join": ["x"]}, {"on": ["id"]}):
        with pytest.raises(OptionsBothNeeded):
            filled(ReadOptions, typed)
