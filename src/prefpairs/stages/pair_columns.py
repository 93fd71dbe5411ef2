"""Many indexed pairs in compact arrays, for stages that must see all before they decide."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice
from math import isnan, nan
from typing import Any

from prefpairs.model.identity import DIGEST
from prefpairs.model.pair import as_written
from prefpairs.stages.base import IndexedPair, PairReader, descending
from prefpairs.stages.digest_table import DigestTable

_NONE = bytes(DIGEST)
_RUN = 1 << 15


class PairColumns:
    """Entries in arrays: 48 bytes each, and 16 for each digest that somebody needs later.

    The digests that are not kept come back empty.
    """

    _columns = (
        "_numbers",
        "_places",
        "_lengths",
        "_gaps",
        "_chosen_scores",
        "_rejected_scores",
        "_line_crcs",
    )

    def __init__(self, digests: Iterable[str]) -> None:
        self._digests = {name: bytearray() for name in sorted(set(digests))}
        self._numbers = array("Q")
        self._places = array("Q")
        self._lengths = array("I")
        self._gaps = array("d")
        self._chosen_scores = array("d")
        self._rejected_scores = array("d")
        self._line_crcs = array("I")

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self._numbers)

    def add(self, indexed: IndexedPair) -> int:
        """Put an indexed at the end, and say where that is."""
        self._numbers.append(indexed.number)
        self._places.append(indexed.place)
        self._lengths.append(indexed.length)
        self._gaps.append(_known(indexed.gap))
        self._chosen_scores.append(_known(indexed.chosen_score))
        self._rejected_scores.append(_known(indexed.rejected_score))
        self._line_crcs.append(indexed.line_crc)
        for name in self._digests:
            self._digests[name] += getattr(indexed, name) or _NONE
        return len(self._numbers) - 1

    def replace(self, slot: int, indexed: IndexedPair) -> None:
        """Put an indexed where another one stands."""
        self._numbers[slot] = indexed.number
        self._places[slot] = indexed.place
        self._lengths[slot] = indexed.length
        self._gaps[slot] = _known(indexed.gap)
        self._chosen_scores[slot] = _known(indexed.chosen_score)
        self._rejected_scores[slot] = _known(indexed.rejected_score)
        self._line_crcs[slot] = indexed.line_crc
        for name, column in self._digests.items():
            column[DIGEST * slot : DIGEST * (slot + 1)] = getattr(indexed, name) or _NONE

    def indexed(self, slot: int, identity: bytes = b"") -> IndexedPair:
        """The indexed that stands there; its id can be given where it is kept elsewhere."""
        digest = self.digest
        return IndexedPair(
            self._numbers[slot],
            self._places[slot],
            self._lengths[slot],
            self.gap(slot),
            self.chosen_score(slot),
            _or_none(self._rejected_scores[slot]),
            identity or digest("id", slot),
            digest("prompt", slot),
            digest("tools", slot),
            digest("chosen", slot),
            digest("rejected", slot),
            digest("group", slot),
            digest("other_prompt", slot),
            self._line_crcs[slot],
        )

    def gap(self, slot: int) -> float | None:
        """The gap of an indexed, where it is known."""
        return _or_none(self._gaps[slot])

    def chosen_score(self, slot: int) -> float | None:
        """The chosen score of an indexed, where it is known."""
        return _or_none(self._chosen_scores[slot])

    def digest(self, name: str, slot: int) -> bytes:
        """One digest of an indexed, or nothing where it had none, or none is kept."""
        column = self._digests.get(name)
        if column is None:
            return b""
        digest = bytes(column[DIGEST * slot : DIGEST * (slot + 1)])
        return b"" if digest == _NONE else digest

    def arrived(self, slots: Iterable[int]) -> Iterator[int]:
        """The slots in the order in which their pairs arrived."""
        return sorted_slots(slots, self._numbers.__getitem__)

    def pairs(self, slots: Iterable[int]) -> Iterator[IndexedPair]:
        """The pairs that stand there."""
        return map(self.indexed, slots)

    def keep(self, slots: Iterable[int]) -> None:
        """Let all other pairs go; those that stay stand in the order given."""
        kept = array("I", slots)
        for column in self._columns:
            old = getattr(self, column)
            setattr(self, column, array(old.typecode, (old[slot] for slot in kept)))
        for name, digests in self._digests.items():
            self._digests[name] = bytearray().join(
                digests[DIGEST * slot : DIGEST * (slot + 1)] for slot in kept
            )


def sorted_slots(slots: Iterable[int], key: Callable[[int], Any]) -> Iterator[int]:
    """The slots sorted, equal ones as they come; keys exist for one run of them at a time.

    Sorting all at once would take some 80 bytes a slot, more than all that is stored of it.
    """
    rest = iter(slots)
    runs = []
    while run := sorted(islice(rest, _RUN), key=key):
        runs.append(array("I", run))
    return merge(*runs, key=key) if len(runs) > 1 else iter(runs[0] if runs else ())


def _known(number: float | None) -> float:
    return nan if number is None else number


def _or_none(number: float) -> float | None:
    return None if isnan(number) else number


Strength = tuple[float, float, bytes]


class DistinctPairs:
    """One indexed for each id. The number of an id is the slot of its indexed."""

    def __init__(self, digests: Iterable[str], reader: PairReader) -> None:
        """Other digests than these come back empty; the id is always known."""
        self._reader = reader
        self._ids = DigestTable()
        self._reversed = bytearray()
        self._columns_of_pairs = PairColumns({*digests} - {"id"})

    def __len__(self) -> int:
        """The number of different ids."""
        return len(self._ids)

    def add(self, indexed: IndexedPair) -> bool:
        """Take in an indexed; whether its id is new. Of two alike the stronger one stays."""
        slot = self._ids.number_of(indexed.id)
        if slot == len(self._columns_of_pairs):
            self._columns_of_pairs.add(indexed)
            self._reversed += indexed.reversed_id()
            return True
        if self._is_stronger(indexed, self.indexed(slot)):
            self._columns_of_pairs.replace(slot, indexed)
        return False

    def _is_stronger(self, indexed: IndexedPair, other: IndexedPair) -> bool:
        """Whether an indexed goes before another one of the same content; equal ones stay put."""
        ours, theirs = indexed.strength(), other.strength()
        if ours != theirs:
            return ours < theirs
        pair = self._reader.pair
        return as_written(pair(indexed)) < as_written(pair(other))

    def indexed(self, slot: int) -> IndexedPair:
        """The indexed that stands there."""
        return self._columns_of_pairs.indexed(slot, self._ids[slot])

    def gap(self, slot: int) -> float | None:
        """The gap of an indexed, where it is known."""
        return self._columns_of_pairs.gap(slot)

    def digest(self, name: str, slot: int) -> bytes:
        """One digest of an indexed."""
        return self._columns_of_pairs.digest(name, slot)

    def strength(self, slot: int) -> Strength:
        """What the strongest come first by."""
        return (
            descending(self._columns_of_pairs.gap(slot)),
            descending(self._columns_of_pairs.chosen_score(slot)),
            self._ids[slot],
        )

    def opposite(self, slot: int) -> int:
        """The slot of the pair that prefers the other answer, or -1."""
        return self._ids.find(bytes(self._reversed[DIGEST * slot : DIGEST * (slot + 1)]))

    def arrived(self, slots: Iterable[int]) -> Iterator[IndexedPair]:
        """The pairs of these slots in the order in which they arrived."""
        return map(self.indexed, self._columns_of_pairs.arrived(slots))
