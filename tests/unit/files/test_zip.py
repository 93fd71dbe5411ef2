"""Records in zip archives: what is read, and what is rejected."""

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from backports import zstd

from prefpairs.errors import BadInput
from prefpairs.files.input_file import Input, Limits
from prefpairs.files.lines import Record
from prefpairs.files.open_input import open_input
from prefpairs.files.zip_reader import zip_records
from prefpairs.model.record_layout import RecordLayout

LAYOUT = RecordLayout("test", re.compile(r"^rows/"), "head", ("../head.json", "../start.json"))
STORED, DEFLATED, ZSTD = 0, 8, 93


def _packed(data: bytes, method: int) -> bytes:
    if method == ZSTD:
        half = len(data) // 2  # as writers do that flush
        return zstd.compress(data[:half]) + zstd.compress(data[half:])
    if method == DEFLATED:
        return zlib.compress(data, wbits=-15)
    return data


def _zip(
    members: Sequence[tuple[str, bytes]], method: int = DEFLATED, *, large: bool = False
) -> bytes:
    """An archive, written with or without zip64."""
    content, directory = b"", b""
    for name, data in members:
        packed, crc = _packed(data, method), zlib.crc32(data)
        local = struct.pack("<HHHHHIIIHH", 45, 0, method, 0, 0, crc, 0, 0, len(name), 3)
        sizes, offset = (len(packed), len(data)), len(content)
        extra = b"\x99\x99\x01\x00x"  # of another kind
        if large:
            extra += struct.pack("<HHQQQ", 1, 24, sizes[1], sizes[0], offset)
            sizes, offset = (0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF
        content += b"PK\x03\x04" + local + name.encode() + b"abc" + packed
        head = struct.pack("<HHHHHHIII", 45, 45, 0, method, 0, 0, crc, *sizes)
        tail = struct.pack("<HHHHHII", len(name), len(extra), 0, 0, 0, 0, offset)
        directory += b"PK\x01\x02" + head + tail + name.encode() + extra
    count, size, place = len(members), len(directory), len(content)
    end = b""
    if large:
        end += b"PK\x06\x06" + struct.pack(
            "<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, size, place
        )
        end += b"PK\x06\x07" + struct.pack("<IQI", 0, place + size, 1)
        count, size, place = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF
    end += b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, size, place, 7) + b"comment"
    return content + directory + end


def _source(**limits: int) -> Input:
    return Input("a.zip", "a.zip", Limits(**limits), (LAYOUT,))


def _read(data: bytes, **limits: int) -> list[Record]:
    return [*zip_records(io.BytesIO(data), _source(**limits))]


def _problem(data: bytes, **limits: int) -> str:
    with pytest.raises(BadInput) as caught:
        _read(data, **limits)
    return str(caught.value.problem)


ROWS = [
    ("other.json", b"{}"),
    ("rows/b", b'{"n": 1}'),
    ("start.json", b'{"from": "start"}'),
    ("rows/a", b"[2]"),
    ("head.json", b'{"from": "head"}\n'),
]
READ = [("rows/b", b'{"head":{"from": "head"},"n": 1}'), ("rows/a", b"[2]")]


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTD])
@pytest.mark.parametrize("large", [False, True])
def test_records(method: int, *, large: bool) -> None:
    """Members of the layout, joined with their other file, in every form of archive."""
    found = _read(_zip(ROWS, method, large=large))
    assert [(record.member, record.data) for record in found] == READ
    assert {record.number for record in found} == {1}


def test_archives_of_pythons_own_library() -> None:
    """Reads archives that zipfile wrote to pipes, with sizes after the data."""
    written = io.BytesIO()
    written.seekable = lambda: False  # type: ignore[method-assign]
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in ROWS:
            archive.writestr(name, data)
    assert [(record.member, record.data) for record in _read(written.getvalue())] == READ


def test_the_first_existing_file_is_joined() -> None:
    """A log that was cut off has no header, only its start."""
    (found,) = _read(_zip([ROWS[1], ROWS[2]]))
    assert json.loads(found.data) == {"head": {"from": "start"}, "n": 1}
    (found,) = _read(_zip([ROWS[1]]))
    assert json.loads(found.data) == {"n": 1}


