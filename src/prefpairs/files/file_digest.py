"""What a manifest says of a file: its size and its SHA-256."""

import hashlib
import os
import stat

from prefpairs.errors import FileError, InputChanged
from prefpairs.files.file_system import errors_named
from prefpairs.files.input_stamps import Stamp
from prefpairs.files.read_counter import Passed, WatchedFile
from prefpairs.files.staged_file import FileDigest


def stamp_of(path: str) -> Stamp | None:
    """What a regular file is now; nothing for pipes and devices, which cannot be read twice."""
    with errors_named(path):
        status = os.stat(path)  # not open: that would let the writer of a pipe go on
    return Stamp.of(status) if stat.S_ISREG(status.st_mode) else None


def digest_file(path: str, stamp: Stamp | None = None, passed: Passed | None = None) -> FileDigest:
    """Size and SHA-256 of a regular file; InputChanged if it is not what its stamp says.

    What is opened is asked for its kind, and not its name before: a pipe or a device may have
    come in between, and has no end. Nor have some files of /proc, whose size is 0: no more than
    a block is read beyond the size that a file has when it is opened.
    """
    with errors_named(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            opened = WatchedFile(descriptor, passed)
        except OSError:  # a folder
            os.close(descriptor)
            raise
        with opened as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileError(path, "is no regular file")
            most = os.fstat(descriptor).st_size
            sha256, size = hashlib.sha256(), 0
            block = memoryview(bytearray(1 << 18))
            while size <= most and (count := file.readinto(block)):
                sha256.update(block[:count])
                size += count
            status = os.fstat(descriptor)
    if stamp not in (None, Stamp.of(status)) or (stamp is not None and size != status.st_size):
        raise InputChanged(path)
    return FileDigest(size, sha256.hexdigest())
