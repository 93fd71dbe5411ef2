"""What exists at a path, safe ways to open files, and temporary folders. Errors name the file.

Also blocks that signals must not interrupt, such as creating a file and storing its name.
"""

import os
import signal
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from prefpairs.errors import FileError

BUFFER = 1 << 18


@contextmanager
def errors_named(path: str) -> Iterator[None]:
    """Raise the operating system's errors as a FileError that names the file."""
    try:
        yield
    except OSError as error:
        raise FileError.of(path, error) from None


def status_of(path: str) -> os.stat_result | None:
    """The status of a path, or None if nothing exists there; every other error is raised."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.stat(path)
    return None


def exists(path: str, name: str | None = None) -> bool:
    """Whether anything exists at a path. An error says `name` instead, if given."""
    with errors_named(path if name is None else name):
        return status_of(path) is not None


def is_file(path: str) -> bool:
    """Whether a regular file exists at a path."""
    with errors_named(path):
        status = status_of(path)
    return status is not None and stat.S_ISREG(status.st_mode)


def is_folder(path: str, name: str | None = None) -> bool:
    """Whether a directory exists at a path. An error says `name` instead, if given."""
    with errors_named(path if name is None else name):
        status = status_of(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def target_of(path: str) -> str:
    """The path of an output file, with links resolved."""
    if path.endswith("/"):
        raise FileError(path, "is the name of a directory, not of a file")
    return os.path.realpath(path)


def missing_folder(path: str) -> FileError:
    """The error for a path whose directory, or the directory a link leads to, does not exist."""
    folder = os.path.dirname(path.rstrip("/"))
    if not folder or is_folder(folder):
        folder = os.path.dirname(os.path.realpath(path))
    return FileError(path, f"there is no directory {folder}")


def mode_of(target: str) -> int:
    """The mode of the file that will be replaced, or 666 less the umask."""
    status = status_of(target)
    return unmasked(0o666) if status is None else stat.S_IMODE(status.st_mode)


def unmasked(mode: int) -> int:
    """A mode less the umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mode & ~mask


def temporary_folder() -> str:
    """Where temporary files go, or an error that says why they cannot.

    Python itself only says that no folder is usable, even if no file can be opened at all.
    """
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        usual = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - only tried out
        with errors_named(usual), tempfile.TemporaryFile(dir=usual):
            return usual


@contextmanager
def opened_if_regular(path: str) -> Iterator[IO[bytes] | None]:
    """A file for reading; None if it is a directory, a pipe or a device. Never waits for a pipe."""
    with errors_named(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                yield None
                return
            with open(descriptor, "rb", closefd=False) as file:
                yield file
        finally:
            with suppress(OSError):
                os.close(descriptor)


def head_of(path: str, size: int = 1 << 16) -> bytes:
    """The first bytes of a regular file; nothing if there is no such file."""
    if not is_file(path):
        return b""
    with errors_named(path), open(path, "rb") as file:
        return file.read(size)


_LEAVING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM}
"""SIGALRM is the timer that delivers signals which arrived while modules were being imported."""


@contextmanager
def held_signals() -> Iterator[None]:
    """Delay signals that end the program until the block is done.

    This thread does not receive them, but another one may. So the handler checks whether the signal
    is blocked here, and if so sends it to this thread, where it waits.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _LEAVING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
