"""Files that are sent to a service: their digests, and their bytes while they are sent."""

import hashlib
import os
from collections.abc import Iterator
from typing import NamedTuple

from prefpairs.errors import InputChanged
from prefpairs.files.file_system import BUFFER, errors_named


class FileDigests(NamedTuple):
    """A file as stores know it: by SHA-256, and by the SHA-1 that git gives a blob."""

    size: int
    sha256: str
    git: str
    head: bytes
    """Its first 512 bytes, by which a store decides how to keep it."""
    rows: int


_HEAD = 512


def digests_of_file(path: str) -> FileDigests:
    """The digests of a file, in one pass."""
    with errors_named(path):
        size = os.path.getsize(path)
    sha256 = hashlib.sha256()
    git = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    head, rows = b"", 0
    for block in blocks_of_file(path, size):
        head = head or block[:_HEAD]
        rows += block.count(b"\n")
        sha256.update(block)
        git.update(block)
    return FileDigests(size, sha256.hexdigest(), git.hexdigest(), head, rows)


def blocks_of_file(path: str, size: int, block: int = BUFFER) -> Iterator[bytes]:
    """The bytes of a file; raises if there are more or fewer than `size`."""
    done = 0
    with errors_named(path), open(path, "rb") as file:
        while data := file.read(block):
            done += len(data)
            if done > size:
                break
            yield data
    if done != size:
        raise InputChanged(path)
