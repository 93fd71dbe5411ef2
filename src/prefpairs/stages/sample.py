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
from prefpairs.stages.base import IndexedPair, PairReader, StageFiles, descending
from prefpairs.stages.digest_table import DigestTable
from prefpairs.stages.pair_columns import PairColumns, sorted_slots

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

    def select(
        self,
        pairs: Iterable[IndexedPair],
        reader: PairReader,
        stage: StageCounts,
        wanted: frozenset[str],
    ) -> Iterator[IndexedPair]:
        """The pairs that are drawn."""
        if self.fraction is not None:
            pairs = self._below_fraction(pairs, stage)
        if not self.holds_back:
            yield from pairs
            return
        drawn = _Drawn(PairColumns(wanted | self.needs), reader)
        for indexed in pairs:
            drawn.add(indexed, draw(self.seed, "sample", indexed.id))
            if self.max_pairs is not None and self.per_group is None:
                self._prune(drawn, self.max_pairs, stage)
        ordered = self._ordered(drawn.columns, self._slots(drawn, stage))
        for number, indexed in enumerate(drawn.columns.pairs(ordered)):
            yield indexed._replace(number=number)  # whatever comes next keeps this order

    def _below_fraction(
        self, pairs: Iterable[IndexedPair], stage: StageCounts
    ) -> Iterator[IndexedPair]:
        bound = bound_of(self.fraction or 0.0)
        for indexed in pairs:
            if draw(self.seed, "sample", indexed.id) < bound:
                yield indexed
            else:
                stage.dropped["not_drawn"] += 1

    @staticmethod
    def _prune(drawn: "_Drawn", most: int, stage: StageCounts) -> None:
        """Let go what cannot be among the smallest any more, so that memory stays bounded."""
        if len(drawn.columns) >= max(2 * most, _FEWEST_PRUNED):
            stage.dropped["not_drawn"] += len(drawn.columns) - most
            drawn.keep(drawn.smallest(range(len(drawn.columns)), most))

    def _slots(self, drawn: "_Drawn", stage: StageCounts) -> Sequence[int]:
        slots: Sequence[int] = range(len(drawn.columns))
        if self.per_group is not None:
            slots = array("I")
            for group in _groups(drawn.columns):
                slots.extend(drawn.smallest(group, self.per_group))
            stage.dropped["over_per_group"] += len(drawn.columns) - len(slots)
        if self.max_pairs is not None and len(slots) > self.max_pairs:
            stage.dropped["not_drawn"] += len(slots) - self.max_pairs
            slots = drawn.smallest(slots, self.max_pairs)
        return slots

    def _ordered(self, columns: PairColumns, slots: Sequence[int]) -> Iterator[int]:
        """The slots in the order asked for; what ties is told apart by its id."""
        if self.order == "input":
            return columns.arrived(slots)
        return sorted_slots(columns.arrived(slots), partial(self._rank, columns))

    def _rank(self, columns: PairColumns, slot: int) -> tuple[float, bytes]:
        identity, gap = columns.digest("id", slot), columns.gap(slot)
        if self.order == "shuffle":
            return draw(self.seed, "shuffle", identity), identity
        return (descending(gap) if self.order == "easy-first" else _rising(gap)), identity


def bound_of(share: float) -> int:
    """Draws below this are the share, which counts as the decimal number that was typed.

    >>> bound_of(0.5) == 2**63, bound_of(1.0) == 2**64
    (True, True)
    """
    return int(Fraction(repr(share)) * DRAWS)


def _rising(gap: float | None) -> float:
    return float("inf") if gap is None else gap


class _Drawn:
    """Stored pairs and their draws."""

    def __init__(self, columns: PairColumns, reader: PairReader) -> None:
        self.columns = columns
        self._reader = reader
        self._draws = array("Q")

    def add(self, indexed: IndexedPair, drawn: int) -> None:
        self.columns.add(indexed)
        self._draws.append(drawn)

    def smallest(self, slots: Sequence[int], count: int) -> Sequence[int]:
        """The slots of the smallest draws.

        Copies of a pair draw the same; where only some of them stay, their text decides.
        """
        if len(slots) <= count:
            return slots
        ordered = sorted_slots(slots, self._draws.__getitem__)
        smallest = array("I", islice(ordered, count))
        last = self._draws[smallest[-1]]
        more = list(takewhile(lambda slot: self._draws[slot] == last, ordered))
        if more:
            copies = more + [smallest.pop() for slot in smallest[::-1] if self._draws[slot] == last]
            copies.sort()
            copies.sort(key=lambda slot: as_written(self._reader.pair(self.columns.indexed(slot))))
            smallest.extend(copies[: count - len(smallest)])
        return smallest

    def keep(self, slots: Sequence[int]) -> None:
        self.columns.keep(slots)
        self._draws = array("Q", (self._draws[slot] for slot in slots))


def _groups(columns: PairColumns) -> Iterator[list[int]]:
    """The slots of each group."""
    numbering = DigestTable()
    heads, following = array("I"), array("I")
    for slot in range(len(columns)):
        number = numbering.number_of(columns.digest("group", slot))
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
