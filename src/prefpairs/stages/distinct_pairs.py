"""Pairs of different content, the strongest of each, and which of them contradict each other."""

from collections.abc import Iterable, Iterator

from prefpairs.model.pair import as_written
from prefpairs.stages.base import Texts
from prefpairs.stages.digest_table import Numbering
from prefpairs.stages.entry_columns import Store
from prefpairs.stages.pair_entry import DIGEST, Entry, falling

Strength = tuple[float, float, bytes]


class Distinct:
    """One entry for each id. The number of an id is the slot of its entry."""

    def __init__(self, digests: Iterable[str], texts: Texts) -> None:
        """Other digests than these come back empty; the id is always known."""
        self._texts = texts
        self._ids = Numbering()
        self._reversed = bytearray()
        self._store = Store({*digests} - {"id"})

    def __len__(self) -> int:
        """The number of different ids."""
        return len(self._ids)

    def add(self, entry: Entry) -> bool:
        """Take in an entry; whether its id is new. Of two alike the stronger one stays."""
        slot = self._ids.number_of(entry.id)
        if slot == len(self._store):
            self._store.add(entry)
            self._reversed += entry.reversed_id()
            return True
        if self._is_stronger(entry, self.entry(slot)):
            self._store.replace(slot, entry)
        return False

    def _is_stronger(self, entry: Entry, other: Entry) -> bool:
        """Whether an entry goes before another one of the same content; equal ones stay put."""
        ours, theirs = entry.strength(), other.strength()
        if ours != theirs:
            return ours < theirs
        pair = self._texts.pair
        return as_written(pair(entry)) < as_written(pair(other))

    def entry(self, slot: int) -> Entry:
        """The entry that stands there."""
        return self._store.entry(slot, self._ids[slot])

    def gap(self, slot: int) -> float | None:
        """The gap of an entry, where it is known."""
        return self._store.gap(slot)

    def digest(self, name: str, slot: int) -> bytes:
        """One digest of an entry."""
        return self._store.digest(name, slot)

    def strength(self, slot: int) -> Strength:
        """What the strongest come first by."""
        return (
            falling(self._store.gap(slot)),
            falling(self._store.chosen_score(slot)),
            self._ids[slot],
        )

    def opposite(self, slot: int) -> int:
        """The slot of the pair that prefers the other answer, or -1."""
        return self._ids.find(bytes(self._reversed[DIGEST * slot : DIGEST * (slot + 1)]))

    def arrived(self, slots: Iterable[int]) -> Iterator[Entry]:
        """The entries of these slots in the order in which they arrived."""
        return map(self.entry, self._store.arrived(slots))
