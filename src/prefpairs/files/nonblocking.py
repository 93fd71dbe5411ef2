"""Reading and writing descriptors that another program opened, and that may be non-blocking.

Whether a descriptor blocks is shared by all programs that have it open. Any of them may change it
at any time, and it is not ours to change back. "Nothing yet" is neither the end nor an error, so
we wait.
"""

from __future__ import annotations

import io
import os
import select
from collections.abc import Callable

TYPE_CHECKING = False  # `prefpairs --version` does not wait for typing to be loaded
if TYPE_CHECKING:
    from typing import Any, TextIO

_BLOCK = 1 << 18

CountBytes = Callable[[int], None]
"""Called with the number of bytes read from a file, once for each large block."""


def wait_to_read(descriptor: int) -> None:
    """Return when there is something to read, or the end is reached."""
    _wait(descriptor, select.POLLIN)


def wait_to_write(descriptor: int) -> None:
    """Return when something can be written, or nothing ever will be."""
    _wait(descriptor, select.POLLOUT)


def _wait(descriptor: int, event: int) -> None:
    waiting = select.poll()
    waiting.register(descriptor, event)
    waiting.poll()


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all of it, however slowly it is read."""
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            wait_to_write(descriptor)


class CountingFile(io.FileIO):
    """A file that waits for data, and reports how much is read from it if someone wants to know."""

    def __init__(
        self, file: str | int, count_bytes: CountBytes | None, *, closefd: bool = True
    ) -> None:
        super().__init__(file, closefd=closefd)
        self._count_bytes = count_bytes

    def readinto(self, buffer: Any, /) -> int:
        """Read a block; 0 is the end, never a pause."""
        while (count := super().readinto(buffer)) is None:
            wait_to_read(self.fileno())
        if self._count_bytes is not None:
            self._count_bytes(count)
        return count

    def readall(self) -> bytes:
        """Read everything up to the end."""
        blocks = []
        while block := self.read(_BLOCK):
            blocks.append(block)
        return b"".join(blocks)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read a block of at most `size` bytes."""
        if size is None or size < 0:
            return self.readall()
        block = bytearray(size)
        return bytes(memoryview(block)[: self.readinto(block)])


class WaitingWriter(io.FileIO):
    """A descriptor to write to, which waits until its reader has room."""

    def __init__(self, descriptor: int, *, closefd: bool = True) -> None:
        super().__init__(descriptor, "wb", closefd=closefd)

    def write(self, data: Any, /) -> int:
        """Write as much as there is room for, at least one byte."""
        while (count := super().write(data)) is None:
            wait_to_write(self.fileno())
        return count


def waiting_text(stream: TextIO) -> TextIO:
    """The same text stream, but waiting for its reader."""
    file = io.BufferedWriter(WaitingWriter(stream.fileno(), closefd=False))
    return io.TextIOWrapper(file, stream.encoding, stream.errors, line_buffering=True)
