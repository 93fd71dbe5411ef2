"""Byte ranges of a file of lines, each read without moving the descriptor's position."""

import io
import os
from itertools import pairwise
from typing import Any

from prefpairs.files.lines import skip_line
from prefpairs.files.nonblocking import CountBytes

_BUFFER = 1 << 18
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
    return io.BufferedReader(_ByteRange(descriptor, start, end, longest, passed), _BUFFER)


def byte_ranges(descriptor: int, start: int, end: int, number: int) -> list[tuple[int, int]]:
    """Split a file into at most `number` ranges of whole lines, of about the same size."""
    cuts = [start]
    for part in range(1, number):
        target = max(cuts[-1], start + (end - start) * part // number)
        cuts.append(target + skip_line(lines_between(descriptor, target, end)))
    cuts.append(end)
    return [(begin, stop) for begin, stop in pairwise(cuts) if begin < stop] or [(start, end)]
