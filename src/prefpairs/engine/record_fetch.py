"""Records that were indexed, fetched again when they are wanted."""

from collections.abc import Callable
from typing import Generic, NamedTuple, Self, TypeVar

from prefpairs.engine.candidate_index import Index
from prefpairs.engine.candidate_reader import with_origin
from prefpairs.errors import BadRecord, InputChanged
from prefpairs.fields.answer import Reading
from prefpairs.files.record_files import RecordFile, RecordFiles, Spool
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest_response

_MOST_CACHED = 256
_MOST_CACHED_BYTES = 4 << 20

K = TypeVar("K")
T = TypeVar("T")

ReadPlain = Callable[[bytes, str], tuple[Candidate, bytes] | None]
"""A row and its origin to its one candidate, and the digest of the response."""


class Recent(Generic[K, T]):
    """What was read last: bounded by number and by size, and let go all at once."""

    def __init__(self) -> None:
        self._items: dict[K, T] = {}
        self._size = 0
        self.get = self._items.get

    def put(self, key: K, item: T, size: int) -> None:
        """Remember an item, as long as there is room."""
        self._size += size
        if len(self._items) >= _MOST_CACHED or self._size > _MOST_CACHED_BYTES:
            self._items.clear()
            self._size = size
        self._items[key] = item


class Library(Generic[T]):
    """The shelves of a run, and the records read last; one record may be wanted many times."""

    def __init__(self) -> None:
        self._shelves = RecordFiles()
        self._shelved: list[Shelved[T]] = []
        self._records = Recent[tuple[int, int], T]()
        self._spool: tuple[int, Spool] | None = None

    def add(self, shelf: RecordFile | Spool, label: str, read: Callable[[bytes], T]) -> int:
        """Take in a shelf and give it a number."""
        self._shelved.append(Shelved(label, read))
        return self._shelves.add(shelf)

    def spool(self, folder: str | None, read: Callable[[bytes], T]) -> tuple[int, Spool]:
        """The one spool of a run, for what cannot be fetched from where it is, and its number."""
        if self._spool is None:
            spool = Spool(folder)
            self._spool = self.add(spool, spool.label, read), spool
        return self._spool

    def label(self, shelf: int) -> str:
        """What a shelf is called."""
        return self._shelved[shelf].label

    def line(self, shelf: int, offset: int, length: int) -> bytes:
        """The bytes that stand there, as they are."""
        return self._shelves.read(shelf, offset, length)

    def record(self, shelf: int, offset: int, length: int) -> T:
        """The record that stands there; InputChanged where none can be read any more."""
        key = shelf, offset
        record = self._records.get(key)
        if record is not None:
            return record
        data = self._shelves.read(shelf, offset, length)
        try:
            record = self._shelved[shelf].read(data)
        except BadRecord:
            raise InputChanged(self.label(shelf)) from None
        self._records.put(key, record, length)
        return record

    def check(self) -> None:
        """Raise InputChanged if one of the files changed since it was indexed."""
        self._shelves.check()

    def __enter__(self) -> Self:
        """Hold shelves for the time of a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all files."""
        self._shelves.close()


class Shelved(NamedTuple, Generic[T]):
    """The name of a shelf, and how its records are read."""

    label: str
    read: Callable[[bytes], T]


class Candidates(Library[Reading]):
    """The candidates of an index, fetched from the rows that hold them."""

    def __init__(self) -> None:
        super().__init__()
        self._plain: dict[int, ReadPlain] = {}
        self._held = Recent[int, Candidate]()

    def add_plain(self, shelf: int, read: ReadPlain) -> None:
        """Let the rows of a shelf be read by a shortcut, wherever it knows them."""
        self._plain[shelf] = read

    def fetch(self, index: Index, number: int) -> Candidate:
        """An indexed candidate, word for word as it was; InputChanged if it is not."""
        candidate = self._held.get(number)
        if candidate is not None:
            return candidate
        shelf, offset, length, slot, row = index.place(number)
        label = self.label(shelf)
        plain = self._plain.get(shelf)
        found = plain and plain(self._shelves.read(shelf, offset, length), f"{label}:{row}")
        if found:
            candidate, digest = found
        else:
            reading = self.record(shelf, offset, length)
            if slot >= len(reading.kept):
                raise InputChanged(label)
            candidate = with_origin(reading, slot, label, row)
            digest = digest_response(candidate.response)
        if candidate.score != index.scores[number] or digest != index.digest(number):
            raise InputChanged(label)
        self._held.put(number, candidate, length)
        return candidate
