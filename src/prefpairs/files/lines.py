"""The lines of a stream. They end in \\n only: U+2028 and its like are data."""

from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, NamedTuple

from prefpairs.errors import NotJson

_HEAD_OF_LONG = 1 << 12
"""So much is kept of a line that is too long, to be told from others."""

_BUFFER = 1 << 18


class Record(NamedTuple):
    """The bytes of one row: its number in the file, counted from 1, and where it stands.

    Of a row that is longer than the input's limit there is only the head.
    """

    number: int
    offset: int
    data: bytes
    whole: bool = True

    def is_blank(self) -> bool:
        """Whether there is nothing in it; of one that is too long nobody can tell."""
        return self.whole and self.data.isspace()

    def complete(self) -> bytes:
        """The bytes, if they are all there."""
        if not self.whole:
            raise NotJson("the line is longer than --max-line allows", "line_too_long")
        return self.data


def lines_of(stream: BinaryIO, offset: int, longest: int) -> Iterator[Record]:
    """All lines; the first of them begins at the offset."""
    for number, line in enumerate(iter(partial(stream.readline, longest + 1), b""), 1):
        yield record_of(number, offset, line, longest)
        offset += len(line)
        if len(line) > longest and not line.endswith(b"\n"):
            offset += pass_over_line(stream)


def record_of(number: int, offset: int, data: bytes, longest: int) -> Record:
    """The record of a row, or of its head if it is too long."""
    if len(data) > longest:
        return Record(number, offset, data[:_HEAD_OF_LONG], whole=False)
    return Record(number, offset, data)


def pass_over_line(stream: BinaryIO) -> int:
    """Read to the end of a line; how many bytes that were."""
    passed = 0
    while part := stream.readline(_BUFFER):
        passed += len(part)
        if part.endswith(b"\n"):
            break
    return passed
