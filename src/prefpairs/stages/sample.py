"""sample: keeps the pairs with the smallest draws. A draw depends only on the seed and the pair."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice, takewhile
from math import fsum
from typing import Self

from prefpairs.errors import OptionNeeds, UsageError
from prefpairs.ledger import StageCounts
from prefpairs.model.identity import draw, draws
from prefpairs.model.pair import as_written
from prefpairs.option import option, options
from prefpairs.stages.base import PairReader, StageFiles, descending
from prefpairs.stages.digest_table import DigestTable
from prefpairs.stages.pair_columns import PairColumns, sorted_slots

DRAWS = 2**64
"""Draws are below this."""

_END = 2**32 - 1
_FEWEST_PRUNED = 1024

_SAMPLE = "Sampling"
_BY_GAP = ("easy-first", "hard-first")


@options
class Sample:
    """How many pairs stay, and the order in which they are written."""

    max_pairs: int | None = option(
        None, metavar="N", least=1, panel=_SAMPLE, help="Draw N pairs, or all if there are fewer."
    )
    fraction: float | None = option(
        None,
        metavar="F",
        least=0,
        most=1,
        panel=_SAMPLE,
        help="Draw each pair with this probability.",
    )
    per_group: int | None = option(
        None, metavar="N", least=1, panel=_SAMPLE, help="Draw at most N pairs of each group."
    )
    order: str = option(
        "input",
        choices=("input", "shuffle", "easy-first", "hard-first"),
        panel=_SAMPLE,
        help="Order of the output: as in the input, random, or by gap, widest or narrowest "
        "first. Pairs without a gap come last.",
    )
    per: str = option(
        "pair",
        choices=("pair", "group"),
        panel=_SAMPLE,
        help="easy-first and hard-first: order by the gap of each pair, or by the average gap of "
        "its group, whose pairs then stay together.",
    )
    seed: int = option(0, metavar="N", panel=_SAMPLE, help="Seed of random draws.")

    name = "sample"
    benchmarks = ()
    tokenizers = ()

    def check(self) -> None:
        """Raise if no option has any effect."""
        if (self.max_pairs, self.fraction, self.per_group, self.order) == (*[None] * 3, "input"):
            hint = "--max-pairs N, --fraction F, --per-group N or --order"
            raise UsageError("sample needs a size or an order", hint)
        if self.per == "group" and self.order not in _BY_GAP:
            raise OptionNeeds("--per group", "--order easy-first or hard-first")

    def with_files(self, _: StageFiles) -> Self:
        """The same stage: it names no files."""
        return self

    @property
    def holds_back(self) -> bool:
        """Whether pairs are collected first; only a fraction is decided pair by pair."""
        return (self.max_pairs, self.per_group, self.order) != (None, None, "input")

    @property
    def picks(self) -> bool:
        """Whether a number of pairs stays, however many there are."""
        return (self.max_pairs, self.per_group) != (None, None)

    @property
    def needs(self) -> frozenset[str]:
        """The digests that it uses."""
        by_group = self.per_group is not None or self.per == "group"
        return frozenset({"id", "group"} if by_group else {"id"})

    def select(
        self,
        blocks: Iterable[PairColumns],
        reader: PairReader,
        counts: StageCounts,
        wanted: frozenset[str],
    ) -> Iterator[PairColumns]:
        """The pairs that are drawn."""
        wanted |= self.needs
        if self.fraction is not None:
            blocks = self._below_fraction(self.fraction, blocks, counts, wanted)
        if not self.holds_back:
            yield from blocks
            return
        drawn = _Drawn(PairColumns(wanted), reader)
        for block in blocks:
            drawn.add(block, draws(self.seed, "sample", block.digests("id")))
            if self.max_pairs is not None and self.per_group is None:
                self._prune(drawn, self.max_pairs, counts)
        number = 0
        for block in drawn.columns.blocks(self._ordered(drawn.columns, self._slots(drawn, counts))):
            block.number_from(number)  # so that later stages keep this order
            number += len(block)
            yield block

    def _below_fraction(
        self,
        fraction: float,
        blocks: Iterable[PairColumns],
        counts: StageCounts,
        wanted: frozenset[str],
    ) -> Iterator[PairColumns]:
        bound = bound_of(fraction)
        for block in blocks:
            drawn = draws(self.seed, "sample", block.digests("id"))
            kept = [slot for slot, number in enumerate(drawn) if number < bound]
            if lost := len(block) - len(kept):
                counts.dropped["not_drawn"] += lost
            yield block.of(kept, wanted)

    @staticmethod
    def _prune(drawn: "_Drawn", most: int, counts: StageCounts) -> None:
        """Drop pairs that can no longer be among the smallest, so that memory stays bounded."""
        if len(drawn.columns) >= max(2 * most, _FEWEST_PRUNED):
            counts.dropped["not_drawn"] += len(drawn.columns) - most
            drawn.keep(drawn.smallest(range(len(drawn.columns)), most))

    def _slots(self, drawn: "_Drawn", counts: StageCounts) -> Sequence[int]:
        slots: Sequence[int] = range(len(drawn.columns))
        if self.per_group is not None:
            slots = array("I")
            for group in _groups(drawn.columns):
                slots.extend(drawn.smallest(group, self.per_group))
            counts.dropped["over_per_group"] += len(drawn.columns) - len(slots)
        if self.max_pairs is not None and len(slots) > self.max_pairs:
            counts.dropped["not_drawn"] += len(slots) - self.max_pairs
            slots = drawn.smallest(slots, self.max_pairs)
        return slots

    def _ordered(self, columns: PairColumns, slots: Sequence[int]) -> Iterator[int]:
        """The slots in the requested order; ties are broken by id."""
        if self.order == "input":
            return columns.arrived(slots)
        rank = partial(self._rank, columns)
        if self.per == "pair":
            return sorted_slots(columns.arrived(slots), rank)
        averages = _average_gaps(columns, slots)

        def rank_of_group(slot: int) -> tuple[float, bytes, float, bytes]:
            group = columns.digest("group", slot)
            return (self._by_gap(averages.get(group)), group, *rank(slot))

        return sorted_slots(columns.arrived(slots), rank_of_group)

    def _rank(self, columns: PairColumns, slot: int) -> tuple[float, bytes]:
        identity = columns.digest("id", slot)
        if self.order == "shuffle":
            return draw(self.seed, "shuffle", identity), identity
        return self._by_gap(columns.gap(slot)), identity

    def _by_gap(self, gap: float | None) -> float:
        return descending(gap) if self.order == "easy-first" else _rising(gap)


def bound_of(share: float) -> int:
    """The bound below which a share of all draws are; the share is exact, as typed in decimal.

    >>> bound_of(0.5) == 2**63, bound_of(1.0) == 2**64
    (True, True)
    """
    return int(Fraction(repr(share)) * DRAWS)


def _average_gaps(columns: PairColumns, slots: Iterable[int]) -> dict[bytes, float]:
    """The average of the known gaps of each group; their order changes nothing."""
    gaps: dict[bytes, array[float]] = {}
    for slot in slots:
        if (gap := columns.gap(slot)) is not None:
            gaps.setdefault(columns.digest("group", slot), array("d")).append(gap)
    return {group: fsum(known) / len(known) for group, known in gaps.items()}


def _rising(gap: float | None) -> float:
    return float("inf") if gap is None else gap


class _Drawn:
    """Pairs and their draws."""

    def __init__(self, columns: PairColumns, reader: PairReader) -> None:
        self.columns = columns
        self._reader = reader
        self._draws = array("Q")

    def add(self, block: PairColumns, drawn: "array[int]") -> None:
        self.columns.extend(block)
        self._draws.extend(drawn)

    def smallest(self, slots: Sequence[int], count: int) -> Sequence[int]:
        """The slots of the smallest draws.

        Copies of a pair have the same draw; if only some of them stay, their text decides which.
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
        self.columns = self.columns.of(slots)
        self._draws = array("Q", (self._draws[slot] for slot in slots))


def _groups(columns: PairColumns) -> Iterator[list[int]]:
    """The slots of each group."""
    table = DigestTable()
    heads, following = array("I"), array("I")
    for slot in range(len(columns)):
        number = table.number_of(columns.digest("group", slot))
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
