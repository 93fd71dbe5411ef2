"""Files with one JSON object over several lines."""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prefpairs.errors import BadInput, InputChanged
from prefpairs.files.input_file import Input, Limits
from prefpairs.files.lines import Record
from prefpairs.files.open_input import open_input
from prefpairs.model.record_layout import joined
from prefpairs.sources import LAYOUTS

DOCUMENT = b'\n{\n  "a": 1,\n  "rows": [{"n": 1}, {"n": 2}]\n}\n \n'


def _source(path: Path, **more: Any) -> Input:
    return Input(str(path), "d.json", layouts=LAYOUTS)._replace(**more)


def _read(tmp_path: Path, data: bytes, **more: Any) -> list[Record]:
    path = tmp_path / "d.json"
    path.write_bytes(data)
    with open_input(_source(path, **more)) as opened:
        return [*opened.records]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf"])
def test_a_document_is_one_record(
    tmp_path: Path, pack: Callable[[bytes], bytes], before: bytes
) -> None:
    """A document is one record, of any size, compressed or not, with its position."""
    for size in (0, 100_000):
        data = before + DOCUMENT.replace(b"1,", b'"%b",' % (b"x" * size))
        (record,) = _read(tmp_path, pack(data))
        assert record.data == data[len(before) :].strip()
        assert data[record.offset :].startswith(record.data)


def test_other_files_are_lines(tmp_path: Path) -> None:
    """Several objects in a row, or a lone brace among rows, do not make a document."""
    two = b'{\n"a": 1\n}\n{\n"a": 2\n}\n'
    assert len(_read(tmp_path, two)) == 6
    assert len(_read(tmp_path, b'{\n{"a": 1}\n{"a": 2}\n')) == 3
    assert len(_read(tmp_path, DOCUMENT, layouts=())) == 4  # like the loaders of datasets
    lines = _read(tmp_path, b"\n" + two)
    assert all((b"\n" + two)[line.offset :].startswith(line.data) for line in lines)


@pytest.mark.parametrize("data", [DOCUMENT[:-6], b"{\n", b'{\n"a": "x'])
def test_unfinished(tmp_path: Path, data: bytes) -> None:
    """An unfinished document is an error of the file, not several bad lines."""
    with pytest.raises(BadInput, match="the JSON document ends too early") as caught:
        _read(tmp_path, data)
    assert caught.value.path == "d.json"


def test_too_long(tmp_path: Path) -> None:
    """A document is held in memory, so it has the limit of a line."""
    with pytest.raises(BadInput, match="the JSON document is longer than --max-line allows"):
        _read(tmp_path, DOCUMENT, limits=Limits(line=20))


def test_rows_of_a_document(tmp_path: Path) -> None:
    """Each item of the list is a row, with its number in the list."""
    for data in (DOCUMENT, json.dumps(json.loads(DOCUMENT)).encode()):
        found = _read(tmp_path, data, rows="rows")
        assert [(record.member, record.number) for record in found] == [("rows", 1), ("rows", 2)]
        assert [json.loads(record.data) for record in found] == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("data", "path", "problem"),
    [
        (DOCUMENT, "a", "--rows a: that is no list"),
        (DOCUMENT, "b", "--rows b: it has no such field"),
        (b'{"a": 1}\n{"a": 2}\n', "a", "--rows a is for files of one JSON document"),
        (b"PAR1", "a", "--rows a is for files of one JSON document"),
    ],
)
def test_rows_that_are_not_there(tmp_path: Path, data: bytes, path: str, problem: str) -> None:
    """If the path has no rows, the file is rejected."""
    with pytest.raises(BadInput, match=problem):
        _read(tmp_path, data, rows=path)


def test_another_file_becomes_a_field(tmp_path: Path) -> None:
    """Another file becomes a field of the record, which then has no single position."""
    other = tmp_path / "beside.json"
    other.write_bytes(b'{\n "b": 2}\n')
    (record,) = _read(tmp_path, DOCUMENT, beside=("k", str(other)))
    assert json.loads(record.data) == {"k": {"b": 2}, **json.loads(DOCUMENT)}
    with open_input(_source(tmp_path / "d.json", beside=("k", str(other)))) as opened:
        assert not opened.seekable


def test_another_file_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other file changes while it is read."""
    other = tmp_path / "beside.json"
    other.write_bytes(b"{}")

    def whole(stream: io.BufferedIOBase, source: Input) -> bytes:
        if source.path == str(other):
            other.write_bytes(b"{} ")
        return stream.read()

    monkeypatch.setattr("prefpairs.files.document_reader.whole", whole)
    with pytest.raises(InputChanged):
        _read(tmp_path, DOCUMENT, beside=("k", str(other)))


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (b'{"a": 1}', {"k": 7, "a": 1}),
        (b"{}", {"k": 7}),
        (b" { } ", {"k": 7}),
        (b'["{"]', ["{"]),
        (b'"{"', "{"),
    ],
)
def test_joined(record: bytes, expected: object) -> None:
    """A field can be added only to an object."""
    assert json.loads(joined(record, "k", b" 7\n")) == expected
