"""Files that count how much is read from them."""

import gzip
import os
from pathlib import Path

import pytest

from prefpairs.files.file_stamps import digest_file
from prefpairs.files.input_file import Input
from prefpairs.files.lines import lines_between
from prefpairs.files.nonblocking import CountingFile
from prefpairs.files.open_input import open_input

LINES = b"".join(b'{"a": %d}\n' % number for number in range(100_000))


def test_blocks_are_told_as_they_are_read(tmp_path: Path) -> None:
    """Each block is counted, including the empty one at the end."""
    (tmp_path / "f").write_bytes(b"abcde")
    told: list[int] = []
    with CountingFile(str(tmp_path / "f"), told.append) as file:
        buffer = bytearray(2)
        while file.readinto(buffer):
            pass
    assert told == [2, 2, 1, 0]


@pytest.mark.parametrize("packed", [False, True])
def test_input(tmp_path: Path, packed: bool) -> None:
    """All bytes on disk are counted, in a few large blocks."""
    path = tmp_path / "in.jsonl"
    path.write_bytes(gzip.compress(LINES) if packed else LINES)
    told: list[int] = []
    with open_input(Input(str(path), "in.jsonl"), told.append) as opened:
        assert sum(1 for _ in opened.records) == 100_000
    assert sum(told) == path.stat().st_size
    assert len(told) < 10


def test_byte_range(tmp_path: Path) -> None:
    """Only the range's bytes are counted."""
    path = tmp_path / "in.jsonl"
    path.write_bytes(LINES)
    told: list[int] = []
    descriptor = os.open(path, os.O_RDONLY)
    assert len(lines_between(descriptor, 100, 5000, None, told.append).read()) == 4900
    os.close(descriptor)
    assert sum(told) == 4900


def test_digest(tmp_path: Path) -> None:
    """Hashed bytes are counted."""
    (tmp_path / "f").write_bytes(LINES)
    told: list[int] = []
    assert digest_file(str(tmp_path / "f"), None, told.append) == digest_file(str(tmp_path / "f"))
    assert sum(told) == len(LINES)
