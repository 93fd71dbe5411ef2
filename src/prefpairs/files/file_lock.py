"""A lock on a file that only one program can hold."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from prefpairs.errors import UsageError
from prefpairs.files.file_system import errors_named


@contextmanager
def locked_file(path: str, what: str) -> Iterator[None]:
    """Hold the lock of a file during the block; raises if another process holds it.

    The lock ends with the process, however that ends.
    """
    with errors_named(path):
        descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{what} is running already", "wait for it") from None
        yield
    finally:
        os.close(descriptor)
