"""What changed between two sets of pairs, of which no text is held."""

from array import array
from collections import Counter
from collections.abc import Iterator
from math import fsum
from statistics import median
from typing import Any, Literal, NamedTuple

from prefpairs.model.identity import DIGEST, digest_pair
from prefpairs.model.message import flat_text
from prefpairs.model.number import round_score
from prefpairs.model.pair import Digests, Pair
from prefpairs.stages.digest_table import DigestTable

Kind = Literal["added", "lost", "flipped", "rescored"]
KINDS: tuple[Kind, ...] = ("added", "lost", "flipped", "rescored")
"""What can have become of a pair, if it is not as it was."""

_NUMBERS = 3
"""Gap, chosen score and rejected score."""


class PairSet:
    """The pairs of one side: some 120 bytes each, however long they are."""

    def __init__(self) -> None:
        self.pairs = 0
        self.gaps = array("d")
        self.chosen_chars = array("I")
        self.rejected_chars = array("I")
        self.prompts = DigestTable()
        self.ids = DigestTable()
        self._reversed = bytearray()
        self._numbers = array("d")

    def add(self, pair: Pair, digests: Digests) -> None:
        """Count a pair, and remember what can be compared of it."""
        self.pairs += 1
        if pair.gap is not None:
            self.gaps.append(pair.gap)
        self.chosen_chars.append(len(flat_text(pair.chosen)))
        self.rejected_chars.append(len(flat_text(pair.rejected)))
        self.prompts.number_of(digests.prompt)
        number = self.ids.number_of(bytes.fromhex(pair.id))
        numbers = array("d", map(_known, (pair.gap, pair.chosen_score, pair.rejected_score)))
        if number * DIGEST == len(self._reversed):
            prompt, tools, chosen, rejected = digests
            self._reversed += digest_pair(prompt, tools, rejected, chosen)
            self._numbers += numbers
        elif numbers > self.numbers(number):  # of copies the strongest: not the one that came first
            self._numbers[_NUMBERS * number : _NUMBERS * (number + 1)] = numbers

    def numbers(self, number: int) -> "array[float]":
        """Gap and scores of an id; what is not known is less than all that is."""
        return self._numbers[_NUMBERS * number : _NUMBERS * (number + 1)]

    def reversed_id(self, number: int) -> bytes:
        """The id of the pair that prefers the other answer."""
        return bytes(self._reversed[DIGEST * number : DIGEST * (number + 1)])


def _known(number: float | None) -> float:
    return float("-inf") if number is None else number


class MeanMedian(NamedTuple):
    """Mean and median of numbers; nothing where there are none."""

    mean: float | None
    median: float | None


class PairSetFigures(NamedTuple):
    """What can be said of one side alone."""

    pairs: int
    distinct: int
    prompts: int
    gap: MeanMedian
    chosen_chars: MeanMedian
    rejected_chars: MeanMedian


class Comparison(NamedTuple):
    """What changed: the counts of `pairs` are of distinct ones."""

    before: PairSetFigures
    after: PairSetFigures
    prompts: dict[str, int]
    pairs: dict[str, int]

    @property
    def same(self) -> bool:
        """Whether both sides hold the same pairs with the same scores."""
        return not any(self.pairs[kind] for kind in KINDS)


def compare(before: PairSet, after: PairSet) -> Comparison:
    """Hold one set of pairs against another."""
    fates = Counter(_fate(number, before, after) for number in range(len(before.ids)))
    added = sum(_fate(number, after, before) == "alone" for number in range(len(after.ids)))
    both = sum(after.prompts.find(prompt) >= 0 for prompt in before.prompts)
    return Comparison(
        _traits(before),
        _traits(after),
        {
            "kept": both,
            "lost": len(before.prompts) - both,
            "added": len(after.prompts) - both,
        },
        {
            "kept": fates["kept"] + fates["rescored"],
            "rescored": fates["rescored"],
            "lost": fates["alone"],
            "added": added,
            "flipped": fates["flipped"],
        },
    )


def ids_of(kind: Kind, before: PairSet, after: PairSet) -> Iterator[str]:
    """The ids of the pairs of which that became: what they were, if they are lost."""
    ours, theirs = (before, after) if kind == "lost" else (after, before)
    wanted = "alone" if kind in ("lost", "added") else kind
    for number, name in enumerate(ours.ids):
        if _fate(number, ours, theirs) == wanted:
            yield name.hex()


def _fate(number: int, ours: PairSet, theirs: PairSet) -> str:
    """What a pair of one side is on the other one."""
    there = theirs.ids.find(ours.ids[number])
    if there >= 0:
        return "kept" if ours.numbers(number) == theirs.numbers(there) else "rescored"
    other = ours.reversed_id(number)
    flipped = theirs.ids.find(other) >= 0 and ours.ids.find(other) < 0
    return "flipped" if flipped else "alone"


def _traits(side: PairSet) -> PairSetFigures:
    return PairSetFigures(
        side.pairs,
        len(side.ids),
        len(side.prompts),
        _spread(side.gaps),
        _spread(side.chosen_chars),
        _spread(side.rejected_chars),
    )


def _spread(numbers: "array[Any]") -> MeanMedian:
    """Mean and median, whatever the order in which numbers came."""
    if not numbers:
        return MeanMedian(None, None)
    return MeanMedian(round_score(fsum(numbers) / len(numbers)), round_score(median(numbers)))
