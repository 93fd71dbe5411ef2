"""Records that are fetched again by file, offset and length, from inputs and temporary spools.

Each is read by its file's own reader, and the last ones are cached. Both kinds of records of a run
are fetched like this: rows of rollouts and rows of pairs.
"""

import os
import resource
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Generic, NamedTuple, Self, TypeVar

from prefpairs.errors import BadRecord, FileError, InputChanged
from prefpairs.files.file_stamps import TICK
from prefpairs.files.file_system import BUFFER, errors_named, held_signals, temporary_folder
from prefpairs.files.input_file import Input
from prefpairs.files.open_input import fingerprint

_MOST_OPEN = 16
_SHARE_OPEN = 4
"""Record files take at most a quarter of the descriptors that the system allows."""
_MOST_HELD = 16 << 20
"""Bytes of small files kept in memory, so that they need not be opened a second time."""


class RecordFile:
    """A regular input file that was read once; any change to it since then is an error.

    `content` is the whole file if it is small.
    """

    def __init__(self, source: Input, seen: os.stat_result, content: bytes | None = None) -> None:
        self.label = source.label
        self.content = content
        self._source = source
        self._seen = fingerprint(seen)
        long_ago = abs(time.time_ns() - seen.st_ctime_ns) > TICK
        self._changed = seen.st_ctime_ns if long_ago else None
        """When the file last changed, if any later change would have another timestamp."""

    def open(self) -> int:
        """A descriptor of the same file to read from; InputChanged if it is another one."""
        if self._source.is_stdin:
            return os.dup(0)
        with errors_named(self.label):
            descriptor = os.open(self._source.path, os.O_RDONLY)
        self.check(descriptor)
        return descriptor

    def flush(self) -> None:
        """Do nothing: we never write to an input."""

    def check(self, descriptor: int) -> None:
        """Raise InputChanged if the file has changed."""
        self._compare(descriptor)

    def check_content(self, content: bytes) -> None:
        """Raise InputChanged if the file has changed, or its content is not this one.

        The time of the last change (ctime) cannot be set by users. The content is compared only
        where that time differs, or is too recent to show a change.
        """
        status = self._compare(self._source.path)
        if status.st_ctime_ns != self._changed:
            with errors_named(self.label), open(self._source.path, "rb") as file:
                same = file.read(len(content) + 1) == content
            if not same:
                raise InputChanged(self.label)

    def _compare(self, file: int | str) -> os.stat_result:
        try:
            status = os.stat(file)
        except OSError as error:
            raise FileError.of(self.label, error) from None
        if fingerprint(status) != self._seen:
            raise InputChanged(self.label)
        return status

    def close(self) -> None:
        """Do nothing: this object keeps no descriptor open."""


class Spool:
    """Lines written to an unnamed temporary file, which disappears with the process."""

    label = "the temporary file"

    def __init__(self, folder: str | None) -> None:
        with held_signals(), errors_named(folder or temporary_folder()):
            self._file: IO[bytes] = tempfile.TemporaryFile(  # noqa: SIM115 - closed by close()
                buffering=BUFFER, dir=folder, prefix="prefpairs-"
            )
        self._size = 0
        self._unflushed = False

    def append(self, line: bytes) -> int:
        """Write a line and return its offset."""
        offset = self._size
        try:
            self._file.write(line)
        except OSError as error:
            raise FileError.of(self.label, error) from None
        self._size += len(line)
        self._unflushed = True
        return offset

    def open(self) -> int:
        """A descriptor to read from."""
        return os.dup(self._file.fileno())

    def flush(self) -> None:
        """Make everything appended so far readable; more may follow."""
        if not self._unflushed:
            return
        with errors_named(self.label):
            self._file.flush()
        self._unflushed = False

    def check(self, descriptor: int) -> None:
        """Do nothing: no other process can reach an unnamed file."""

    def close(self) -> None:
        """Close the file, which deletes it."""
        with suppress(OSError):
            self._file.close()


