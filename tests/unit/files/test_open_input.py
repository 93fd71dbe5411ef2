"""The records of a file in any container."""

import gzip
import io
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest
from backports import zstd
from pyarrow.parquet import write_table

from prefpairs.errors import BadInput, FileError
from prefpairs.files.input_file import Input
from prefpairs.files.lines import Record
from prefpairs.files.open_input import open_input

ROWS = [{"prompt": "Q", "response": f"answer {n}", "score": n / 10} for n in range(5)]
LINES = [json.dumps(row).encode() + b"\n" for row in ROWS]
DATA = b"".join(LINES)
ARRAY = json.dumps(ROWS, indent=2).encode()
CUT = "the compressed file ends too early: it was cut off or is still being written"


def _parquet() -> bytes:
    file = io.BytesIO()
    write_table(pa.Table.from_pylist(ROWS), file)
    return file.getvalue()


def _read(path: Path) -> list[Record]:
    with open_input(Input(str(path), path.name)) as opened:
        return list(opened.records)


def _records(folder: Path, data: bytes, name: str = "r.jsonl") -> list[Record]:
    path = folder / name
    path.write_bytes(data)
    return _read(path)


def _values(records: list[Record]) -> list[object]:
    return [json.loads(record.data) for record in records]


def _problem(folder: Path, data: bytes) -> str:
    with pytest.raises(BadInput) as caught:
        _records(folder, data, "r.packed")
    assert caught.value.path == "r.packed"
    return caught.value.problem


