"""What a manifest says of a file: its size and its SHA-256."""

import hashlib
import os
from typing import NamedTuple

from prefpairs.errors import FileTrouble


class FileDigest(NamedTuple):
    """The size of a file, and what tells its bytes from all others."""

    size: int
    sha256: str


def digest_file(path: str) -> FileDigest:
    """Size and SHA-256 of a file."""
    try:
        with open(path, "rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            return FileDigest(os.fstat(file.fileno()).st_size, sha256)
    except OSError as error:
        raise FileTrouble(path, error.strerror or str(error)) from None
