"""CSV and TSV files to rows: one test for each rule."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.errors import BadInput
from prefpairs.files.delimited_reader import delimited_records
from prefpairs.files.input_file import Input, Limits
from prefpairs.files.lines import Record
from prefpairs.files.open_input import open_input

CHAT = [{"role": "user", "content": 'Say "hi"\n'}]


def _records(text: str, name: str = "rows.csv", longest: int = 10_000) -> list[Record]:
    source = Input(name, name, Limits(line=longest))
    return [*delimited_records(io.BytesIO(text.encode()), 0, source)]


def _rows(text: str, name: str = "rows.csv") -> list[Any]:
    return [json.loads(record.complete()) for record in _records(text, name)]


def _table(rows: list[list[str]], delimiter: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    return text.getvalue()


cells = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)


@given(st.lists(st.tuples(cells, cells), max_size=4), st.sampled_from([",", "\t"]))
@examples(100)
def test_cells_are_texts(rows: list[tuple[str, str]], delimiter: str) -> None:
    """Exactly as they were written, with quotes, delimiters and line ends; an empty one is null."""
    name = "rows.tsv" if delimiter == "\t" else "rows.csv"
    found = _rows(_table([["a", "b"], *map(list, rows)], delimiter), name)
    assert found == [{"a": one or None, "b": other or None} for one, other in rows]


def test_lines_and_blank_lines() -> None:
    """A row's number is that of its first line; blank lines between rows are skipped."""
    found = _records('a,b\n"x\n\ny",1\n\nz,2\n')
    assert [record.number for record in found] == [2, 6]
    assert json.loads(found[0].data) == {"a": "x\n\ny", "b": "1"}


def test_chats() -> None:
    """A list of messages is the one value that a cell holds as JSON."""
    text = _table([["prompt", "n"], [json.dumps(CHAT), "[1, 2]"]], ",")
    assert _rows(text) == [{"prompt": CHAT, "n": "[1, 2]"}]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b\n1\n", "1 cells, and the header 2"),
        ("a,b\n1,2,3\n", "3 cells, and the header 2"),
        ("a\n" + _table([[str(CHAT)]], ","), "as Python prints it"),
    ],
)
def test_rows_that_are_refused(text: str, problem: str) -> None:
    """Malformed rows are bad rows, and the others are read."""
    (record,) = _records(text)
    assert record.refused is not None
    assert problem in record.refused


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,,c\n", "a column has no name"),
        ("a,b,a\n", "two columns have the name a"),
        ('a,b\n1,"2\n', "not a table"),
        ('a,b\n1,"2"3\n', "not a table"),
        ("a\n" + "x" * 200 + "\n", "longer than"),
        ('a\n"' + "x\n" * 90, "longer than"),
    ],
)
def test_files_that_are_no_table(text: str, problem: str) -> None:
    """The error has the line; an open quote does not take the rest of the file into memory."""
    with pytest.raises(BadInput) as caught:
        _records(text, longest=100)
    assert problem in caught.value.problem
    assert caught.value.path.startswith("rows.csv:")


def test_bytes_that_are_no_text() -> None:
    """Another encoding is refused with its line."""
    source = Input("rows.csv", "rows.csv")
    with pytest.raises(BadInput) as caught:
        [*delimited_records(io.BytesIO("a\né\n".encode("latin-1")), 0, source)]
    assert (caught.value.path, caught.value.problem) == ("rows.csv:2", "not UTF-8")


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("a.csv", b"\xef\xbb\xbfa,b\n1,2\n", [{"a": "1", "b": "2"}]),
        ("a.CSV", b"a\n1\n", [{"a": "1"}]),
        ("a.tsv", b"a\tb\n1\t2\n", [{"a": "1", "b": "2"}]),
        ("a.csv", b'{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ("a.jsonl", b'{"a": 1}\n', [{"a": 1}]),
        ("a.csv", b"", []),
        ("a.csv", b"a,b\n", []),
    ],
)
def test_a_table_by_its_name(tmp_path: Path, name: str, content: bytes, rows: list[Any]) -> None:
    """Unless it begins like JSON."""
    path = tmp_path / name
    path.write_bytes(content)
    with open_input(Input(str(path), name)) as opened:
        assert [json.loads(record.complete()) for record in opened.records] == rows
