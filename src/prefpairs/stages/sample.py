"""sample: the smallest draws stay. A draw hangs on the seed and the pair, and on nothing else."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice, takewhile
from typing import Self

from prefpairs.errors import UsageError
from prefpairs.ledger import StageCounts
from prefpairs.model.identity import draw
from prefpairs.model.pair import as_written
from prefpairs.option import option, options
from prefpairs.stages.base import StageFiles, Texts
from prefpairs.stages.digest_table import Numbering
from prefpairs.stages.entry_columns import Store, in_order
from prefpairs.stages.pair_entry import Entry, falling

DRAWS = 2**64
"""Draws are below this."""

_END = 2**32 - 1
_FEWEST_PRUNED = 1024


_SAMPLE = "What is drawn"


@options
class Sample:
    """How many pairs stay, and in which order they are written."""

    max_pairs: int | None = option(
        None, metavar="N", least=1, panel=_SAMPLE, help="N pairs, or all if fewer."
    )
    fraction: float | None = option(
        None, metavar="F", least=0, most=1, panel=_SAMPLE, help="Each pair with this chance."
    )
    per_group: int | None = option(
        None, metavar="N", least=1, panel=_SAMPLE, help="At most N pairs of a group."
    )
    order: str = option(
        "input",
        choices=("input", "shuffle", "easy-first", "hard-first"),
        panel=_SAMPLE,
        help="As they come, by draw, or by gap: widest first, or narrowest first. Pairs "
        "without a gap come last.",
    )
    seed: int = option(0, metavar="N", panel=_SAMPLE, help="Seed of the draws.")

    name = "sample"
    benchmarks = ()
    tokenizers = ()

    def check(self) -> None:
        """Raise where nothing is asked for."""
        if (self.max_pairs, self.fraction, self.per_group, self.order) == (*[None] * 3, "input"):
            hint = "--max-pairs N, --fraction F, --per-group N or --order"
            raise UsageError("sample of what size?", hint)

    def with_files(self, _: StageFiles) -> Self:
        """The same: it names no files."""
        return self

    @property
    def holds_back(self) -> bool:
        """Only a fraction can be decided pair by pair."""
        return (self.max_pairs, self.per_group, self.order) != (None, None, "input")

    @property
    def picks(self) -> bool:
        """A number of pairs stays, however many there are."""
        return (self.max_pairs, self.per_group) != (None, None)

    @property
    def needs(self) -> frozenset[str]:
        """The digests it looks at."""
        return frozenset({"id"} if self.per_group is None else {"id", "group"})

    def sieve(
        self, entries: Iterable[Entry], texts: Texts, stage: StageCounts, wanted: frozenset[str]
    ) -> Iterator[Entry]:
        """The entries that are drawn."""
        if self.fraction is not None:
            entries = self._below_fraction(entries, stage)
        if not self.holds_back:
            yield from entries
            return
        drawn = _Drawn(Store(wanted | self.needs), texts)
        for entry in entries:
            drawn.add(entry, draw(self.seed, "sample", entry.id))
            if self.max_pairs is not None and self.per_group is None:
                self._prune(drawn, self.max_pairs, stage)
        ordered = self._ordered(drawn.store, self._slots(drawn, stage))
        for number, entry in enumerate(drawn.store.entries(ordered)):
            yield entry._replace(number=number)  # whatever comes next keeps this order

    def _below_fraction(self, entries: Iterable[Entry], stage: StageCounts) -> Iterator[Entry]:
        bound = bound_of(self.fraction or 0.0)
        for entry in entries:
            if draw(self.seed, "sample", entry.id) < bound:
                yield entry
            else:
                stage.dropped["not_drawn"] += 1

    @staticmethod
    def _prune(drawn: "_Drawn", most: int, stage: StageCounts) -> None:
        """Let go what cannot be among the smallest any more, so that memory stays bounded."""
        if len(drawn.store) >= max(2 * most, _FEWEST_PRUNED):
            stage.dropped["not_drawn"] += len(drawn.store) - most
            drawn.keep(drawn.smallest(range(len(drawn.store)), most))

    def _slots(self, drawn: "_Drawn", stage: StageCounts) -> Sequence[int]:
        slots: Sequence[int] = range(len(drawn.store))
        if self.per_group is not None:
            slots = array("I")
            for group in _groups(drawn.store):
                slots.extend(drawn.smallest(group, self.per_group))
            stage.dropped["over_per_group"] += len(drawn.store) - len(slots)
        if self.max_pairs is not None and len(slots) > self.max_pairs:
            stage.dropped["not_drawn"] += len(slots) - self.max_pairs
            slots = drawn.smallest(slots, self.max_pairs)
        return slots

    def _ordered(self, store: Store, slots: Sequence[int]) -> Iterator[int]:
        """The slots in the order asked for; what ties is told apart by its id."""
        if self.order == "input":
            return store.arrived(slots)
        return in_order(store.arrived(slots), partial(self._rank, store))

    def _rank(self, store: Store, slot: int) -> tuple[float, bytes]:
        identity, gap = store.digest("id", slot), store.gap(slot)
        if self.order == "shuffle":
            return draw(self.seed, "shuffle", identity), identity
        return (falling(gap) if self.order == "easy-first" else _rising(gap)), identity


def bound_of(share: float) -> int:
    """Draws below this are the share, which counts as the decimal number that was typed.

    >>> bound_of(0.5) == 2**63, bound_of(1.0) == 2**64
    (True, True)
    """
    return int(Fraction(repr(share)) * DRAWS)


def _rising(gap: float | None) -> float:
    return float("inf") if gap is None else gap


class _Drawn:
    """Stored entries and their draws."""

    def __init__(self, store: Store, texts: Texts) -> None:
        self.store = store
        self._texts = texts
        self._draws = array("Q")

    def add(self, entry: Entry, drawn: int) -> None:
        self.store.add(entry)
        self._draws.append(drawn)

    def smallest(self, slots: Sequence[int], count: int) -> Sequence[int]:
        """The slots of the smallest draws.

        Copies of a pair draw the same; where only some of them stay, their text decides.
        """
        if len(slots) <= count:
            return slots
        ordered = in_order(slots, self._draws.__getitem__)
        smallest = array("I", islice(ordered, count))
        last = self._draws[smallest[-1]]
        more = list(takewhile(lambda slot: self._draws[slot] == last, ordered))
        if more:
            copies = more + [smallest.pop() for slot in smallest[::-1] if self._draws[slot] == last]
            copies.sort()
            copies.sort(key=lambda slot: as_written(self._texts.pair(self.store.entry(slot))))
            smallest.extend(copies[: count - len(smallest)])
        return smallest

    def keep(self, slots: Sequence[int]) -> None:
        self.store.keep(slots)
        self._draws = array("Q", (self._draws[slot] for slot in slots))


def _groups(store: Store) -> Iterator[list[int]]:
    """The slots of each group."""
    numbering = Numbering()
    heads, following = array("I"), array("I")
    for slot in range(len(store)):
        number = numbering.number_of(store.digest("group", slot))
        if number == len(heads):
            heads.append(_END)
        following.append(heads[number])
        heads[number] = slot
    for head in heads:
        members, slot = [], head
        while slot != _END:
            members.append(slot)
            slot = following[slot]
        yield members
