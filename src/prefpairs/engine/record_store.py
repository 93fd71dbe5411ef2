"""Records that are fetched from files, each read by its file's own reader and cached.

Both kinds of records of a run are fetched by way of it: rows of rollouts and rows of pairs.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, Self, TypeVar

from prefpairs.errors import BadRecord, InputChanged
from prefpairs.files.record_files import RecordFile, RecordFiles, Spool

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


class RecordStore(Generic[T]):
    """The record files of a run, and the records that were fetched last."""

    def __init__(self) -> None:
        self._files = RecordFiles()
        self._readers: list[_Reader[T]] = []
        self._cache = Cache[tuple[int, int], T]()
        self._spool: tuple[int, Spool] | None = None
        self.line = self._files.read
        """The bytes of a record, by file, offset and length."""

    def add(self, file: RecordFile | Spool, read: Callable[[bytes], T]) -> int:
        """Add a file whose records are read so, and return its number."""
        self._readers.append(_Reader(file.label, read))
        return self._files.add(file)

    def spool(self, folder: str | None, read: Callable[[bytes], T]) -> tuple[int, Spool]:
        """The spool for records of inputs that cannot be read twice, and its number."""
        if self._spool is None:
            spool = Spool(folder)
            self._spool = self.add(spool, read), spool
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
