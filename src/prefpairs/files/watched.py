"""Files that tell how much is read from them."""

import io
from collections.abc import Callable
from typing import Any

Passed = Callable[[int], None]
"""Told how many bytes were read, as they stand in the file: once for each large block."""


class WatchedFile(io.FileIO):
    """A file that tells how much is read from it, if somebody wants to know."""

    def __init__(self, file: str | int, passed: Passed | None, *, closefd: bool = True) -> None:
        super().__init__(file, closefd=closefd)
        self._passed = passed

    def readinto(self, buffer: Any, /) -> int:
        """Read a block, and tell how long it was."""
        count = super().readinto(buffer) or 0
        if self._passed is not None:
            self._passed(count)
        return count
