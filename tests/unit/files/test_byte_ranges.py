"""Ranges of a file of lines."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.files.lines import byte_ranges, lines_between


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / "r.jsonl"


@pytest.fixture(name="opened")
def _opened(path: Path) -> Iterator[int]:
    path.touch()
    descriptor = os.open(path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize(
    ("start", "end", "lines"),
    [
        (0, 9, [b"ab\n", b"cd\n", b"ef"]),
        (0, 8, [b"ab\n", b"cd\n", b"ef"]),
        (3, 6, [b"cd\n"]),
        (1, 4, [b"b\n", b"c"]),
        (6, 8, [b"ef"]),
        (3, 3, []),
        (8, 20, []),
    ],
)
def test_lines_between(path: Path, opened: int, start: int, end: int, lines: list[bytes]) -> None:
    """From one byte to another, or to the end of the file."""
    path.write_bytes(b"ab\ncd\nef")
    assert list(lines_between(opened, start, end)) == lines


def test_the_position_of_the_descriptor_is_not_moved(path: Path, opened: int) -> None:
    """Two readers can alternate, and the descriptor's position stays."""
    path.write_bytes(b"ab\ncd\nef\n")
    os.lseek(opened, 4, os.SEEK_SET)
    one, other = lines_between(opened, 0, 9), lines_between(opened, 0, 9)
    taken = [line for pair in zip(one, other, strict=True) for line in pair]
    assert taken == [b"ab\n", b"ab\n", b"cd\n", b"cd\n", b"ef\n", b"ef\n"]
    assert os.lseek(opened, 0, os.SEEK_CUR) == 4


def test_lines_that_are_longer_than_a_buffer(path: Path, opened: int) -> None:
    """Lines longer than a buffer are complete."""
    lines = [b"a" * 700_000 + b"\n", b"b\n", b"c" * 300_000]
    path.write_bytes(b"".join(lines))
    assert list(lines_between(opened, 0, 10**6 + 3)) == lines


@pytest.mark.parametrize(
    ("data", "number", "expected"),
    [
        (b"", 3, [(0, 0)]),
        (b"ab\ncd\nef\ngh\n", 1, [(0, 12)]),
        (b"ab\ncd\nef\ngh\n", 2, [(0, 9), (9, 12)]),
        (b"ab\ncd\nef\ngh", 3, [(0, 6), (6, 9), (9, 11)]),
        (b"one line", 4, [(0, 8)]),
        (b"one line\n", 4, [(0, 9)]),
        (b"a\nlong line\n", 3, [(0, 12)]),
        (b"\n\n\n\n", 4, [(0, 2), (2, 3), (3, 4)]),
    ],
)
def test_byte_ranges(
    path: Path, opened: int, data: bytes, number: int, expected: list[tuple[int, int]]
) -> None:
    """Ranges consist of whole lines; there are at most as many as requested."""
    path.write_bytes(data)
    assert byte_ranges(opened, 0, len(data), number) == expected


def test_byte_ranges_behind_a_start(path: Path, opened: int) -> None:
    """Bytes before the start are in no range."""
    path.write_bytes(b"BOMab\ncd\n")
    assert byte_ranges(opened, 3, 9, 2) == [(3, 9)]
    assert byte_ranges(opened, 3, 9, 5) == [(3, 6), (6, 9)]


@examples(200)
@given(
    lines=st.lists(st.integers(0, 30), max_size=12),
    number=st.integers(1, 9),
    start=st.integers(0, 5),
    ended=st.booleans(),
)
def test_byte_ranges_hold_every_line_once(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[int],
    number: int,
    start: int,
    *,
    ended: bool,
) -> None:
    """All ranges together give the lines of the file."""
    data = b"".join(b"%d" % place * size + b"\n" for place, size in enumerate(lines))
    data = data if ended else data.removesuffix(b"\n")
    path = tmp_path_factory.getbasetemp() / "ranges.jsonl"
    path.write_bytes(b"x" * start + data)
    descriptor = os.open(path, os.O_RDONLY)
    parts = byte_ranges(descriptor, start, start + len(data), number)
    found = [line for part in parts for line in lines_between(descriptor, *part)]
    os.close(descriptor)
    assert found == data.splitlines(keepends=True)
    assert len(parts) <= number
    assert [parts[0][0], parts[-1][1]] == [start, start + len(data)]
    assert [stop for _, stop in parts[:-1]] == [begin for begin, _ in parts[1:]]
