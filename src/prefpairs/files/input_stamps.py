"""Which files were read, and what each of them was when it was opened first.

A manifest holds the digests of inputs, and these are made at the end of a run: what is hashed then
must be what was read. A file counts as unchanged if it is the same one, and its size and both its
times are the same: the time of the last change (ctime) cannot be set.
"""

import io
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from prefpairs.errors import BadInput
from prefpairs.files.file_system import errors_named
from prefpairs.files.read_counter import WatchedFile

MOST_BYTES = 16_000_000
"""No recipe, no chat template and no configuration is larger."""

TICK = 20_000_000
"""Nanoseconds in which a file may change twice without its time telling so."""

_noting: list[dict[str, "Stamp"]] = []


class Stamp(NamedTuple):
    """What a file was when it was looked at."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """What the system says of a file."""
        times = status.st_mtime_ns, status.st_ctime_ns
        return cls(status.st_dev, status.st_ino, status.st_size, *times)


@contextmanager
def noting() -> Iterator[dict[str, Stamp]]:
    """The regular files that are opened for reading while the block runs, by their real paths."""
    noted: dict[str, Stamp] = {}
    _noting.append(noted)
    try:
        yield noted
    finally:
        _noting.remove(noted)


def read_noted(path: str, most: int = MOST_BYTES) -> bytes:
    """All bytes of a small file that is an input; a device may have no end."""
    with errors_named(path):
        note(path)
        with io.BufferedReader(WatchedFile(path, None)) as file:
            data = file.read(most + 1)
    if len(data) > most:
        raise BadInput(path, f"it has more than {most // 10**6} MB, which no such file needs")
    return data


def note(path: str) -> None:
    """Say that a file is opened next, and that nothing of it was read yet."""
    if not _noting or not stat.S_ISREG(os.stat(path).st_mode):
        return
    if abs(time.time_ns() - os.stat(path).st_ctime_ns) < TICK:
        time.sleep(TICK / 1e9)
    stamp, real = Stamp.of(os.stat(path)), os.path.realpath(path)
    for noted in _noting:
        noted.setdefault(real, stamp)