class RecordFiles:
    """All record files of a run by number, with a bounded number of open descriptors."""

    def __init__(self) -> None:
        self._files: list[RecordFile | Spool] = []
        self._open: OrderedDict[int, int] = OrderedDict()
        self._held: dict[int, tuple[RecordFile, bytes]] = {}
        self._size_held = 0
        self._read_from_memory: set[int] = set()
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        few = allowed if allowed != resource.RLIM_INFINITY else _MOST_OPEN * _SHARE_OPEN
        self._most_open = max(1, min(_MOST_OPEN, few // _SHARE_OPEN))

    def add(self, file: RecordFile | Spool) -> int:
        """Add a file and return its number."""
        number = len(self._files)
        self._files.append(file)
        if isinstance(file, RecordFile) and file.content is not None:
            content, file.content = file.content, None
            if self._size_held + len(content) <= _MOST_HELD:
                self._held[number] = file, content
                self._size_held += len(content)
        return number

    def read(self, number: int, offset: int, length: int) -> bytes:
        """The bytes of a record of the file with this number."""
        held = self._held.get(number)
        if held is not None:
            self._read_from_memory.add(number)
            return held[1][offset : offset + length]
        descriptor = self._descriptor(number)
        try:
            data = os.pread(descriptor, length, offset)
            while len(data) < length:
                more = os.pread(descriptor, length - len(data), offset + len(data))
                if not more:
                    raise InputChanged(self._files[number].label)
                data += more
        except OSError as error:
            raise FileError.of(self._files[number].label, error) from None
        return data

    def check(self) -> None:
        """Raise InputChanged if a file that is open or was read from memory has changed."""
        for number in sorted(self._read_from_memory):
            file, content = self._held[number]
            file.check_content(content)
        for number, descriptor in self._open.items():
            self._files[number].check(descriptor)

    def close(self) -> None:
        """Close all files."""
        while self._open:
            with suppress(OSError):
                os.close(self._open.popitem()[1])
        for file in self._files:
            file.close()

    def source(self, number: int) -> bytes | int:
        """All of a file that is held in memory, or a descriptor of it that may be closed later."""
        if number in self._held:
            self._read_from_memory.add(number)
            return self._held[number][1]
        return self._descriptor(number)

    def _descriptor(self, number: int) -> int:
        """A descriptor; if it is a new one, the oldest is checked and closed to make room."""
        self._files[number].flush()
        if number in self._open:
            return self._open[number]
        if len(self._open) >= self._most_open:
            oldest, unused = self._open.popitem(last=False)
            self._files[oldest].check(unused)
            with suppress(OSError):
                os.close(unused)
        descriptor = self._open[number] = self._files[number].open()
        return descriptor


_MOST_CACHED = 256
_MOST_CACHED_BYTES = 4 << 20

K = TypeVar("K")
T = TypeVar("T")


class Cache(Generic[K, T]):
    """The items used last, bounded in number and size, and dropped all at once."""

    def __init__(self) -> None:
        self._items: dict[K, T] = {}
        self._size = 0
        self.get = self._items.get

    def put(self, key: K, item: T, size: int) -> None:
        """Remember an item."""
        self._size += size
        if len(self._items) >= _MOST_CACHED or self._size > _MOST_CACHED_BYTES:
            self._items.clear()
            self._size = size
        self._items[key] = item


class _Reader(NamedTuple, Generic[T]):
    """The name of a record file, and what reads its records."""

    label: str
    read: Callable[[bytes], T]


class RecordFetcher(Generic[T]):
    """The record files of a run, and the records that were fetched last."""

    def __init__(self) -> None:
        self._files = RecordFiles()
        self._readers: list[_Reader[T]] = []
        self._cache = Cache[tuple[int, int], T]()
        self._spool: Spool | None = None
        self.line = self._files.read
        """The bytes of a record, by file, offset and length."""
        self.source = self._files.source
        """Where the records of a file are: all its bytes, or a descriptor."""

    def add(
        self, file: RecordFile | Spool, read: Callable[[bytes], T], label: str | None = None
    ) -> int:
        """Add a file whose records are read so, and return its number.

        `label` is where they came from, if the file holds copies of them.
        """
        self._readers.append(_Reader(label or file.label, read))
        return self._files.add(file)

    def spool(self, folder: str | None) -> Spool:
        """The spool for rows of inputs that cannot be read twice."""
        if self._spool is None:
            self._spool = Spool(folder)
        return self._spool

    def label(self, file: int) -> str:
        """The name of a file."""
        return self._readers[file].label

    def fetch(self, file: int, offset: int, length: int) -> T:
        """A record; InputChanged if it can no longer be read."""
        key = file, offset
        record = self._cache.get(key)
        if record is not None:
            return record
        data = self._files.read(file, offset, length)
        try:
            record = self._readers[file].read(data)
        except BadRecord:
            raise InputChanged(self.label(file)) from None
        self._cache.put(key, record, length)
        return record

    def check(self) -> None:
        """Raise InputChanged if one of the files has changed since it was indexed."""
        self._files.check()

    def __enter__(self) -> Self:
        """Keep the files open for the time of a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all files."""
        self._files.close()
        if self._spool is not None:  # nothing may have been copied
            self._spool.close()