@contextmanager
def _trickling(folder: Path, data: bytes, size: int) -> Iterator[Path]:
    """A named pipe that delivers a few bytes at a time."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            for start in range(0, len(data), size):
                file.write(data[start : start + size])
                if start < 10 * size:
                    time.sleep(0.001)

    writer = Thread(target=write)
    writer.start()
    try:
        yield pipe
    finally:
        writer.join()


def test_lines_have_numbers_and_offsets(tmp_path: Path) -> None:
    """The first line is number 1 at byte 0."""
    assert _records(tmp_path, b'{"a":1}\n{"b":2}\n') == [
        Record(1, 0, b'{"a":1}\n'),
        Record(2, 8, b'{"b":2}\n'),
    ]


def test_blank_lines_are_counted_but_no_records(tmp_path: Path) -> None:
    """Line numbers are those of an editor."""
    assert _records(tmp_path, b'\n{"a":1}\n \t\r\n\n{"b":2}') == [
        Record(2, 1, b'{"a":1}\n'),
        Record(5, 14, b'{"b":2}'),
    ]


def test_lines_that_end_in_crlf(tmp_path: Path) -> None:
    """The carriage return stays on the line, where it is white space."""
    assert _records(tmp_path, b'{"a":1}\r\n{"b":2}\r\n') == [
        Record(1, 0, b'{"a":1}\r\n'),
        Record(2, 9, b'{"b":2}\r\n'),
    ]


def test_carriage_return_within_a_row_ends_no_line(tmp_path: Path) -> None:
    """A carriage return is white space; only a newline ends a row."""
    assert _values(_records(tmp_path, b'{"a":\r1}\r\n{"a": 2}\n')) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c"])
def test_other_separators_are_data(tmp_path: Path, separator: str) -> None:
    """Other separators do not end lines."""
    line = f'{{"a":"x{separator}y"}}\n'.encode()
    assert _records(tmp_path, line * 2) == [Record(1, 0, line), Record(2, len(line), line)]


def test_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """Offsets are relative to the start of the file."""
    assert _records(tmp_path, b'\xef\xbb\xbf{"a":1}\n{"b":2}\n') == [
        Record(1, 3, b'{"a":1}\n'),
        Record(2, 11, b'{"b":2}\n'),
    ]


def test_byte_order_mark_before_an_array(tmp_path: Path) -> None:
    """An array after a byte order mark is read."""
    assert _records(tmp_path, b'\xef\xbb\xbf[{"a":1},{"b":2}]') == [
        Record(1, 4, b'{"a":1}'),
        Record(2, 12, b'{"b":2}'),
    ]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", b"[]"])
def test_empty_file(tmp_path: Path, data: bytes) -> None:
    """An empty file has no records and no error."""
    assert _records(tmp_path, data) == []


@pytest.mark.parametrize(
    "data",
    [ARRAY, json.dumps(ROWS).encode(), b"\n\n \n\n\n" + ARRAY],
    ids=["pretty", "compact", "late"],
)
def test_array(tmp_path: Path, data: bytes) -> None:
    """Elements are numbered from 1, and are at their positions."""
    records = _records(tmp_path, data)
    assert _values(records) == ROWS
    assert [record.number for record in records] == [1, 2, 3, 4, 5]
    assert all(data[at : at + len(element)] == element for _, at, element, *_ in records)


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(DATA),
        b"".join(map(gzip.compress, LINES)),
        gzip.compress(b"") + gzip.compress(DATA),
        zstd.compress(DATA),
        b"".join(map(zstd.compress, LINES)),
    ],
    ids=["gzip", "gzips", "empty gzip first", "zstd", "zstds"],
)
def test_compressed_lines(tmp_path: Path, data: bytes) -> None:
    """One compressed member or many give the same lines."""
    records = _records(tmp_path, data)
    assert [record.data for record in records] == LINES
    assert [record.number for record in records] == [1, 2, 3, 4, 5]


def test_compressed_array(tmp_path: Path) -> None:
    """A compressed array is read, also after a byte order mark."""
    assert _values(_records(tmp_path, gzip.compress(b"\xef\xbb\xbf" + ARRAY))) == ROWS


def test_parquet(tmp_path: Path) -> None:
    """Parquet rows are numbered from 1."""
    records = _records(tmp_path, _parquet())
    assert _values(records) == ROWS
    assert [record.number for record in records] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("data", "name", "seekable"),
    [
        (DATA, "r.gz", True),
        (ARRAY, "r.jsonl", True),
        (gzip.compress(DATA), "r.jsonl", False),
        (zstd.compress(DATA), "r.json", False),
        (_parquet(), "r.jsonl", False),
    ],
    ids=["lines", "array", "gzip", "zstd", "parquet"],
)
def test_content_counts_and_names_do_not(
    tmp_path: Path, data: bytes, name: str, seekable: bool
) -> None:
    """The format is detected from the content; only uncompressed files are seekable."""
    path = tmp_path / name
    path.write_bytes(data)
    with open_input(Input(str(path), name)) as opened:
        assert opened.seekable is seekable
        assert _values(list(opened.records)) == ROWS


@pytest.mark.parametrize("keep", [2, 3, 9, 10, 12, 30, -9, -8, -1])
def test_torn_gzip(tmp_path: Path, keep: int) -> None:
    """A file cut anywhere is reported as cut."""
    assert _problem(tmp_path, gzip.compress(DATA, mtime=0)[:keep]) == CUT


@pytest.mark.parametrize("keep", [4, 5, 9, 12, 30, -4, -1])
def test_torn_zstd(tmp_path: Path, keep: int) -> None:
    """A file cut anywhere is reported as cut."""
    assert _problem(tmp_path, zstd.compress(DATA)[:keep]) == CUT


def test_torn_packed_file_of_many_rows(tmp_path: Path) -> None:
    """Rows before the cut are returned, then the error."""
    noise = b"".join(b'{"n":"%s"}\n' % os.urandom(40).hex().encode() for _ in range(20_000))
    assert _problem(tmp_path, gzip.compress(noise)[:-1000]) == CUT
    assert _problem(tmp_path, zstd.compress(noise)[:-1000]) == CUT


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(DATA),
        zstd.compress(DATA, options={zstd.CompressionParameter.checksum_flag: 1}),
    ],
    ids=["gzip", "zstd"],
)
@pytest.mark.parametrize("place", [10, -1])
def test_damaged_packed_file(tmp_path: Path, data: bytes, place: int) -> None:
    """A flipped byte is an error, in the data and in the trailer."""
    damaged = bytearray(data)
    damaged[place] ^= 0xFF
    assert _problem(tmp_path, bytes(damaged)).startswith("the compressed file cannot be unpacked (")


def test_garbage_after_gzip(tmp_path: Path) -> None:
    """Other bytes after gzip data are an error."""
    problem = _problem(tmp_path, gzip.compress(DATA) + b"rubbish")
    assert problem.startswith("the compressed file cannot be unpacked (")


def test_zeros_after_gzip(tmp_path: Path) -> None:
    """Trailing zeros, as on tapes and block devices, are ignored."""
    assert _values(_records(tmp_path, gzip.compress(DATA) + bytes(512))) == ROWS


def test_torn_array(tmp_path: Path) -> None:
    """An array without its end is reported as cut."""
    assert "ends too early" in _problem(tmp_path, ARRAY[:-1])


def test_missing_file(tmp_path: Path) -> None:
    """The error has the label and the system's message."""
    with pytest.raises(FileError) as caught:
        _read(tmp_path / "nothing.jsonl")
    assert (caught.value.path, caught.value.problem) == (
        "nothing.jsonl",
        "No such file or directory",
    )