def test_the_last_member_of_a_name_counts() -> None:
    """If a member was written again, the last one counts."""
    (found,) = _read(_zip([("rows/a", b"1"), ("rows/a", b"2")]))
    assert found.data == b"2"


@pytest.mark.parametrize("compressed", [False, True])
def test_files_and_pipes(tmp_path: Path, *, compressed: bool) -> None:
    """An archive is recognized by its first bytes, and never read by offset."""
    path = tmp_path / "rows"
    data = _zip(ROWS, ZSTD)
    path.write_bytes(zstd.compress(data) if compressed else data)
    with open_input(_source()._replace(path=str(path))) as opened:
        assert [(record.member, record.data) for record in opened.records] == READ
        assert not opened.seekable


def test_members_that_are_too_long_are_bad_rows() -> None:
    """An overlong member is a bad row, shown by its beginning."""
    data = _zip([("rows/a", b'{"a": "%b"}' % (b"x" * 10_000)), ("rows/b", b"{}")], ZSTD)
    found = _read(data, line=1000)
    assert [(record.member, record.whole) for record in found] == [
        ("rows/a", False),
        ("rows/b", True),
    ]


def test_nothing_known() -> None:
    """An archive of anything else has no records."""
    expected = "none of the files in this zip archive is known to hold rollouts"
    assert _problem(_zip([ROWS[0]])) == expected
    assert _problem(_zip([])) == expected


@pytest.mark.parametrize("method", [DEFLATED, ZSTD])
def test_bombs(method: int) -> None:
    """The total unpacked size of all members is limited."""
    rows = [(f"rows/{number}", b" " * 100_000) for number in range(20)]
    expected = "it unpacks to more than a file of rows should, as decompression bombs do"
    assert _problem(_zip(rows, method), unpacked=1_000_000) == expected
    assert len(_read(_zip(rows, method), unpacked=2_000_000)) == 20


@pytest.mark.full
def test_frames_of_nothing() -> None:
    """Many empty zstd frames are rejected, since each takes time."""
    data = _zip([("rows/a", b"1")], STORED)
    empty = zstd.compress(b"") * 20_000
    many = data.replace(b"abc1", b"abc" + empty)
    shift = len(many) - len(data)
    place = many.index(b"PK\x01\x02")
    head = bytearray(many[place:])
    head[10:12] = struct.pack("<H", ZSTD)
    head[20:24] = struct.pack("<I", len(empty))
    end = head.index(b"PK\x05\x06")
    (before,) = struct.unpack_from("<I", head, end + 16)
    struct.pack_into("<I", head, end + 16, before + shift)
    problem = _problem(many[:place] + bytes(head))
    assert "rows/a holds frames of next to no bytes" in problem


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda data: data[:-30], "it ends too early"),
        (lambda data: data[:10], "it ends too early"),
        (lambda data: data.replace(b"abc2", b"abc3"), "its checksum differs"),
        (lambda data: data.replace(b"PK\x01\x02", b"PK\x01\x03"), "its directory is damaged"),
        (lambda data: data.replace(b"PK\x03\x04", b"PK\x03\x05"), "is not where the archive says"),
        (lambda data: _patched(data, 8, 1), "is encrypted"),
        (lambda data: _patched(data, 10, 97), "is compressed by method 97"),
        (lambda data: _patched(data, 42, 0xFFFFFF), "it is damaged"),
        (lambda data: data[:-6] + b"\xff" * 6, "rows/a"),
    ],
)
def test_damage(change: object, expected: str) -> None:
    """Damage is an error, never a partial result."""
    data = _zip([("rows/a", b"2")], STORED)
    if expected == "rows/a":  # a comment may be anything
        assert _read(change(data))[0].member == expected  # type: ignore[operator]
    else:
        assert expected in _problem(change(data))  # type: ignore[operator]


def _patched(data: bytes, place: int, number: int) -> bytes:
    """The archive with another number in the entry of its only member."""
    start = data.index(b"PK\x01\x02") + place
    size = 4 if place == 42 else 2
    return data[:start] + number.to_bytes(size, "little") + data[start + size :]


def test_a_directory_larger_than_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory above the size limit is rejected before it is read."""
    monkeypatch.setattr("prefpairs.files.zip_reader._LARGEST_DIRECTORY", 100)
    assert "its directory is damaged" in _problem(_zip(ROWS))
