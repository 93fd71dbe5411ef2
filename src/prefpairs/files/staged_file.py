"""One file that is being written, and later takes its name."""

import filecmp
import hashlib
import io
import os
from contextlib import suppress
from typing import Any, NamedTuple

from prefpairs.errors import FileTrouble
from prefpairs.files.staging import BUFFER, Place, is_file, naming_trouble


class Written(NamedTuple):
    """What a manifest says of a file."""

    size: int
    sha256: str


class Staged:
    """A file under a temporary name, and the name that it will have.

    It is written in the `place`, and will stand in the `home`.
    """

    keep_if_same = False

    def __init__(
        self, path: str, home: Place, temporary: str, name: str, raw: "WrittenFile"
    ) -> None:
        self.path = path
        self.place = self.home = home
        self.name = name
        self._temporary = temporary
        self._raw = raw
        self.file = io.BufferedWriter(raw, BUFFER)
        self._old: os.stat_result | None = None
        self._backup: str | None = None
        self._replaces = False
        self._come = False

    @property
    def target(self) -> str:
        """Where it will stand."""
        return os.path.join(self.home.path, self.name)

    def complete(self) -> None:
        """All of it was written: wait until it is on the disk."""
        self.file.flush()
        os.fsync(self._raw.fileno())

    def written(self) -> Written:
        """What was written."""
        return Written(self._raw.size, self._raw.sha256())

    def find_same(self) -> None:
        """See whether the file that stands there has the same bytes, if that matters."""
        old = self.home.status(self.name) if self.keep_if_same else None
        here = os.path.join(self.place.path, self._temporary)
        if old is not None and same_bytes(here, self.target):
            self._old = old

    def stays(self) -> bool:
        """Whether the old file has the same bytes, and is still the one that was compared."""
        if self._old is not None and not _is_same(self._old, self.home.status(self.name)):
            self._old = None
        return self._old is not None

    def back_up(self) -> None:
        """Give the old file a second name, so that there is a way back.

        Where the file system has no such names, the new file stays, complete, whatever comes.
        """
        with suppress(OSError):
            if self.home.status(self.name) is not None:
                name = self.home.new_name(self.name)
                self.home.link(self.name, name)
                self._backup = name

    def appear(self) -> None:
        """Take the name, unless the old file stays."""
        with naming_trouble(self.path):
            if not self.stays():
                self._replaces = self.home.status(self.name) is not None
                self.place.move(self._temporary, self.home, self.name)
                self._come = True

    def check(self) -> None:
        """Raise unless what stands under the name is what was written."""
        with naming_trouble(self.path):
            if not (self.is_there() if self._old is None else self.stays()):
                problem = "it is not what this run wrote: another program changed it meanwhile"
                raise FileTrouble(self.path, problem)

    def make_last(self) -> None:
        """Wait until the name is on the disk, too."""
        with naming_trouble(self.path):
            self.home.sync()

    def is_there(self) -> bool:
        """Whether the file that was written, and all of it, stands under its name."""
        there = self.home.status(self.name)
        ours = os.fstat(self._raw.fileno())
        return (
            there is not None and os.path.samestat(there, ours) and there.st_size == self._raw.size
        )

    def go_back(self) -> None:
        """Give the old file its name again, unless a file of somebody else has it."""
        with suppress(OSError):
            if self._come and self.is_there():
                if self._backup is not None:
                    self.home.move(self._backup, self.home, self.name)
                    self._backup = None
                elif not self._replaces:
                    self.home.unlink(self.name)

    def end(self) -> None:
        """Leave nothing but the file itself, if it has come."""
        if self._backup is not None:
            self.home.remove(self._backup)
        if not self._come:
            self.place.remove(self._temporary)
        with suppress(OSError):
            self.file.close()


class WrittenFile(io.FileIO):
    """A file that knows the size and, if asked for, the SHA-256 of what was written to it."""

    def __init__(self, descriptor: int, *, hashed: bool) -> None:
        super().__init__(descriptor, "wb")
        self._sha256 = hashlib.sha256() if hashed else None
        self.size = 0

    def write(self, data: Any, /) -> int:
        """Write as much as the system takes."""
        count = super().write(data)
        self.size += count
        if self._sha256 is not None:
            self._sha256.update(memoryview(data)[:count])
        return count

    def sha256(self) -> str:
        """The digest of all that was written, where it was asked for."""
        assert self._sha256 is not None
        return self._sha256.hexdigest()


def same_bytes(path: str, other: str) -> bool:
    """Whether two files hold the same, if the other one is a file at all."""
    return is_file(other) and filecmp.cmp(path, other, shallow=False)


def _is_same(one: os.stat_result, other: os.stat_result | None) -> bool:
    """Whether nothing happened to a file between two looks at it."""
    return (
        other is not None
        and os.path.samestat(one, other)
        and (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)
    )
