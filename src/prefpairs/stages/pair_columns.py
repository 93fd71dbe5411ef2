"""Many pairs in columns: all that stages see of them, a block at a time or all at once."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice, pairwise, starmap
from math import isnan, nan
from operator import le
from typing import Any, Self

from prefpairs.errors import PrefpairsError
from prefpairs.model.identity import DIGEST, digest_pairs
from prefpairs.model.pair import as_written
from prefpairs.stages.base import DIGESTS, IndexedPair, PairReader, descending
from prefpairs.stages.digest_table import NO_DIGEST, DigestTable, digest_at, digests_at

_RUN = 1 << 15
_BLOCK = 1 << 8
"""Pairs in a block, where they do not come from a file."""

_NUMBERS = {
    "numbers": "Q",
    "places": "Q",
    "lengths": "I",
    "gaps": "d",
    "chosen_scores": "d",
    "rejected_scores": "d",
    "line_crcs": "I",
}


class PairColumns:
    """Indexed pairs in arrays: 48 bytes each, and 16 for each digest that is kept.

    A pair is known by its slot, from 0 up. Digests that are not kept are read as empty.
    """

    numbers: "array[int]"
    places: "array[int]"
    lengths: "array[int]"
    gaps: "array[float]"
    chosen_scores: "array[float]"
    rejected_scores: "array[float]"
    line_crcs: "array[int]"

    def __init__(self, digests: Iterable[str] = DIGESTS) -> None:
        self._digests = {name: bytearray() for name in sorted(set(digests))}
        for name, typecode in _NUMBERS.items():
            setattr(self, name, array(typecode))

    @classmethod
    def holding(cls, pairs: Sequence[IndexedPair]) -> Self:
        """Columns of these pairs, with all digests."""
        columns = cls()
        columns.add(pairs)
        return columns

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.numbers)

    def __iter__(self) -> Iterator[IndexedPair]:
        """The pairs, one after the other."""
        return map(self.indexed, range(len(self)))

    def add(self, pairs: Sequence[IndexedPair]) -> None:
        """Append pairs."""
        if not pairs:
            return
        each: Any = IndexedPair._make(zip(*pairs, strict=True))
        self.numbers.extend(each.number)
        self.places.extend(each.place)
        self.lengths.extend(each.length)
        self.gaps.extend(map(_known, each.gap))
        self.chosen_scores.extend(map(_known, each.chosen_score))
        self.rejected_scores.extend(map(_known, each.rejected_score))
        self.line_crcs.extend(each.line_crc)
        for name, column in self._digests.items():
            column.extend(b"".join([digest or NO_DIGEST for digest in getattr(each, name)]))

    def extend(self, other: "PairColumns") -> None:
        """Append all pairs of other columns."""
        for name in _NUMBERS:
            getattr(self, name).extend(getattr(other, name))
        for name, column in self._digests.items():
            column.extend(other.digests(name))

    def extend_bytes(self, *columns: bytes) -> None:
        """Append pairs, given the bytes of all columns: numbers first, then digests."""
        arrays = [getattr(self, name) for name in _NUMBERS]
        for column, given in zip(arrays, columns, strict=False):
            column.frombytes(given)
        for name, given in zip(DIGESTS, columns[len(arrays) :], strict=True):
            self._digests[name] += given

    def as_bytes(self) -> list[bytes]:
        """The bytes of all columns, as `extend_bytes` takes them."""
        arrays = [getattr(self, name).tobytes() for name in _NUMBERS]
        return [*arrays, *(bytes(self.digests(name)) for name in DIGESTS)]

    def of(self, slots: Sequence[int], digests: Iterable[str] | None = None) -> "PairColumns":
        """The pairs in these slots, in this order, with only these digests of those kept."""
        chosen = PairColumns(self._digests if digests is None else digests)
        for name, typecode in _NUMBERS.items():
            setattr(chosen, name, array(typecode, map(getattr(self, name).__getitem__, slots)))
        for name in chosen._digests:
            chosen._digests[name] = bytearray().join(digests_at(self.digests(name), slots))
        return chosen

    def replace(self, slot: int, indexed: IndexedPair) -> None:
        """Overwrite a slot with another pair."""
        self.numbers[slot] = indexed.number
        self.places[slot] = indexed.place
        self.lengths[slot] = indexed.length
        self.gaps[slot] = _known(indexed.gap)
        self.chosen_scores[slot] = _known(indexed.chosen_score)
        self.rejected_scores[slot] = _known(indexed.rejected_score)
        self.line_crcs[slot] = indexed.line_crc
        for name, column in self._digests.items():
            column[DIGEST * slot : DIGEST * (slot + 1)] = getattr(indexed, name) or NO_DIGEST

    def indexed(self, slot: int) -> IndexedPair:
        """The pair in a slot."""
        digest = self.digest
        return IndexedPair(
            self.numbers[slot],
            self.places[slot],
            self.lengths[slot],
            self.gap(slot),
            self.chosen_score(slot),
            _or_none(self.rejected_scores[slot]),
            digest("id", slot),
            digest("prompt", slot),
            digest("tools", slot),
            digest("chosen", slot),
            digest("rejected", slot),
            digest("group", slot),
            digest("other_prompt", slot),
            self.line_crcs[slot],
        )

    def scores(self) -> "Iterator[tuple[float | None, float | None, float | None]]":
        """The gap and both scores of each pair, if known."""
        columns = self.gaps, self.chosen_scores, self.rejected_scores
        return zip(
            *([None if isnan(number) else number for number in column] for column in columns),
            strict=True,
        )

    def known_scores(
        self, slots: Sequence[int]
    ) -> tuple[int, list[float], list[float], list[float]]:
        """How many pairs these are, and the gaps and scores of them that are known."""
        columns = self.gaps, self.chosen_scores, self.rejected_scores
        gaps, chosen, rejected = (
            [number for number in map(column.__getitem__, slots) if not isnan(number)]
            for column in columns
        )
        return len(slots), gaps, chosen, rejected

    def gap(self, slot: int) -> float | None:
        """The gap of a pair, if known."""
        return _or_none(self.gaps[slot])

    def chosen_score(self, slot: int) -> float | None:
        """The chosen score of a pair, if known."""
        return _or_none(self.chosen_scores[slot])

    def digest(self, name: str, slot: int) -> bytes:
        """One digest of a pair; empty if it has none or if that digest is not kept."""
        column = self._digests.get(name)
        if column is None:
            return b""
        digest = digest_at(column, slot)
        return b"" if digest == NO_DIGEST else digest

    def digests(self, name: str) -> bytes | bytearray:
        """One digest of all pairs, one after the other; zeros where there is none."""
        column = self._digests.get(name)
        return bytes(DIGEST * len(self)) if column is None else column

    def number_from(self, first: int) -> None:
        """Number the pairs in the order of their slots."""
        self.numbers = array("Q", range(first, first + len(self)))

    def set_digests(self, name: str, digests: bytes) -> None:
        """Set one digest of all pairs."""
        self._digests[name] = bytearray(digests)

    def arrived(self, slots: Iterable[int]) -> Iterator[int]:
        """The slots in the order of the input, in which most are already."""
        number_of = self.numbers.__getitem__
        given = slots if isinstance(slots, Sequence) else array("I", slots)
        if all(starmap(le, pairwise(map(number_of, given)))):
            return iter(given)
        return sorted_slots(given, number_of)

    def blocks(self, slots: Iterable[int]) -> "Iterator[PairColumns]":
        """The pairs in these slots, some at a time."""
        return (self.of(some) for some in some_at_a_time(slots))


def blocks_of(pairs: Iterable[IndexedPair]) -> Iterator[PairColumns]:
    """Pairs, some at a time; also those before an error."""
    some: list[IndexedPair] = []
    try:
        for indexed in pairs:
            some.append(indexed)
            if len(some) >= _BLOCK:
                yield PairColumns.holding(some)
                some = []
    except PrefpairsError:
        if some:
            yield PairColumns.holding(some)
        raise
    if some:
        yield PairColumns.holding(some)


def some_at_a_time(slots: Iterable[int]) -> "Iterator[array[int]]":
    """The slots, as many at a time as a block has."""
    rest = iter(slots)
    while some := array("I", islice(rest, _BLOCK)):
        yield some


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


def _first_and_others(numbers: Iterable[int], known: int) -> tuple[list[int], list[int]]:
    """The places of the first ones of the new numbers, which rise from `known`, and all others."""
    first: list[int] = []
    others: list[int] = []
    for place, number in enumerate(numbers):
        (first if number == known + len(first) else others).append(place)
    return first, others


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

    def add(self, block: PairColumns) -> int:
        """Add pairs; of two with one id the stronger stays. Returns how many ids are new."""
        before = len(self)
        numbers = self._ids.numbers_of(block.digests("id"))
        new: Sequence[int] = range(len(block))
        copies: Sequence[int] = []
        if len(self) - before < len(block):
            new, copies = _first_and_others(numbers, before)
        added = block.of(new) if copies else block
        self._pairs.extend(added)
        contents = map(added.digests, ("prompt", "tools", "rejected", "chosen"))
        self._reversed += digest_pairs(*contents)
        for slot in copies:
            indexed = block.indexed(slot)
            if self._is_stronger(indexed, self.indexed(numbers[slot])):
                self._pairs.replace(numbers[slot], indexed)
        return len(new)

    def _is_stronger(self, indexed: IndexedPair, other: IndexedPair) -> bool:
        """Whether a pair replaces another one of the same content; an equal one does not."""
        ours, theirs = indexed.strength(), other.strength()
        if ours != theirs:
            return ours < theirs
        pair = self._reader.pair
        return as_written(pair(indexed)) < as_written(pair(other))

    def indexed(self, slot: int) -> IndexedPair:
        """The pair in a slot."""
        return self._pairs.indexed(slot)._replace(id=self._ids[slot])

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

    def opposites(self) -> Iterator[tuple[int, int]]:
        """The slots of two pairs that prefer opposite answers, for each of them."""
        return self._ids.find_all(self._reversed)

    def arrived(self, slots: Iterable[int]) -> Iterator[PairColumns]:
        """The pairs in these slots, in the order of the input."""
        for some in some_at_a_time(self._pairs.arrived(slots)):
            block = self._pairs.of(some)
            block.set_digests("id", b"".join(map(self._ids.__getitem__, some)))
            yield block
