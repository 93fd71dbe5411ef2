"""The lines of a stream. They end in \\n only: U+2028 and its like are data."""

import io
import resource
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

from prefpairs.errors import BadRecord, NotJson
from prefpairs.model import value_size

_HEAD_OF_LONG = 1 << 12
"""So much is kept of a line that is too long, to be told from others."""

_BUFFER = 1 << 18


class Record(NamedTuple):
    """The bytes of one row: its number in the file, counted from 1, and where it stands.

    Of a row that is longer than the input's limit there is only the head; of one that its
    container refuses, only the reason.
    """

    number: int
    offset: int
    data: bytes
    whole: bool = True
    refused: str | None = None

    def is_blank(self) -> bool:
        """Whether there is nothing in it; of one that is too long nobody can tell."""
        return self.whole and self.data.isspace()

    def complete(self) -> bytes:
        """The bytes, if they are all there, and their values fit into memory."""
        if self.refused is not None:
            raise Refused(self.refused)
        if not self.whole:
            raise NotJson(f"the line is longer than {what_allows()}", "line_too_long")
        if len(self.data) > value_size.LOOKED_AT_FROM:
            value_size.look_at(self.data)
        return self.data


def what_allows() -> str:
    """What a line is too long for, in words."""
    bounded = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    more = ", or than the limit on memory does (ulimit -v)" if bounded else ""
    return f"--max-line allows{more}"


class Refused(BadRecord):
    """A row that cannot be taken out of its container, while others can."""

    code = "refused_row"


def lines_of(
    stream: BinaryIO, offset: int, longest: int, *, blank: bool = True
) -> Iterator[Record]:
    """All lines; the first of them begins at the offset. `blank` ones may be left out."""
    number = 1
    while line := stream.readline(longest + 1):
        record = record_of(number, offset, line, longest)
        passed = b""
        if blank or not record.is_blank():
            yield record
        else:
            passed = _blank_lines(cast("io.BufferedReader", stream), longest)
        number += 1 + passed.count(b"\n")
        offset += len(line) + len(passed)
        if len(line) > longest and not line.endswith(b"\n"):
            offset += pass_over_line(stream)


def lines_in(content: bytes, start: int, longest: int) -> Iterator[Record]:
    """All lines that are not blank of a file that is in memory, from a place on.

    >>> [record[:3] for record in lines_in(b"[]\\n\\n{}", 0, 99)]
    [(1, 0, b'[]\\n'), (3, 4, b'{}')]
    """
    lines = io.BytesIO(content)
    offset = lines.seek(start)
    for number, line in enumerate(lines, 1):
        record = record_of(number, offset, line, longest)
        if not record.is_blank():
            yield record
        offset += len(line)


def _blank_lines(stream: io.BufferedReader, longest: int) -> bytes:
    """Whole blank lines that come next, taken at once: a small packed file may hold millions."""
    ahead = stream.peek()
    if len(ahead) > longest:  # one of them may be too long
        return b""
    blanks = len(ahead) - len(ahead.lstrip())
    return stream.read(ahead.rfind(b"\n", 0, blanks) + 1)


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
