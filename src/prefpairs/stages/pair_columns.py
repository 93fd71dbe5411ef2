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
    """Indexed pairs in arrays: 48 bytes each, and 16 for each digest that is needed later.

    Digests that are not kept are read as empty.
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
        """Append a pair and return its slot."""
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
        """Overwrite a slot with another pair."""
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
        """The pair in a slot; `identity` is its id where that is not kept here."""
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
        """The gap of a pair, if known."""
        return _or_none(self._gaps[slot])

    def chosen_score(self, slot: int) -> float | None:
        """The chosen score of a pair, if known."""
        return _or_none(self._chosen_scores[slot])

    def digest(self, name: str, slot: int) -> bytes:
        """One digest of a pair; empty if it has none or if that digest is not kept."""
        column = self._digests.get(name)
        if column is None:
            return b""
        digest = bytes(column[DIGEST * slot : DIGEST * (slot + 1)])
        return b"" if digest == _NONE else digest

    def arrived(self, slots: Iterable[int]) -> Iterator[int]:
        """The slots in the order of the input."""
        return sorted_slots(slots, self._numbers.__getitem__)

    def pairs(self, slots: Iterable[int]) -> Iterator[IndexedPair]:
        """The pairs in these slots."""
        return map(self.indexed, slots)

    def keep(self, slots: Iterable[int]) -> None:
        """Drop all other pairs, and move these to the slots from 0 up, in this order."""
        kept = array("I", slots)
        for column in self._columns:
            old = getattr(self, column)
            setattr(self, column, array(old.typecode, (old[slot] for slot in kept)))
        for name, digests in self._digests.items():
            self._digests[name] = bytearray().join(
                digests[DIGEST * slot : DIGEST * (slot + 1)] for slot in kept
            )


def sorted_slots(slots: Iterable[int], key: Callable[[int], Any]) -> Iterator[int]:
    """The slots sorted by a key (stable), with the keys of only one run in memory at a time.

    Sorting them all at once would take about 80 bytes a slot, more than the columns themselves.
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
    """One pair for each id, the strongest. The number of an id is the slot of its pair."""

    def __init__(self, digests: Iterable[str], reader: PairReader) -> None:
        """Only these digests are kept, and always the id."""
        self._reader = reader
        self._ids = DigestTable()
        self._reversed = bytearray()
        self._pairs = PairColumns({*digests} - {"id"})

    def __len__(self) -> int:
        """The number of different ids."""
        return len(self._ids)

    def add(self, indexed: IndexedPair) -> bool:
        """Add a pair; of two with one id the stronger stays. Returns whether the id is new."""
        slot = self._ids.number_of(indexed.id)
        if slot == len(self._pairs):
            self._pairs.add(indexed)
            self._reversed += indexed.reversed_id()
            return True
        if self._is_stronger(indexed, self.indexed(slot)):
            self._pairs.replace(slot, indexed)
        return False

    def _is_stronger(self, indexed: IndexedPair, other: IndexedPair) -> bool:
        """Whether a pair replaces another one of the same content; an equal one does not."""
        ours, theirs = indexed.strength(), other.strength()
        if ours != theirs:
            return ours < theirs
        pair = self._reader.pair
        return as_written(pair(indexed)) < as_written(pair(other))

    def indexed(self, slot: int) -> IndexedPair:
        """The pair in a slot."""
        return self._pairs.indexed(slot, self._ids[slot])

    def gap(self, slot: int) -> float | None:
        """The gap of a pair, if known."""
        return self._pairs.gap(slot)

    def digest(self, name: str, slot: int) -> bytes:
        """One digest of a pair."""
        return self._pairs.digest(name, slot)

    def strength(self, slot: int) -> Strength:
        """A sort key, strongest first."""
        gap, score = self._pairs.gap(slot), self._pairs.chosen_score(slot)
        return descending(gap), descending(score), self._ids[slot]

    def opposite(self, slot: int) -> int:
        """The slot of the pair that prefers the other answer, or -1."""
        return self._ids.find(bytes(self._reversed[DIGEST * slot : DIGEST * (slot + 1)]))

    def arrived(self, slots: Iterable[int]) -> Iterator[IndexedPair]:
        """The pairs in these slots, in the order of the input."""
        return map(self.indexed, self._pairs.arrived(slots))
