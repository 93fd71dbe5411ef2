"""Folders in which files are made under a temporary name that says so, and get their own later.

What is made is locked for as long as the process lives that makes it. A temporary file that
nobody holds a lock on was left by a process that was killed, and goes when its target is written
the next time, unless that run reads it.
"""

import errno
import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from prefpairs.errors import FileTrouble
from prefpairs.files.leftovers import is_litter

BUFFER = 1 << 18
LONGEST_WAIT = 20.0
"""So many seconds a run waits for another one that puts its files into the same folder."""

_POLL = 0.02
_LONGEST_NAME = 80
_MARK, _SUFFIX = "prefpairs-", ".tmp"
_DISK_TROUBLE = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
_CHANCE = f"{_MARK}[a-z0-9_]{{8}}{re.escape(_SUFFIX)}"


class Place:
    """A folder, known by a descriptor: it stays the same folder if somebody renames it."""

    def __init__(self, path: str, held: int | None = None) -> None:
        self.path = path
        self._fd = held
        if held is None:
            with suppress(PermissionError):  # it may be written to without being readable
                self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        """Let it go, and its lock."""
        descriptor, self._fd = self._fd, None
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)

    def check_unmoved(self) -> None:
        """Raise if its path leads to another folder by now, or to none."""
        with naming_trouble(self.path):
            there = status_of(self.path)
            ours = there if self._fd is None else os.fstat(self._fd)
        if there is None or ours is None or not os.path.samestat(there, ours):
            raise FileTrouble(self.path, "the folder was moved or replaced during the run")

    def rank(self) -> tuple[int, int]:
        """What orders folders, so that two runs lock them in the same order."""
        with naming_trouble(self.path):
            status = os.stat(self.path) if self._fd is None else os.fstat(self._fd)
        return status.st_dev, status.st_ino

    def lock(self, deadline: float) -> None:
        """Wait until no other run puts files there. A file system may know no locks."""
        while self._fd is not None:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    problem = f"another run has kept the folder locked for {LONGEST_WAIT:g} seconds"
                    raise FileTrouble(self.path, problem) from None
                time.sleep(_POLL)
            except OSError:
                return
            else:
                return

    def unlock(self) -> None:
        """Let other runs go on, also if a process of ours still has the descriptor."""
        if self._fd is not None:
            with suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def status(self, name: str) -> os.stat_result | None:
        """What stands under a name; nothing is followed."""
        with suppress(FileNotFoundError):
            return os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False)
        return None

    def move(self, name: str, to: "Place", new: str) -> None:
        """Give a file another name; what has that name goes."""
        os.replace(self._at(name), to._at(new), src_dir_fd=self._fd, dst_dir_fd=to._fd)  # noqa: SLF001 - of the same kind

    def link(self, name: str, new: str) -> None:
        """Give a file a second name."""
        here = {"src_dir_fd": self._fd, "dst_dir_fd": self._fd}
        os.link(self._at(name), self._at(new), **here, follow_symlinks=False)

    def unlink(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._at(name), dir_fd=self._fd)

    def make_folder(self, name: str) -> None:
        """Make a folder with the user's mode."""
        os.mkdir(self._at(name), dir_fd=self._fd)

    def remove_folder(self, name: str) -> None:
        """Remove a folder if it is empty."""
        os.rmdir(self._at(name), dir_fd=self._fd)

    def open_new(self, name: str) -> int:
        """A new file of that name."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        return os.open(self._at(name), flags, 0o600, dir_fd=self._fd)

    def new_file(self, target: str) -> tuple[str, int]:
        """A new file beside a target: its temporary name and a descriptor."""
        self.sweep(target)
        return self._held(target, self.open_new)

    def new_folder(self, target: str) -> tuple[str, "Place"]:
        """A new folder beside a target, and its temporary name."""

        def make(name: str) -> int:
            os.mkdir(self._at(name), 0o700, dir_fd=self._fd)
            try:
                return os.open(self._at(name), os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._fd)
            except FileNotFoundError:  # swept before it could be locked: another name, then
                raise FileExistsError from None
            except OSError:
                self.remove(name)
                raise

        name, descriptor = self._held(target, make)
        return name, Place(os.path.join(self.path, name), descriptor)

    def new_name(self, target: str) -> str:
        """A temporary name that nothing has yet."""
        return f"{_prefix(target)}{_MARK}{os.urandom(4).hex()}{_SUFFIX}"

    def remove(self, name: str) -> None:
        """Remove a file or a folder with all that it holds, if that can be done."""
        for remove in (self.unlink, self.remove_folder, self._remove_tree):
            with suppress(OSError):
                remove(name)
                return

    def _remove_tree(self, name: str) -> None:
        """Remove a folder with all that it holds, for which it has to be opened."""
        shutil.rmtree(self._at(name), dir_fd=self._fd)

    def open_to_all(self) -> None:
        """Give a folder that was made for us alone the user's mode."""
        mode = unmasked(0o777)
        os.chmod(self.path if self._fd is None else self._fd, mode)

    def sweep(self, *targets: str) -> None:
        """Remove what dead processes left beside targets."""
        names = "|".join(re.escape(_prefix(target)) for target in targets)
        ours = re.compile(f"(?:{names}){_CHANCE}")
        with suppress(OSError):
            for left in os.listdir(self.path if self._fd is None else self._fd):
                if ours.fullmatch(left) is not None:
                    self._remove_if_left(left)

    def sync(self) -> None:
        """Make new names last; where that cannot be asked for, the files are safe anyway."""
        try:
            if self._fd is not None:
                os.fsync(self._fd)
        except OSError as error:
            if error.errno in _DISK_TROUBLE:
                raise

    def _at(self, name: str) -> str:
        return name if self._fd is not None else os.path.join(self.path, name)

    def _held(self, target: str, make: Callable[[str], int]) -> tuple[str, int]:
        """What is made, locked; made again where somebody swept it before it was."""
        while True:
            name = self.new_name(target)
            try:
                descriptor = make(name)
            except FileExistsError:
                continue
            try:
                if _is_locked(descriptor) and self.status(name) is not None:
                    return name, descriptor
            except OSError:
                os.close(descriptor)
                self.remove(name)
                raise
            os.close(descriptor)

    def _remove_if_left(self, name: str) -> None:
        with suppress(OSError):  # somebody holds it, or it is gone already, or not ours to remove
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(self._at(name), flags, dir_fd=self._fd)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if is_litter(descriptor):
                    self.remove(name)
            finally:
                os.close(descriptor)


