"""Records that can be fetched again by where they stand: a regular file, or a spool."""

import os
import resource
import tempfile
import time
from collections import OrderedDict
from contextlib import suppress
from typing import IO

from prefpairs.errors import FileTrouble, InputChanged
from prefpairs.files.held_signals import held_signals
from prefpairs.files.input_stamps import TICK
from prefpairs.files.inputs import Input
from prefpairs.files.open_input import fingerprint
from prefpairs.files.staging import BUFFER, naming_trouble
from prefpairs.files.temp_dir import temporary_folder

_MOST_OPEN = 16
_SHARE_OPEN = 4
"""Of the files that the system lets us open a fourth part is for shelves."""
_MOST_HELD = 16 << 20
"""Bytes of small files that are held, so that they need not be opened once more."""


class Shelf:
    """One regular file, seen once; any change to it since then is an error.

    `content` is all of it, if it is small.
    """

    def __init__(self, source: Input, seen: os.stat_result, content: bytes | None = None) -> None:
        self.label = source.label
        self.content = content
        self._source = source
        self._seen = fingerprint(seen)
        long_ago = abs(time.time_ns() - seen.st_ctime_ns) > TICK
        self._changed = seen.st_ctime_ns if long_ago else None
        """When the file changed last, if another change would have another time."""

    def open(self) -> int:
        """A descriptor to fetch with: of the same file, or InputChanged."""
        if self._source.is_stdin:
            return os.dup(0)
        with naming_trouble(self.label):
            descriptor = os.open(self._source.path, os.O_RDONLY)
        self.check(descriptor)
        return descriptor

    def settle(self) -> None:
        """Nothing is on its way to a file that somebody else wrote."""

    def check(self, descriptor: int) -> None:
        """Raise InputChanged if the file is not what it was."""
        self._compare(descriptor)

    def check_held(self, content: bytes) -> None:
        """Raise InputChanged if the file is not what it was, and its content that which is held.

        The time of the last change (ctime) cannot be set. Where it is another one, or may be the
        same after a change, what the file holds is compared.
        """
        status = self._compare(self._source.path)
        if status.st_ctime_ns != self._changed:
            with naming_trouble(self.label), open(self._source.path, "rb") as file:
                same = file.read(len(content) + 1) == content
            if not same:
                raise InputChanged(self.label)

    def _compare(self, file: int | str) -> os.stat_result:
        try:
            status = os.stat(file)
        except OSError as error:
            raise FileTrouble.of(self.label, error) from None
        if fingerprint(status) != self._seen:
            raise InputChanged(self.label)
        return status

    def close(self) -> None:
        """Nothing is held open here."""


class Spool:
    """Lines put aside in a file without a name, which goes away with the process."""

    label = "the temporary file"

    def __init__(self, folder: str | None) -> None:
        with held_signals(), naming_trouble(folder or temporary_folder()):
            self._file: IO[bytes] = tempfile.TemporaryFile(  # noqa: SIM115 - lives as we do
                buffering=BUFFER, dir=folder, prefix="prefpairs-"
            )
        self._size = 0
        self._waiting = False

    def append(self, line: bytes) -> int:
        """Put a line aside and say where it begins."""
        offset = self._size
        try:
            self._file.write(line)
        except OSError as error:
            raise FileTrouble.of(self.label, error) from None
        self._size += len(line)
        self._waiting = True
        return offset

    def open(self) -> int:
        """A descriptor to fetch with."""
        return os.dup(self._file.fileno())

    def settle(self) -> None:
        """Let what was put aside be there to be fetched, while more may yet come."""
        if not self._waiting:
            return
        with naming_trouble(self.label):
            self._file.flush()
        self._waiting = False

    def check(self, descriptor: int) -> None:
        """Nobody else can reach a spool."""

    def close(self) -> None:
        """Let the file go: nobody will ask for it any more."""
        with suppress(OSError):
            self._file.close()


class Shelves:
    """All shelves of a run, with a bounded number of open files."""

    def __init__(self) -> None:
        self._shelves: list[Shelf | Spool] = []
        self._open: OrderedDict[int, int] = OrderedDict()
        self._held: dict[int, tuple[Shelf, bytes]] = {}
        self._size_held = 0
        self._fetched: set[int] = set()
        """Those of which something was fetched from what is held."""
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        few = allowed if allowed != resource.RLIM_INFINITY else _MOST_OPEN * _SHARE_OPEN
        self._most_open = max(1, min(_MOST_OPEN, few // _SHARE_OPEN))

    def add(self, shelf: Shelf | Spool) -> int:
        """Take in a shelf and give it a number."""
        number = len(self._shelves)
        self._shelves.append(shelf)
        if isinstance(shelf, Shelf) and shelf.content is not None:
            content, shelf.content = shelf.content, None
            if self._size_held + len(content) <= _MOST_HELD:
                self._held[number] = shelf, content
                self._size_held += len(content)
        return number

    def fetch(self, shelf: int, offset: int, length: int) -> bytes:
        """The bytes that stand there."""
        held = self._held.get(shelf)
        if held is not None:
            self._fetched.add(shelf)
            return held[1][offset : offset + length]
        self._shelves[shelf].settle()
        descriptor = self._open.get(shelf)
        if descriptor is None:
            descriptor = self._descriptor(shelf)
        try:
            data = os.pread(descriptor, length, offset)
            while len(data) < length:
                more = os.pread(descriptor, length - len(data), offset + len(data))
                if not more:
                    raise InputChanged(self._shelves[shelf].label)
                data += more
        except OSError as error:
            raise FileTrouble.of(self._shelves[shelf].label, error) from None
        return data

    def check(self) -> None:
        """Raise InputChanged if a file changed since it was indexed: one that is open, or held."""
        for number in sorted(self._fetched):
            shelf, content = self._held[number]
            shelf.check_held(content)
        for number, descriptor in self._open.items():
            self._shelves[number].check(descriptor)

    def close(self) -> None:
        """Close all files; what was read of them is there."""
        while self._open:
            with suppress(OSError):
                os.close(self._open.popitem()[1])
        for shelf in self._shelves:
            shelf.close()

    def _descriptor(self, shelf: int) -> int:
        descriptor = self._open.get(shelf)
        if descriptor is None:
            if len(self._open) >= self._most_open:
                oldest, unused = self._open.popitem(last=False)
                self._shelves[oldest].check(unused)
                with suppress(OSError):
                    os.close(unused)
            descriptor = self._open[shelf] = self._shelves[shelf].open()
        return descriptor
