"""Which leftovers of killed processes may go: those that this process does not read."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

_spared: set[str | int] = set()
"""Files that this process reads: paths, and 0 for standard input."""


def spare(files: Iterable[str | int]) -> None:
    """Keep these files, whatever they are called."""
    _spared.update(files)


def is_litter(descriptor: int) -> bool:
    """Whether it is a file or a folder that we could have made, and nothing of it is read."""
    here = os.fstat(descriptor)
    if stat.S_ISREG(here.st_mode):
        held = {_identity(here)}
    elif stat.S_ISDIR(here.st_mode):
        held = {
            _identity(os.stat(name, dir_fd=folder, follow_symlinks=False))
            for _, _, names, folder in os.fwalk(dir_fd=descriptor)
            for name in names
        }
    else:
        return False
    return held.isdisjoint(_identities_of_spared())


def _identities_of_spared() -> set[tuple[int, int]]:
    found = set()
    for file in _spared:
        with suppress(OSError):
            found.add(_identity(os.stat(file)))
    return found


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
