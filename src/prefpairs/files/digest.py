"""What a manifest says of a file: its size and its SHA-256."""

import hashlib
import os
import stat
from typing import NamedTuple

from prefpairs.errors import InputChanged
from prefpairs.files.output import naming_trouble
from prefpairs.files.reading import fingerprint
from prefpairs.files.watched import Passed, WatchedFile

Stamp = tuple[int, int, int, int]
"""What a file was when it was looked at."""


class FileDigest(NamedTuple):
    """The size of a file, and what tells its bytes from all others."""

    size: int
    sha256: str


def stamp_of(path: str) -> Stamp | None:
    """What a regular file is now; nothing for pipes and devices, which cannot be read twice."""
    with naming_trouble(path):
        status = os.stat(path)  # not open: that would let the writer of a pipe go on
    return fingerprint(status) if stat.S_ISREG(status.st_mode) else None


def digest_file(path: str, stamp: Stamp | None = None, passed: Passed | None = None) -> FileDigest:
    """Size and SHA-256 of a file; InputChanged if it is not what its stamp says."""
    with naming_trouble(path), WatchedFile(path, passed) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        status = os.fstat(file.fileno())
    if stamp not in (None, fingerprint(status)):
        raise InputChanged(path)
    return FileDigest(status.st_size, sha256)
