"""Which files a run read, whether they have changed since, and their digests.

A manifest lists the digests of inputs, computed at the end of the run: the content that is hashed
then must be the content that was read. A file counts as unchanged if it is the same file with the
same size and timestamps. Users cannot set the time of the last change (ctime).
"""

import hashlib
import io
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from prefpairs.errors import BadInput, FileError, InputChanged
from prefpairs.files.file_system import errors_named
from prefpairs.files.nonblocking import CountBytes, CountingFile
from prefpairs.files.staged_file import FileDigest

TICK = 20_000_000
"""Nanoseconds within which a file may change twice with the same timestamp."""

MOST_BYTES = 16_000_000
"""No recipe, chat template or configuration is larger."""

_recordings: list[dict[str, "Stamp"]] = []


class Stamp(NamedTuple):
    """What identifies a version of a file."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """The stamp of a file with this status."""
        times = status.st_mtime_ns, status.st_ctime_ns
        return cls(status.st_dev, status.st_ino, status.st_size, *times)


@contextmanager
def recorded_inputs() -> Iterator[dict[str, Stamp]]:
    """The regular files that are opened for reading during the block, by their real paths."""
    stamps: dict[str, Stamp] = {}
    _recordings.append(stamps)
    try:
        yield stamps
    finally:
        _recordings.remove(stamps)


def record_input(path: str) -> None:
    """Record the stamp of a file that is about to be opened."""
    if not _recordings or not stat.S_ISREG(os.stat(path).st_mode):
        return
    if abs(time.time_ns() - os.stat(path).st_ctime_ns) < TICK:
        time.sleep(TICK / 1e9)
    stamp, real = Stamp.of(os.stat(path)), os.path.realpath(path)
    for stamps in _recordings:
        stamps.setdefault(real, stamp)


def read_small_input(path: str, most: int = MOST_BYTES) -> bytes:
    """All bytes of a small input file. A device may have no end, so the size is limited."""
    with errors_named(path):
        record_input(path)
        with io.BufferedReader(CountingFile(path, None)) as file:
            data = file.read(most + 1)
    if len(data) > most:
        raise BadInput(path, f"it has more than {most // 10**6} MB, which no such file needs")
    return data


def stamp_of(path: str) -> Stamp | None:
    """The stamp of a regular file; None for pipes and devices, which cannot be read twice."""
    with errors_named(path):
        status = os.stat(path)  # not open, which would let the writer of a pipe go on
    return Stamp.of(status) if stat.S_ISREG(status.st_mode) else None


def digest_file(
    path: str, stamp: Stamp | None = None, count_bytes: CountBytes | None = None
) -> FileDigest:
    """Size and SHA-256 of a regular file; InputChanged if it does not have this stamp.

    The kind is checked after opening, since a pipe or a device without an end may have taken the
    place of the file. Some files of /proc have no end and the size 0, so at most one block is read
    beyond the size that the file has when it is opened.
    """
    with errors_named(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            opened = CountingFile(descriptor, count_bytes)
        except OSError:  # a folder
            os.close(descriptor)
            raise
        with opened as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileError(path, "is not a regular file")
            expected_size = os.fstat(descriptor).st_size
            sha256, size = hashlib.sha256(), 0
            block = memoryview(bytearray(1 << 18))
            while size <= expected_size and (count := file.readinto(block)):
                sha256.update(block[:count])
                size += count
            status = os.fstat(descriptor)
    if stamp not in (None, Stamp.of(status)) or (stamp is not None and size != status.st_size):
        raise InputChanged(path)
    return FileDigest(size, sha256.hexdigest())
