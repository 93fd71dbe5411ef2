"""Many entries in compact arrays, for sieves that must see all before they can decide."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice
from math import isnan, nan
from typing import Any

from prefpairs.stages.pair_entry import DIGEST, Entry

_NONE = bytes(DIGEST)
_RUN = 1 << 15


class Store:
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
        "_seals",
    )

    def __init__(self, digests: Iterable[str]) -> None:
        self._digests = {name: bytearray() for name in sorted(set(digests))}
        self._numbers = array("Q")
        self._places = array("Q")
        self._lengths = array("I")
        self._gaps = array("d")
        self._chosen_scores = array("d")
        self._rejected_scores = array("d")
        self._seals = array("I")

    def __len__(self) -> int:
        """The number of entries."""
        return len(self._numbers)

    def add(self, entry: Entry) -> int:
        """Put an entry at the end, and say where that is."""
        self._numbers.append(entry.number)
        self._places.append(entry.place)
        self._lengths.append(entry.length)
        self._gaps.append(_known(entry.gap))
        self._chosen_scores.append(_known(entry.chosen_score))
        self._rejected_scores.append(_known(entry.rejected_score))
        self._seals.append(entry.seal)
        for name in self._digests:
            self._digests[name] += getattr(entry, name) or _NONE
        return len(self._numbers) - 1

    def replace(self, slot: int, entry: Entry) -> None:
        """Put an entry where another one stands."""
        self._numbers[slot] = entry.number
        self._places[slot] = entry.place
        self._lengths[slot] = entry.length
        self._gaps[slot] = _known(entry.gap)
        self._chosen_scores[slot] = _known(entry.chosen_score)
        self._rejected_scores[slot] = _known(entry.rejected_score)
        self._seals[slot] = entry.seal
        for name, column in self._digests.items():
            column[DIGEST * slot : DIGEST * (slot + 1)] = getattr(entry, name) or _NONE

    def entry(self, slot: int, identity: bytes = b"") -> Entry:
        """The entry that stands there; its id can be given where it is kept elsewhere."""
        digest = self.digest
        return Entry(
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
            self._seals[slot],
        )

    def gap(self, slot: int) -> float | None:
        """The gap of an entry, where it is known."""
        return _or_none(self._gaps[slot])

    def chosen_score(self, slot: int) -> float | None:
        """The chosen score of an entry, where it is known."""
        return _or_none(self._chosen_scores[slot])

    def digest(self, name: str, slot: int) -> bytes:
        """One digest of an entry, or nothing where it had none, or none is kept."""
        column = self._digests.get(name)
        if column is None:
            return b""
        digest = bytes(column[DIGEST * slot : DIGEST * (slot + 1)])
        return b"" if digest == _NONE else digest

    def arrived(self, slots: Iterable[int]) -> Iterator[int]:
        """The slots in the order in which their entries arrived."""
        return in_order(slots, self._numbers.__getitem__)

    def entries(self, slots: Iterable[int]) -> Iterator[Entry]:
        """The entries that stand there."""
        return map(self.entry, slots)

    def keep(self, slots: Iterable[int]) -> None:
        """Let all other entries go; those that stay stand in the order given."""
        kept = array("I", slots)
        for column in self._columns:
            old = getattr(self, column)
            setattr(self, column, array(old.typecode, (old[slot] for slot in kept)))
        for name, digests in self._digests.items():
            self._digests[name] = bytearray().join(
                digests[DIGEST * slot : DIGEST * (slot + 1)] for slot in kept
            )


def in_order(slots: Iterable[int], key: Callable[[int], Any]) -> Iterator[int]:
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
