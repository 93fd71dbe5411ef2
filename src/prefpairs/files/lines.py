"""The lines of a stream, or of a byte range of a file. Only \\n ends a line: U+2028 is data."""

import io
import json
import os
import resource
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple, cast

from prefpairs.errors import BadRecord, NotJson, PrefpairsError
from prefpairs.files.nonblocking import CountBytes
from prefpairs.model import memory_guard

_HEAD_OF_LONG = 1 << 12
"""How much of a line that is too long is kept, to tell it from others."""

_BUFFER = 1 << 18


AT_ONCE = 1 << 19
"""Bytes that are read or worked on at once, so that long lines do not add up."""


class Record(NamedTuple):
    """The bytes of one row, its number in the file (from 1), and its offset.

    Of a row that is longer than the limit there is only the head. Of one that its container
    cannot give, there is only the reason. `member` is the part of the file in which the number
    counts: a file in an archive, or a list in a document.
    """

    number: int
    offset: int
    data: bytes
    whole: bool = True
    refused: str | None = None
    member: str = ""

    def within(self, label: str) -> str:
        """The name of what holds the record, in the file with this label."""
        return f"{label}!{self.member}" if self.member else label

    def is_blank(self) -> bool:
        """Whether the line is blank. One that is too long is not."""
        return self.whole and self.data.isspace()

    def complete(self) -> bytes:
        """The bytes. Raises if they are incomplete, or if their values do not fit into memory."""
        if self.refused is not None:
            raise Refused(self.refused)
        if not self.whole:
            raise NotJson(f"the line is longer than {what_allows()}", "line_too_long")
        if len(self.data) > memory_guard.CHECKED_FROM:
            memory_guard.check_values(self.data)
        return self.data


def what_allows() -> str:
    """What a line is too long for, as part of a sentence."""
    bounded = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    more = ", or than the limit on memory does (ulimit -v)" if bounded else ""
    return f"--max-line allows{more}"


class Refused(BadRecord):
    """A row that cannot be read from its container, although others can."""

    code = "refused_row"


def lines_of(
    stream: BinaryIO, offset: int, longest: int, *, blank: bool = True
) -> Iterator[Record]:
    """All lines; the first one begins at the offset. Without `blank`, blank ones are omitted."""
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
            offset += skip_line(stream)


def lines_in(content: bytes, start: int, longest: int) -> Iterator[Record]:
    """The lines of a file in memory from an offset on, without blank ones.

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
    """The blank lines that follow, read at once: a small compressed file may hold millions."""
    ahead = stream.peek()
    if len(ahead) > longest:  # one of them may be too long
        return b""
    blanks = len(ahead) - len(ahead.lstrip())
    return stream.read(ahead.rfind(b"\n", 0, blanks) + 1)


def record_of(number: int, offset: int, data: bytes, longest: int) -> Record:
    """The record of a row, or only its head if it is too long, however much of it was read."""
    if len(data) > longest:
        return Record(number, offset, data[: min(longest + 1, _HEAD_OF_LONG)], whole=False)
    return Record(number, offset, data)


def skip_line(stream: BinaryIO) -> int:
    """Read to the end of a line, and return how many bytes that was."""
    passed = 0
    while part := stream.readline(_BUFFER):
        passed += len(part)
        if part.endswith(b"\n"):
            break
    return passed


def blocks_of(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Records, as many as AT_ONCE allows; also those before an error."""
    block: list[Record] = []
    size = 0
    try:
        for record in records:
            block.append(record)
            size += len(record.data)
            if size > AT_ONCE:
                yield block
                block, size = [], 0
    except PrefpairsError:
        if block:
            yield block
        raise
    if block:
        yield block


def runs_of(records: list[Record]) -> Iterator[list[Record]]:
    """The same, divided where numbers are missing, which are those of blank lines.

    >>> [len(run) for run in runs_of([Record(1, 0, b""), Record(2, 5, b""), Record(4, 9, b"")])]
    [2, 1]
    """
    start = 0
    for place in range(1, len(records) + 1):
        if place == len(records) or records[place].number != records[place - 1].number + 1:
            yield records[start:place]
            start = place


