"""Buffers rows until all of them are known."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import Row

from prefpairs.engine.outputs.dataset_row_spool import RowBuffer
from prefpairs.errors import FileError

COLUMNS = {"text": None, "label": None, "tools": "[]", "score": None}


@pytest.fixture(name="drafts")
def _drafts(tmp_path: Path) -> Iterator[RowBuffer]:
    drafts = RowBuffer(COLUMNS, str(tmp_path))
    yield drafts
    drafts.close()
    assert list(tmp_path.iterdir()) == []


def _rows(drafts: RowBuffer) -> list[Row]:
    return [json.loads(line) for line in drafts.lines(drafts.columns)]


def _add(drafts: RowBuffer, *rows: Row) -> None:
    for row in rows:
        drafts.add(row)


def test_no_rows(drafts: RowBuffer) -> None:
    """Without rows, nothing comes out."""
    assert (drafts.count, drafts.columns, drafts.shape, _rows(drafts)) == (0, 0, set(), [])


def test_rows_of_one_shape(drafts: RowBuffer) -> None:
    """Rows of one shape come out unchanged and in order."""
    _add(drafts, {"text": "é"}, {"text": "b"}, {"text": "c"})
    assert list(drafts.lines(drafts.columns)) == [
        b'{"text":"\xc3\xa9"}\n',
        b'{"text":"b"}\n',
        b'{"text":"c"}\n',
    ]
    assert (drafts.count, drafts.shape) == (3, {"text: string"})


def test_columns(drafts: RowBuffer) -> None:
    """Every row has all columns that any row has, in the target's order."""
    _add(drafts, {"text": "a", "score": 1.0}, {"text": "b", "tools": "[1]"}, {"text": "c"})
    rows = _rows(drafts)
    assert rows == [
        {"text": "a", "tools": "[]", "score": 1.0},
        {"text": "b", "tools": "[1]", "score": None},
        {"text": "c", "tools": "[]", "score": None},
    ]
    assert {tuple(row) for row in rows} == {("text", "tools", "score")}


def test_columns_of_another_side(drafts: RowBuffer, tmp_path: Path) -> None:
    """Columns of other splits are passed in as bits."""
    other = RowBuffer(COLUMNS, str(tmp_path))
    _add(other, {"text": "b", "score": 0.5})
    _add(drafts, {"text": "a", "label": True})
    (line,) = drafts.lines(drafts.columns | other.columns)
    assert line == b'{"text":"a","label":true,"score":null}\n'
    other.close()


def test_rows_that_bring_something_new(drafts: RowBuffer) -> None:
    """Rows with a new field or type go first; a null is not a new type."""
    _add(
        drafts,
        {"text": [{"a": "1"}]},
        {"text": [{"a": "2"}], "score": None},
        {"text": [{"a": "3"}]},
        {"text": [{"a": "4"}, {"b": 1}]},
        {"text": [{"a": "5", "b": 1}]},
        {"text": [{"b": 1.5}]},
        {"text": [{"a": "6"}], "score": 1.0},
    )
    texts = [row["text"] for row in _rows(drafts)]
    assert texts == [
        [{"a": "1"}],
        [{"a": "4"}, {"b": 1}],
        [{"b": 1.5}],
        [{"a": "6"}],
        [{"a": "2"}],
        [{"a": "3"}],
        [{"a": "5", "b": 1}],
    ]


def test_rows_in_another_order(drafts: RowBuffer) -> None:
    """Selected rows in a given order; the first of each shape among them comes first."""
    rows: list[Any] = ["a", 1, "b", 2, 1.5, "c"]
    _add(drafts, *({"text": text} for text in rows))
    drafts.arrange([5, 3, 2, 1])
    assert [row["text"] for row in _rows(drafts)] == ["c", 2, "b", 1]
    assert (drafts.count, drafts.shape) == (4, {"text: string", "text: int"})
    drafts.arrange([0, 2, 5, 4])
    assert [row["text"] for row in _rows(drafts)] == ["a", 1.5, "b", "c"]
    drafts.arrange([])
    assert (drafts.count, drafts.shape, _rows(drafts)) == (0, set(), [])


def test_rows_are_read_twice(drafts: RowBuffer) -> None:
    """Rows can be read several times until the buffer is closed."""
    _add(drafts, {"text": "a"}, {"text": "b", "score": 2.0})
    assert _rows(drafts) == _rows(drafts)
    drafts.add({"text": "c"})
    assert len(_rows(drafts)) == 3


def test_more_than_a_block(drafts: RowBuffer) -> None:
    """Any number of rows, short or long, comes out in order."""
    rows: list[Row] = [{"text": "é" * length} for length in (9, 300_000, 1, 99_999, 200_000, 0)]
    rows += [{"text": str(number)} for number in range(40_000)]
    _add(drafts, *rows[:3])
    assert _rows(drafts) == rows[:3]
    _add(drafts, *rows[3:])
    assert _rows(drafts) == rows
    drafts.arrange([45, 1, 4])
    assert _rows(drafts) == [rows[45], rows[1], rows[4]]


def test_rows_too_long_to_come_first(drafts: RowBuffer) -> None:
    """The shortest row of each shape comes first."""
    long = "x" * (6 << 20)
    _add(drafts, {"text": long}, {"text": "yy"}, {"text": "z"}, {"text": "aa"}, {"text": 1234567})
    assert [row["text"] for row in _rows(drafts)] == ["z", 1234567, long, "yy", "aa"]
    assert drafts.fits


def test_columns_that_are_mixed(drafts: RowBuffer) -> None:
    """A column is mixed if objects in it have different keys in some row."""
    _add(drafts, *({"text": [{"a": 1}], "score": {"b": text}} for text in ("1", "2")))
    assert drafts.mixed() == set()
    _add(drafts, {"text": [{"a": 1}, {"a": 1, "b": 2}], "score": {"b": "3"}})
    assert drafts.mixed() == {"text"}


def test_large_numbers(drafts: RowBuffer) -> None:
    """Large numbers stay exact, also in rows that are filled up."""
    _add(drafts, {"text": {"n": 2**70}}, {"text": {"n": 1}, "score": 1.0})
    assert _rows(drafts)[0] == {"text": {"n": 2**70}, "score": None}


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    """The error names the folder."""
    with pytest.raises(FileError):
        RowBuffer(COLUMNS, str(tmp_path / "none"))
