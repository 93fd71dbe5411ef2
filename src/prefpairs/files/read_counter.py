"""Files that tell how much is read from them."""

import io
from collections.abc import Callable
from typing import Any

from prefpairs.files.file_system import BUFFER
from prefpairs.files.nonblocking import wait_to_read

Passed = Callable[[int], None]
"""Told how many bytes were read, as they stand in the file: once for each large block."""


class WatchedFile(io.FileIO):
    """A file that tells how much is read from it, if somebody wants to know."""

    def __init__(self, file: str | int, passed: Passed | None, *, closefd: bool = True) -> None:
        super().__init__(file, closefd=closefd)
        self._passed = passed

    def readinto(self, buffer: Any, /) -> int:
        """Read a block, and tell how long it was; 0 is the end, and never a pause."""
        while (count := super().readinto(buffer)) is None:
            wait_to_read(self.fileno())
        if self._passed is not None:
            self._passed(count)
        return count

    def readall(self) -> bytes:
        """All that is left, pauses included."""
        blocks = []
        while block := self.read(BUFFER):
            blocks.append(block)
        return b"".join(blocks)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read a block of at most so many bytes."""
        if size is None or size < 0:
            return self.readall()
        block = bytearray(size)
        return bytes(memoryview(block)[: self.readinto(block)])
