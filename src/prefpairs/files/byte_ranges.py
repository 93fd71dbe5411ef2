"""Parts of a file of lines, each read without moving the place where others read."""

import io
import os
from itertools import pairwise
from typing import Any

from prefpairs.files.lines import pass_over_line
from prefpairs.files.read_counter import Passed

_BUFFER = 1 << 18
"""With Python's own 8 KB it takes five times as long to find the lines."""

_TAIL = 1 << 14
"""The end of a line is nearly always found in so much of a buffer's end."""


class LongLine(Exception):
    """A line that is longer than is taken for granted was met."""


class _Stretch(io.RawIOBase):
    """Bytes of a file; LongLine as soon as so many came without the end of a line.

    Whoever reads whole lines would else hold all of it. It is looked for once a buffer, and
    mostly found at its end, which costs nothing.
    """

    def __init__(
        self, descriptor: int, start: int, end: int, longest: int | None, passed: Passed | None
    ) -> None:
        self._descriptor = descriptor
        self._place = start
        self._end = end
        self._longest = longest
        self._passed = passed
        self._line = start

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        """Read on from another place. Whoever has met a long line reads with care."""
        if whence == io.SEEK_SET:
            self._place = place
            self._longest = None
        return self._place

    def readinto(self, buffer: Any) -> int:
        wanted = memoryview(buffer)[: self._end - self._place]
        count = os.preadv(self._descriptor, [wanted], self._place)
        self._place += count
        if self._passed is not None:
            self._passed(count)
        if self._longest is not None:
            self._look_through(wanted[:count], self._longest)
        return count

    def _look_through(self, got: memoryview, longest: int) -> None:
        for tail in (bytes(got[-_TAIL:]), bytes(got)):
            if (newline := tail.rfind(b"\n")) >= 0:
                self._line = self._place - len(tail) + newline + 1
                return
        if self._place - self._line > longest:
            raise LongLine


def lines_between(
    descriptor: int,
    start: int,
    end: int,
    longest: int | None = None,
    passed: Passed | None = None,
) -> io.BufferedReader:
    """The lines of a file from one byte to another; LongLine where one is far too long."""
    return io.BufferedReader(_Stretch(descriptor, start, end, longest, passed), _BUFFER)


def stretches(descriptor: int, start: int, end: int, number: int) -> list[tuple[int, int]]:
    """A file in so many stretches of whole lines, or fewer, of about one size."""
    cuts = [start]
    for part in range(1, number):
        target = max(cuts[-1], start + (end - start) * part // number)
        cuts.append(target + pass_over_line(lines_between(descriptor, target, end)))
    cuts.append(end)
    return [(begin, stop) for begin, stop in pairwise(cuts) if begin < stop] or [(start, end)]
