"""A file that is written under a temporary name and renamed when the run succeeds."""

import filecmp
import hashlib
import io
import os
from contextlib import suppress
from typing import Any, NamedTuple

from prefpairs.errors import FileError
from prefpairs.files.file_system import BUFFER, errors_named, is_file
from prefpairs.files.folder_handle import FolderHandle

_AT_ONCE = 1 << 23
"""After so many bytes the system begins to move them to the disk."""


class FileDigest(NamedTuple):
    """Size and digest of a file, as manifests list them."""

    size: int
    sha256: str


class StagedFile:
    """A file under a temporary name, and the name it will have.

    It is written in `staging_folder`, and is moved to `final_folder`. Both may be the same.
    """

    keep_if_same = False

    def __init__(
        self, path: str, folder: FolderHandle, temporary: str, name: str, raw: "WrittenFile"
    ) -> None:
        self.path = path
        self.staging_folder = self.final_folder = folder
        self.name = name
        self._temporary = temporary
        self._raw = raw
        self.file = io.BufferedWriter(raw, BUFFER)
        self._same_file: os.stat_result | None = None
        """The old file, if it has the same bytes and is to be kept."""
        self._backup: str | None = None
        self._replaces = False
        self._moved = False

    @property
    def target(self) -> str:
        """The path it will have, with links resolved."""
        return os.path.join(self.final_folder.path, self.name)

    def finish(self) -> None:
        """Everything was written: wait until it is on the disk."""
        self.file.flush()
        os.fsync(self._raw.fileno())

    def digest(self) -> FileDigest:
        """Size and digest of what was written."""
        return FileDigest(self._raw.size, self._raw.sha256())

    def compare_with_old(self) -> None:
        """With `keep_if_same`, find out whether the old file has the same bytes."""
        old = self.final_folder.status(self.name) if self.keep_if_same else None
        written = os.path.join(self.staging_folder.path, self._temporary)
        if old is not None and same_bytes(written, self.target):
            self._same_file = old

    def old_file_stays(self) -> bool:
        """Whether the old file has the same bytes and was not changed since it was compared."""
        here = self.final_folder.status(self.name)
        if self._same_file is not None and not _is_unchanged(self._same_file, here):
            self._same_file = None
        return self._same_file is not None

    def back_up(self) -> None:
        """Give the old file a second name, so that it can be restored.

        If the file system has no hard links, the new file remains, complete, even if others fail.
        """
        with suppress(OSError):
            if self.final_folder.status(self.name) is not None:
                name = self.final_folder.temporary_name(self.name)
                self.final_folder.link(self.name, name)
                self._backup = name

    def move_into_place(self) -> None:
        """Take the final name, unless the old file stays."""
        with errors_named(self.path):
            if not self.old_file_stays():
                self._replaces = self.final_folder.status(self.name) is not None
                self.staging_folder.move(self._temporary, self.final_folder, self.name)
                self._moved = True

    def check(self) -> None:
        """Raise unless the file under the final name is the one that was written."""
        with errors_named(self.path):
            if not (self.is_in_place() if self._same_file is None else self.old_file_stays()):
                problem = "it is not what this run wrote: another program changed it meanwhile"
                raise FileError(self.path, problem)

    def sync_name(self) -> None:
        """Wait until the name is on the disk, too."""
        with errors_named(self.path):
            self.final_folder.sync()

    def is_in_place(self) -> bool:
        """Whether the final name leads to the file that was written, and all of it is there."""
        there = self.final_folder.status(self.name)
        ours = os.fstat(self._raw.fileno())
        return (
            there is not None and os.path.samestat(there, ours) and there.st_size == self._raw.size
        )

    def roll_back(self) -> None:
        """Restore the old file, unless another program's file has the name by now."""
        with suppress(OSError):
            if self._moved and self.is_in_place():
                if self._backup is not None:
                    self.final_folder.move(self._backup, self.final_folder, self.name)
                    self._backup = None
                elif not self._replaces:
                    self.final_folder.unlink(self.name)

    def clean_up(self) -> None:
        """Remove backup and temporary file, and close."""
        if self._backup is not None:
            self.final_folder.remove(self._backup)
        if not self._moved:
            self.staging_folder.remove(self._temporary)
        with suppress(OSError):
            self.file.close()


class WrittenFile(io.FileIO):
    """A file that counts what is written to it and, if asked to, computes its SHA-256."""

    def __init__(self, descriptor: int, *, hashed: bool) -> None:
        super().__init__(descriptor, "wb")
        self._sha256 = hashlib.sha256() if hashed else None
        self.size = 0
        self._begun = 0

    def write(self, data: Any, /) -> int:
        """Write as much as the system takes."""
        count = super().write(data)
        self.size += count
        if self.size - self._begun >= _AT_ONCE:
            self._begin_to_store()
        if self._sha256 is not None:
            self._sha256.update(memoryview(data)[:count])
        return count

    def _begin_to_store(self) -> None:
        """Let the system store what was written, so that the end need not wait for all."""
        new = self._begun, self.size - self._begun
        self._begun = self.size
        with suppress(AttributeError, OSError):  # not every system can, nor every file system
            os.posix_fadvise(self.fileno(), *new, os.POSIX_FADV_DONTNEED)

    def sha256(self) -> str:
        """The digest of everything written, if the file was opened with `hashed`."""
        assert self._sha256 is not None
        return self._sha256.hexdigest()


def same_bytes(path: str, other: str) -> bool:
    """Whether `other` is a file with the same content."""
    return is_file(other) and filecmp.cmp(path, other, shallow=False)


def _is_unchanged(before: os.stat_result, now: os.stat_result | None) -> bool:
    return (
        now is not None
        and os.path.samestat(before, now)
        and (before.st_size, before.st_mtime_ns) == (now.st_size, now.st_mtime_ns)
    )
