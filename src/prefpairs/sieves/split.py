"""split: each key on one side, by a draw that hangs on the seed and the key alone."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from xxhash import xxh3_128_digest

from prefpairs.records.identity import draw
from prefpairs.records.pair import OTHER_GROUP, Pair
from prefpairs.records.path import MISSING, look_up
from prefpairs.records.wire import encode_sorted
from prefpairs.report import Stage
from prefpairs.sieves.entry import Entry
from prefpairs.sieves.numbering import Numbering
from prefpairs.sieves.protocol import Texts
from prefpairs.sieves.sample import DRAWS, bound_of
from prefpairs.sieves.store import Store, in_order

TRAIN, VAL, TEST = range(3)
SIDES = ("train", "val", "test")

_META = "meta."
_DEVIATIONS, _PART = 5, 0.75
"""A side that has so much less than its share was not drawn from fresh keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Which share of the keys stands on which side."""

    val_fraction: float = 0.2
    test_fraction: float = 0.0
    by: str = "prompt"
    seed: int = 0
    exact: bool = False

    name = "split"

    @property
    def holds_back(self) -> bool:
        """Exact shares are known only when all keys are."""
        return self.exact

    @property
    def needs(self) -> frozenset[str]:
        """The digests it looks at."""
        return frozenset({"id", "prompt", "other_prompt"})

    @property
    def sides(self) -> list[str]:
        """The sides that are asked for."""
        return [side for side, share in zip(SIDES, self._shares, strict=True) if share]

    @property
    def _shares(self) -> tuple[float, float, float]:
        val, test = Fraction(repr(self.val_fraction)), Fraction(repr(self.test_fraction))
        return float(1 - val - test), self.val_fraction, self.test_fraction

    @property
    def _rest(self) -> int:
        """The side that gets what the others leave: train, if it is asked for."""
        return next(side for side in (TRAIN, TEST, VAL) if self._shares[side])

    def sides_of(
        self, entries: Iterable[Entry], texts: Texts, stage: Stage
    ) -> Iterator[tuple[Entry, str]]:
        """Each entry with its side, as they came."""
        keyed = self._keyed(entries, texts, stage)
        if self.exact:
            yield from self._exactly(keyed, stage)
            return
        numbering, counts = Numbering(), Counter[int]()
        for entry, keys in keyed:
            sides = {self._side(key) for key in keys}
            for key in keys:
                if numbering.number_of(key) == counts.total():
                    counts[self._side(key)] += 1
            if len(sides) > 1:
                stage.dropped["prompts_apart"] += 1
            else:
                yield entry, SIDES[sides.pop()]
        self._notice_odd_shares(counts, stage)

    def _side(self, key: bytes) -> int:
        """The sides lie at the two ends of the draws: a test side moves nothing out of val."""
        drawn = draw(self.seed, "split", key)
        if drawn < bound_of(self.val_fraction):
            return VAL
        return TEST if drawn >= DRAWS - bound_of(self.test_fraction) else self._rest

    def _keyed(
        self, entries: Iterable[Entry], texts: Texts, stage: Stage
    ) -> Iterator[tuple[Entry, list[bytes]]]:
        """Each entry with the keys that must not stand on two sides: one, or one an answer."""
        for entry in entries:
            if self.by == "prompt":
                keys = [entry.prompt, entry.other_prompt] if entry.other_prompt else [entry.prompt]
            else:
                keys = _keys_at(texts.pair(entry), self.by)
            if keys:
                yield entry, keys
            else:
                stage.dropped["no_key"] += 1

    def _notice_odd_shares(self, counts: Counter[int], stage: Stage) -> None:
        """Tell the input of a split that is one side of an earlier one with the same seed."""
        keys = counts.total()
        for side, share in enumerate(self._shares):
            due = share * keys
            unlikely = due - counts[side] > _DEVIATIONS * sqrt(due * (1 - share))
            if unlikely and counts[side] < _PART * due:
                stage.notes.append(
                    f"{SIDES[side]} got {counts[side]:,} of {keys:,} keys where {share:.1%} were "
                    "due: this input seems to be one side of an earlier split with seed "
                    f"{self.seed}; another --seed draws afresh"
                )
                return

    def _exactly(
        self, keyed: Iterable[tuple[Entry, list[bytes]]], stage: Stage
    ) -> Iterator[tuple[Entry, str]]:
        """The shares of pairs that come nearest, keys taken in the order of their draws.

        Keys that share a pair go together, so that no pair is lost.
        """
        store, numbering, joined = Store({"id"}), Numbering(), _Joined()
        firsts, draws = array("I"), array("Q")
        for entry, keys in keyed:
            numbers = [numbering.number_of(key) for key in keys]
            for number, key in zip(numbers, keys, strict=True):
                if number == len(draws):
                    draws.append(draw(self.seed, "split", key))
                    joined.add()
            joined.join(numbers[0], numbers[-1])
            store.add(entry)
            firsts.append(numbers[0])
        sizes = array("I", bytes(4 * len(draws)))
        for number in firsts:
            sizes[joined.root(number)] += 1
        side_of = self._fill_sides(sizes, draws)
        for slot in range(len(store)):
            yield store.entry(slot), SIDES[side_of[joined.root(firsts[slot])]]

    def _fill_sides(self, sizes: "array[int]", draws: "array[int]") -> bytearray:
        """The side of each key: val from the smallest draws up, test from the largest down."""
        rest = self._rest
        side_of = bytearray([rest]) * len(sizes)
        order = array("I", in_order(range(len(sizes)), draws.__getitem__))
        pairs, free = sum(sizes), sum(map(bool, sizes))
        for side, keys in ((VAL, order), (TEST, order[::-1])):
            if side == rest:
                continue
            target, filled = self._shares[side] * pairs, 0
            for key in keys:
                after = filled + sizes[key]
                nearer = abs(after - target) < abs(filled - target) or (target and not filled)
                if sizes[key] and nearer and side_of[key] == rest and free > 1:
                    side_of[key] = side
                    filled, free = after, free - 1
        return side_of


class _Joined:
    """Numbers that go together: each leads to the root of its kind."""

    def __init__(self) -> None:
        self._above = array("I")

    def add(self) -> None:
        self._above.append(len(self._above))

    def root(self, number: int) -> int:
        while (above := self._above[number]) != number:
            self._above[number] = self._above[above]
            number = above
        return number

    def join(self, one: int, other: int) -> None:
        self._above[self.root(other)] = self.root(one)


def _keys_at(pair: Pair, path: str) -> list[bytes]:
    """The digests of what stands at a path; where the answers differ in it, one an answer."""
    row = pair._asdict()
    meta = row["meta"] or {}
    if path == "group":
        values = [pair.group, meta.get(OTHER_GROUP, pair.group)]
    elif (value := look_up(row, path)) is not MISSING:
        values = [value]
    elif path.startswith(_META):
        name = path.removeprefix(_META)
        values = [look_up(meta, f"{side}_{name}") for side in ("chosen", "rejected")]
    else:
        return []
    if any(value is MISSING or value is None for value in values):
        return []
    return list(dict.fromkeys(xxh3_128_digest(encode_sorted(value)) for value in values))
