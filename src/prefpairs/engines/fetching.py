"""Records that were indexed, fetched again when they are wanted."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, NamedTuple, Self, TypeVar

from prefpairs.engines.index import Index
from prefpairs.engines.reading import with_origin
from prefpairs.errors import BadRecord, InputChanged
from prefpairs.files.shelf import Shelf, Shelves, Spool
from prefpairs.records.candidate import Candidate
from prefpairs.records.identity import digest_response
from prefpairs.sources.answer import Reading

_MOST_CACHED = 256
_MOST_CACHED_BYTES = 4 << 20

T = TypeVar("T")


class Library(Generic[T]):
    """The shelves of a run, and the records read last; one record may be wanted many times."""

    def __init__(self) -> None:
        self._shelves = Shelves()
        self._shelved: list[Shelved[T]] = []
        self._cache: OrderedDict[tuple[int, int], T] = OrderedDict()
        self._sizes: dict[tuple[int, int], int] = {}
        self._cached = 0
        self._spool: tuple[int, Spool] | None = None

    def add(self, shelf: Shelf | Spool, label: str, read: Callable[[bytes], T]) -> int:
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

    def record(self, shelf: int, offset: int, length: int) -> T:
        """The record that stands there; InputChanged where none can be read any more."""
        key = shelf, offset
        record = self._cache.get(key)
        if record is not None:
            self._cache.move_to_end(key)
            return record
        data = self._shelves.fetch(shelf, offset, length)
        try:
            record = self._shelved[shelf].read(data)
        except BadRecord:
            raise InputChanged(self.label(shelf)) from None
        self._remember(key, record, length)
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

    def _remember(self, key: tuple[int, int], record: T, size: int) -> None:
        self._cache[key] = record
        self._sizes[key] = size
        self._cached += size
        while len(self._cache) > 1 and self._is_full():
            oldest, _ = self._cache.popitem(last=False)
            self._cached -= self._sizes.pop(oldest)

    def _is_full(self) -> bool:
        """Small records are bounded by number, large ones by size."""
        return len(self._cache) > _MOST_CACHED or self._cached > _MOST_CACHED_BYTES


class Shelved(NamedTuple, Generic[T]):
    """The name of a shelf, and how its records are read."""

    label: str
    read: Callable[[bytes], T]


class Candidates(Library[Reading]):
    """The candidates of an index, fetched from the rows that hold them."""

    def fetch(self, index: Index, number: int) -> Candidate:
        """An indexed candidate, word for word as it was; InputChanged if it is not."""
        place = index.place(number)
        label = self.label(place.shelf)
        reading = self.record(place.shelf, place.offset, place.length)
        if place.slot >= len(reading.kept):
            raise InputChanged(label)
        candidate = with_origin(reading, place.slot, label, place.number)
        same_score = candidate.score == index.scores[number]
        if not same_score or digest_response(candidate.response) != index.digest(number):
            raise InputChanged(label)
        return candidate