def json_line(row: Any) -> bytes:
    """A row of any values as JSON. Different rows always give different JSON."""
    try:
        return json.dumps(row, ensure_ascii=False, default=_json_value).encode()
    except UnicodeEncodeError:  # half of a surrogate pair; the reader of the row replaces it
        return json.dumps(row, default=_json_value).encode()


def _json_value(value: Any) -> Any:
    """A value that JSON does not have, as a number or text.

    Bytes that are not UTF-8 become an object, so that a prompt or an answer of such bytes is a bad
    row. With U+FFFD in them, different values would become equal.
    """
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            from base64 import b64encode

            return {"raw_base64": b64encode(value).decode()}
    return str(value)


def _number(value: Decimal) -> int | float:
    """A float, or an integer if no float is equal to it, as with long ids."""
    near, whole = float(value), int(value)
    return whole if whole == value != near else near


_RANGE_BUFFER = 1 << 18
"""With Python's default of 8 KB, finding the lines takes five times as long."""

_TAIL = 1 << 14
"""The last line end of a buffer is nearly always within this many bytes of its end."""


class LongLine(Exception):
    """A line is longer than the caller expected."""


class _ByteRange(io.RawIOBase):
    """A range of a file's bytes; raises LongLine after `longest` bytes without a line end.

    Otherwise `readlines` would hold such a line in memory. The check runs once a buffer and costs
    next to nothing, because a line end is usually found near the end of the buffer.
    """

    def __init__(
        self, descriptor: int, start: int, end: int, longest: int | None, passed: CountBytes | None
    ) -> None:
        self._descriptor = descriptor
        self._position = start
        self._end = end
        self._longest = longest
        self._passed = passed
        self._line_start = start

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        """Continue at another offset. After a LongLine the caller bounds each line itself."""
        if whence == io.SEEK_SET:
            self._position = place
            self._longest = None
        return self._position

    def readinto(self, buffer: Any) -> int:
        wanted = memoryview(buffer)[: self._end - self._position]
        count = os.preadv(self._descriptor, [wanted], self._position)
        self._position += count
        if self._passed is not None:
            self._passed(count)
        if self._longest is not None:
            self._check_line_length(wanted[:count], self._longest)
        return count

    def _check_line_length(self, got: memoryview, longest: int) -> None:
        for tail in (bytes(got[-_TAIL:]), bytes(got)):
            if (newline := tail.rfind(b"\n")) >= 0:
                self._line_start = self._position - len(tail) + newline + 1
                return
        if self._position - self._line_start > longest:
            raise LongLine


def lines_between(
    descriptor: int,
    start: int,
    end: int,
    longest: int | None = None,
    passed: CountBytes | None = None,
) -> io.BufferedReader:
    """The lines of a file from one offset to another; LongLine if one exceeds `longest` by far."""
    return io.BufferedReader(_ByteRange(descriptor, start, end, longest, passed), _RANGE_BUFFER)


def count_lines(descriptor: int, start: int, end: int) -> int:
    """How many lines end between two offsets of a file."""
    lines, number = lines_between(descriptor, start, end), 0
    while block := lines.read(_RANGE_BUFFER):
        number += block.count(b"\n")
    return number


def byte_ranges(descriptor: int, start: int, end: int, number: int) -> list[tuple[int, int]]:
    """Split a file into at most `number` ranges of whole lines, of about the same size."""
    cuts = [start]
    for part in range(1, number):
        target = max(cuts[-1], start + (end - start) * part // number)
        cuts.append(target + skip_line(lines_between(descriptor, target, end)))
    cuts.append(end)
    return [(begin, stop) for begin, stop in pairwise(cuts) if begin < stop] or [(start, end)]
