"""What a manifest says of a file: its size and its SHA-256."""

import hashlib
import os
import stat
from typing import NamedTuple

from prefpairs.errors import FileTrouble, InputChanged
from prefpairs.files.reading import fingerprint

Stamp = tuple[int, int, int, int]
"""What a file was when it was looked at."""


class FileDigest(NamedTuple):
    """The size of a file, and what tells its bytes from all others."""

    size: int
    sha256: str


def stamp_of(path: str) -> Stamp | None:
    """What a regular file is now; nothing for pipes and devices, which cannot be read twice."""
    try:
        status = os.stat(path)  # not open: that would let the writer of a pipe go on
    except OSError as error:
        raise FileTrouble(path, error.strerror or str(error)) from None
    return fingerprint(status) if stat.S_ISREG(status.st_mode) else None


def digest_file(path: str, stamp: Stamp | None = None) -> FileDigest:
    """Size and SHA-256 of a file; InputChanged if it is not what its stamp says."""
    try:
        with open(path, "rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            if stamp not in (None, fingerprint(os.fstat(file.fileno()))):
                raise InputChanged(path)
            return FileDigest(os.fstat(file.fileno()).st_size, sha256)
    except OSError as error:
        raise FileTrouble(path, error.strerror or str(error)) from None
