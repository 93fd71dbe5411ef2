"""Reading and writing descriptors that another program opened, and that may be non-blocking.

Whether a descriptor blocks belongs to all programs that share it, so any of them may change it at
any time, and it is not ours to change back. "Nothing yet" is neither the end nor an error: wait.
"""

from __future__ import annotations

import io
import os
import select

TYPE_CHECKING = False  # `prefpairs --version` does not wait for typing to be loaded
if TYPE_CHECKING:
    from typing import Any, TextIO


def wait_to_read(descriptor: int) -> None:
    """Return when there is something to read, or the end of it."""
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


class WaitingWriter(io.FileIO):
    """A descriptor to write to, that waits until its reader has room."""

    def __init__(self, descriptor: int, *, closefd: bool = True) -> None:
        super().__init__(descriptor, "wb", closefd=closefd)

    def write(self, data: Any, /) -> int:
        """Write as much as there is room for, which is something."""
        while (count := super().write(data)) is None:
            wait_to_write(self.fileno())
        return count


def waiting_text(stream: TextIO) -> TextIO:
    """A text stream as this one, that waits for its reader."""
    file = io.BufferedWriter(WaitingWriter(stream.fileno(), closefd=False))
    return io.TextIOWrapper(file, stream.encoding, stream.errors, line_buffering=True)
