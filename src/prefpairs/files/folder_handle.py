"""A folder held open, in which files are created under temporary names and renamed later.

The process that creates a temporary file keeps it locked. One without a lock was left by a process
that was killed. It is removed the next time its target is written, unless that run reads it.
"""

import errno
import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from prefpairs.errors import FileError
from prefpairs.files.file_system import errors_named, status_of, unmasked

LONGEST_WAIT = 20.0
"""How many seconds a run waits for another one that puts its files into the same folder."""

_POLL = 0.02
_LONGEST_NAME = 80
_MARK, _SUFFIX = "prefpairs-", ".tmp"
_DISK_ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
_RANDOM_PART = f"{_MARK}[a-z0-9_]{{8}}{re.escape(_SUFFIX)}"

_files_being_read: set[str | int] = set()


def keep_files(files: Iterable[str | int]) -> None:
    """Never remove these files, even if they look like leftovers: this run reads them.

    They are paths, or 0 for standard input.
    """
    _files_being_read.update(files)


class FolderHandle:
    """A folder, known by a descriptor: it remains the same folder if it is renamed."""

    def __init__(self, path: str, descriptor: int | None = None) -> None:
        self.path = path
        self._fd = descriptor
        if descriptor is None:
            with suppress(PermissionError):  # it may be writable without being readable
                self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        """Close the folder and release its lock."""
        descriptor, self._fd = self._fd, None
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)

    def check_unmoved(self) -> None:
        """Raise if the path no longer leads to this folder."""
        with errors_named(self.path):
            there = status_of(self.path)
            ours = there if self._fd is None else os.fstat(self._fd)
        if there is None or ours is None or not os.path.samestat(there, ours):
            raise FileError(self.path, "the folder was moved or replaced during the run")

    def sort_key(self) -> tuple[int, int]:
        """Device and inode: two runs lock folders in the same order."""
        with errors_named(self.path):
            status = os.stat(self.path) if self._fd is None else os.fstat(self._fd)
        return status.st_dev, status.st_ino

    def lock(self, deadline: float) -> None:
        """Wait until no other run puts files here. Some file systems have no locks."""
        while self._fd is not None:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    problem = f"another run has kept the folder locked for {LONGEST_WAIT:g} seconds"
                    raise FileError(self.path, problem) from None
                time.sleep(_POLL)
            except OSError:
                return
            else:
                return

    def unlock(self) -> None:
        """Release the lock, even if a process of ours still has the descriptor."""
        if self._fd is not None:
            with suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def status(self, name: str) -> os.stat_result | None:
        """The status of a name, or None. Links are not followed."""
        with suppress(FileNotFoundError):
            return os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False)
        return None

    def move(self, name: str, to: "FolderHandle", new: str) -> None:
        """Rename a file. A file that has the new name is replaced."""
        os.replace(self._at(name), to._at(new), src_dir_fd=self._fd, dst_dir_fd=to._fd)  # noqa: SLF001 - of the same class

    def link(self, name: str, new: str) -> None:
        """Give a file a second name."""
        here = {"src_dir_fd": self._fd, "dst_dir_fd": self._fd}
        os.link(self._at(name), self._at(new), **here, follow_symlinks=False)

    def unlink(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._at(name), dir_fd=self._fd)

    def create_folder(self, name: str) -> None:
        """Create a folder with the user's mode."""
        os.mkdir(self._at(name), dir_fd=self._fd)

    def remove_folder(self, name: str) -> None:
        """Remove a folder if it is empty."""
        os.rmdir(self._at(name), dir_fd=self._fd)

    def create_file(self, name: str) -> int:
        """Create a file and return its descriptor."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        return os.open(self._at(name), flags, 0o600, dir_fd=self._fd)

    def create_temporary_file(self, target: str) -> tuple[str, int]:
        """Create a file that will replace a target: its temporary name and its descriptor."""
        self.remove_leftovers(target)
        return self._create_locked(target, self.create_file)

    def create_temporary_folder(self, target: str) -> tuple[str, "FolderHandle"]:
        """Create a folder that will replace a target, and return its temporary name."""

        def create(name: str) -> int:
            os.mkdir(self._at(name), 0o700, dir_fd=self._fd)
            try:
                return os.open(self._at(name), os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._fd)
            except FileNotFoundError:  # removed before it could be locked: try another name
                raise FileExistsError from None
            except OSError:
                self.remove(name)
                raise

        name, descriptor = self._create_locked(target, create)
        return name, FolderHandle(os.path.join(self.path, name), descriptor)

    def temporary_name(self, target: str) -> str:
        """A temporary name that is still free."""
        return f"{_prefix(target)}{_MARK}{os.urandom(4).hex()}{_SUFFIX}"

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all its contents, if possible."""
        for remove in (self.unlink, self.remove_folder, self._remove_tree):
            with suppress(OSError):
                remove(name)
                return

    def _remove_tree(self, name: str) -> None:
        """Remove a folder with all its contents, which needs a free descriptor."""
        shutil.rmtree(self._at(name), dir_fd=self._fd)

    def apply_umask(self) -> None:
        """Give a folder that was created for us alone the user's mode."""
        mode = unmasked(0o777)
        os.chmod(self.path if self._fd is None else self._fd, mode)

    def remove_leftovers(self, *targets: str) -> None:
        """Remove temporary files of these targets that killed processes left."""
        prefixes = "|".join(re.escape(_prefix(target)) for target in targets)
        ours = re.compile(f"(?:{prefixes}){_RANDOM_PART}")
        with suppress(OSError):
            for name in os.listdir(self.path if self._fd is None else self._fd):
                if ours.fullmatch(name) is not None:
                    self._remove_if_leftover(name)

    def sync(self) -> None:
        """Make new names durable. If the file system cannot, the files are safe anyway."""
        try:
            if self._fd is not None:
                os.fsync(self._fd)
        except OSError as error:
            if error.errno in _DISK_ERRORS:
                raise

    def _at(self, name: str) -> str:
        return name if self._fd is not None else os.path.join(self.path, name)

    def _create_locked(self, target: str, create: Callable[[str], int]) -> tuple[str, int]:
        """Create something and lock it; try again if another run removed it in between."""
        while True:
            name = self.temporary_name(target)
            try:
                descriptor = create(name)
            except FileExistsError:
                continue
            try:
                if _lock(descriptor) and self.status(name) is not None:
                    return name, descriptor
            except OSError:
                os.close(descriptor)
                self.remove(name)
                raise
            os.close(descriptor)

    def _remove_if_leftover(self, name: str) -> None:
        with suppress(OSError):  # it is locked, gone already, or not ours to remove
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(self._at(name), flags, dir_fd=self._fd)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_removable(descriptor):
                    self.remove(name)
            finally:
                os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock what was just created; False if another run, about to remove it, locked it first."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: no leftovers are removed there, either
        return True
    return True


def _prefix(name: str) -> str:
    return f".{os.fsdecode(os.fsencode(name)[:_LONGEST_NAME])}."


def _is_removable(descriptor: int) -> bool:
    """Whether it is a file or a folder of which this run reads nothing."""
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        found = {_identity(status)}
    elif stat.S_ISDIR(status.st_mode):
        found = {
            _identity(os.stat(name, dir_fd=folder, follow_symlinks=False))
            for _, _, names, folder in os.fwalk(dir_fd=descriptor)
            for name in names
        }
    else:
        return False
    return found.isdisjoint(_identities_being_read())


def _identities_being_read() -> set[tuple[int, int]]:
    found = set()
    for file in _files_being_read:
        with suppress(OSError):
            found.add(_identity(os.stat(file)))
    return found


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