@contextmanager
def naming_trouble(path: str) -> Iterator[None]:
    """Give what the file system says the name of the file."""
    try:
        yield
    except OSError as error:
        raise FileTrouble.of(path, error) from None


def _is_locked(descriptor: int) -> bool:
    """Whether it could be locked before somebody swept it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nobody sweeps there, either
        return True
    return True


def _prefix(name: str) -> str:
    return f".{os.fsdecode(os.fsencode(name)[:_LONGEST_NAME])}."


def mode_of(target: str) -> int:
    """The mode of the file that will be replaced, or what the umask leaves of 666."""
    status = status_of(target)
    return unmasked(0o666) if status is None else stat.S_IMODE(status.st_mode)


def status_of(path: str) -> os.stat_result | None:
    """What stands at a path, if anything does. That it cannot be told is an error, not a no."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.stat(path)
    return None


def is_file(path: str) -> bool:
    """Whether a regular file is there. That it cannot be told is an error."""
    with naming_trouble(path):
        status = status_of(path)
    return status is not None and stat.S_ISREG(status.st_mode)


def is_there(path: str, name: str | None = None) -> bool:
    """Whether anything is there. That it cannot be told is an error, which may say a name."""
    with naming_trouble(path if name is None else name):
        return status_of(path) is not None


def target_of(path: str) -> str:
    """Where a file will stand, once links are followed."""
    if path.endswith("/"):
        raise FileTrouble(path, "is the name of a directory, not of a file")
    return os.path.realpath(path)


def missing_folder(path: str) -> FileTrouble:
    """The trouble with a path whose folder is not there, or the folder that a link leads to."""
    folder = os.path.dirname(path.rstrip("/"))
    if not folder or is_folder(folder):
        folder = os.path.dirname(os.path.realpath(path))
    return FileTrouble(path, f"there is no directory {folder}")


def is_folder(path: str, name: str | None = None) -> bool:
    """Whether a directory is there. That it cannot be told is an error, which may say a name."""
    with naming_trouble(path if name is None else name):
        status = status_of(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def unmasked(mode: int) -> int:
    """What the umask leaves of a mode; it can only be asked for by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mode & ~mask
