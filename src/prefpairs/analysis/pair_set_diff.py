"""What changed between two sets of pairs, without holding their texts."""

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
"""How a pair may differ between the sets."""

_NUMBERS = 3
"""Gap, chosen score and rejected score."""


class PairSet:
    """One set of pairs: about 120 bytes a pair, however long its texts are."""

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
        """Count a pair, and store what is compared."""
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
        elif numbers > self.numbers(number):  # of copies the strongest, whatever their order
            self._numbers[_NUMBERS * number : _NUMBERS * (number + 1)] = numbers

    def numbers(self, number: int) -> "array[float]":
        """The gap and scores of an id; unknown numbers are less than all others."""
        return self._numbers[_NUMBERS * number : _NUMBERS * (number + 1)]

    def reversed_id(self, number: int) -> bytes:
        """The id of the pair that prefers the other answer."""
        return bytes(self._reversed[DIGEST * number : DIGEST * (number + 1)])


def _known(number: float | None) -> float:
    return float("-inf") if number is None else number


class MeanMedian(NamedTuple):
    """The mean and median of numbers, or None if there are none."""

    mean: float | None
    median: float | None


class PairSetFigures(NamedTuple):
    """Figures of one set."""

    pairs: int
    distinct: int
    prompts: int
    gap: MeanMedian
    chosen_chars: MeanMedian
    rejected_chars: MeanMedian


class PairSetDiff(NamedTuple):
    """What changed; `pairs` counts distinct pairs."""

    before: PairSetFigures
    after: PairSetFigures
    prompts: dict[str, int]
    pairs: dict[str, int]

    @property
    def same(self) -> bool:
        """Whether both sets contain the same pairs with the same scores."""
        return not any(self.pairs[kind] for kind in KINDS)


def diff_pair_sets(before: PairSet, after: PairSet) -> PairSetDiff:
    """Compare two sets of pairs."""
    changes = Counter(_change(number, before, after) for number in range(len(before.ids)))
    added = sum(_change(number, after, before) == "alone" for number in range(len(after.ids)))
    both = sum(after.prompts.find(prompt) >= 0 for prompt in before.prompts)
    return PairSetDiff(
        _figures(before),
        _figures(after),
        {
            "kept": both,
            "lost": len(before.prompts) - both,
            "added": len(after.prompts) - both,
        },
        {
            "kept": changes["kept"] + changes["rescored"],
            "rescored": changes["rescored"],
            "lost": changes["alone"],
            "added": added,
            "flipped": changes["flipped"],
        },
    )


def ids_of(kind: Kind, before: PairSet, after: PairSet) -> Iterator[str]:
    """The ids of the pairs that changed in this way; their old ids if they are lost."""
    ours, theirs = (before, after) if kind == "lost" else (after, before)
    wanted = "alone" if kind in ("lost", "added") else kind
    for number, name in enumerate(ours.ids):
        if _change(number, ours, theirs) == wanted:
            yield name.hex()


def _change(number: int, ours: PairSet, theirs: PairSet) -> str:
    """How a pair of one set differs in the other one."""
    there = theirs.ids.find(ours.ids[number])
    if there >= 0:
        return "kept" if ours.numbers(number) == theirs.numbers(there) else "rescored"
    other = ours.reversed_id(number)
    flipped = theirs.ids.find(other) >= 0 and ours.ids.find(other) < 0
    return "flipped" if flipped else "alone"


def _figures(side: PairSet) -> PairSetFigures:
    return PairSetFigures(
        side.pairs,
        len(side.ids),
        len(side.prompts),
        _spread(side.gaps),
        _spread(side.chosen_chars),
        _spread(side.rejected_chars),
    )


def _spread(numbers: "array[Any]") -> MeanMedian:
    """The mean and median, whatever the order of the numbers."""
    if not numbers:
        return MeanMedian(None, None)
    return MeanMedian(round_score(fsum(numbers) / len(numbers)), round_score(median(numbers)))