@pytest.mark.parametrize("size", [1, 3, 1 << 16])
@pytest.mark.parametrize(
    "data",
    [
        DATA,
        b"\xef\xbb\xbf" + DATA,
        ARRAY,
        b"\xef\xbb\xbf" + ARRAY,
        b"\xef\xbb\xbf\n" + ARRAY,
        b"\n\n\n\n\n" + ARRAY,
        gzip.compress(DATA),
        zstd.compress(DATA),
        gzip.compress(b"\n\n" + ARRAY),
    ],
    ids=[
        "lines",
        "bom",
        "array",
        "bom array",
        "bom line array",
        "late array",
        "gzip",
        "zstd",
        "both",
    ],
)
def test_pipe_that_comes_slowly(tmp_path: Path, data: bytes, size: int) -> None:
    """The format is detected, however few bytes arrive at a time."""
    with _trickling(tmp_path, data, size) as pipe:
        assert _values(_read(pipe)) == ROWS


def test_parquet_from_a_pipe(tmp_path: Path) -> None:
    """Parquet from a pipe is spooled, since it is read from its end."""
    with _trickling(tmp_path, _parquet(), 1 << 16) as pipe:
        assert _values(_read(pipe)) == ROWS


def test_pipe_is_not_seekable(tmp_path: Path) -> None:
    """Records of a pipe must be spooled."""
    with (
        _trickling(tmp_path, DATA, 1 << 16) as pipe,
        open_input(Input(str(pipe), "pipe")) as opened,
    ):
        assert (opened.seekable, len(list(opened.records))) == (False, 5)


def test_standard_input_that_is_a_file(tmp_path: Path) -> None:
    """A redirected file is read from its current position, and is seekable."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(DATA)
    before = os.dup(0)
    with path.open("rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        os.lseek(0, len(LINES[0]), os.SEEK_SET)
        with open_input(Input("-", "stdin")) as opened:
            assert opened.seekable is True
            assert next(opened.records) == Record(1, len(LINES[0]), LINES[1])
    finally:
        os.dup2(before, 0)
        os.close(before)


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n" * 70_000])
def test_a_long_array_in_the_first_line_is_the_same_from_a_pipe(
    tmp_path: Path, before: bytes
) -> None:
    """A file and a pipe are recognized as an array by the same number of first bytes."""
    array = json.dumps(["x" * 1000] * 100).encode()
    data = before + array + b"\n" + LINES[0]
    results = []
    for name, given in (("a", data), ("b", gzip.compress(data)), ("c", zstd.compress(data))):
        try:
            results.append([record.data for record in _records(tmp_path, given, name)])
        except BadInput as error:
            results.append([error.problem.encode()])
    assert results[0] == results[1] == results[2]


def test_a_window_that_is_too_large(tmp_path: Path) -> None:
    """`zstd --ultra --long=28` writes such files; a hint says how to avoid it."""
    packing = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 28})
    with pytest.raises(BadInput, match="too much memory") as caught:
        _records(tmp_path, packing.compress(DATA) + packing.flush())
    assert caught.value.hint == "`zstd -dc --long=31 FILE | zstd > NEW` compresses it again"
