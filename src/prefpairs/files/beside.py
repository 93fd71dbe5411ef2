"""Files and folders that are made beside their target, under a name that says so.

Each is locked for as long as the process lives that makes it. What nobody holds a lock on was
left behind by a process that was killed, and goes when its target is written the next time.
"""

import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

from prefpairs.files.signals import held_signals

BUFFER = 1 << 18
_LONGEST_NAME = 80
_MARK, _SUFFIX = "prefpairs-", ".tmp"
_DISK_TROUBLE = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
_CHANCE = f"{_MARK}[a-z0-9_]{{8}}{re.escape(_SUFFIX)}"


@contextmanager
def file_beside(target: str) -> Iterator[tuple[IO[bytes], str]]:
    """A new file in the folder of the target, and its name; it goes if the block fails."""
    beside = None
    sweep(target)
    try:
        with held_signals():
            descriptor, beside = _held(target, _new_file)
        with _closed_in_silence(descriptor) as file:
            os.fchmod(descriptor, _mode_of(target))
            yield file, beside
    except BaseException:
        if beside is not None:
            with suppress(OSError):
                os.unlink(beside)
        raise


@contextmanager
def _closed_in_silence(descriptor: int) -> Iterator[IO[bytes]]:
    """A file that is on the disk when the block ends, or not wanted any more."""
    file = open(descriptor, "wb", buffering=BUFFER)  # noqa: SIM115 - see below
    try:
        yield file
    finally:
        with suppress(OSError):
            file.close()


@contextmanager
def folder_beside(target: str, *, precious: bool = False) -> Iterator[str]:
    """A new folder in that of the target; it goes if the block fails.

    One for precious things goes only if it is empty, and nothing of dead processes goes for it.
    """
    beside = descriptor = None
    if not precious:
        sweep(target)
    try:
        with held_signals():
            descriptor, beside = _held(target, _new_folder)
        yield beside
    except BaseException:
        if beside is not None and precious:
            _remove(beside)
        elif beside is not None:
            shutil.rmtree(beside, ignore_errors=True)
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)


def sweep(target: str) -> None:
    """Remove what dead processes left beside a target."""
    folder, name = os.path.split(target)
    ours = re.compile(re.escape(_prefix(name)) + _CHANCE)
    with suppress(OSError):
        for left in os.listdir(folder):
            if ours.fullmatch(left) is not None:
                _remove_if_left(os.path.join(folder, left))


def _remove_if_left(path: str) -> None:
    with suppress(OSError):  # somebody holds it, or it is gone already, or not ours to remove
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                shutil.rmtree(path)
            elif stat.S_ISREG(mode):
                os.unlink(path)
        finally:
            os.close(descriptor)


def _held(target: str, make: Callable[[str], tuple[int, str]]) -> tuple[int, str]:
    """What is made, locked; made again where somebody swept it before it was."""
    while True:
        descriptor, path = make(target)
        try:
            if _is_ours(descriptor, path):
                return descriptor, path
        except OSError:
            os.close(descriptor)
            _remove(path)
            raise
        os.close(descriptor)


def _is_ours(descriptor: int, path: str) -> bool:
    """Whether it could be locked before somebody swept it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nobody sweeps there, either
        return True
    return status_of(path) is not None


def _new_file(target: str) -> tuple[int, str]:
    return tempfile.mkstemp(*_name(target))


def _new_folder(target: str) -> tuple[int, str]:
    path = tempfile.mkdtemp(*_name(target))
    try:
        return os.open(path, os.O_RDONLY), path
    except OSError:
        _remove(path)
        raise


def _remove(path: str) -> None:
    with suppress(OSError):
        (os.rmdir if os.path.isdir(path) else os.unlink)(path)


def _name(target: str) -> tuple[str, str, str]:
    """What the name ends and begins with, and the folder it stands in."""
    folder, name = os.path.split(target)
    return _SUFFIX, _prefix(name) + _MARK, folder


def _prefix(name: str) -> str:
    return f".{os.fsdecode(os.fsencode(name)[:_LONGEST_NAME])}."


def _mode_of(target: str) -> int:
    """The mode of the file that will be replaced, or what the umask leaves of 666."""
    status = status_of(target)
    return unmasked(0o666) if status is None else stat.S_IMODE(status.st_mode)


def status_of(path: str) -> os.stat_result | None:
    """What stands at a path, if anything does. That it cannot be told is an error, not a no."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.stat(path)
    return None


def unmasked(mode: int) -> int:
    """What the umask leaves of a mode; it can only be asked for by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mode & ~mask


def make_last(file: IO[bytes]) -> None:
    """Wait until all that was written is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: str) -> None:
    """Make a new name last; where that cannot be asked for, the file itself is safe anyway."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in _DISK_TROUBLE:
            raise
