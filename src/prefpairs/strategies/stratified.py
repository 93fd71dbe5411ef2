"""stratified: good answers against bad ones, the middle omitted."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import nsmallest
from itertools import islice
from math import isqrt

from prefpairs.model.identity import draw
from prefpairs.model.number import gap_between
from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.options import PairOptions

_FIRST_TRIES = 16


class HashRing:
    """Some places of a larger list, each with a score and an answer."""

    def __init__(
        self,
        places: Sequence[int],
        scores: Sequence[float],
        answer_of: Callable[[int], bytes],
        hash_of: Callable[[int], int],
    ) -> None:
        ranked = sorted((hash_of(place), place) for place in places)
        self._answer_of = answer_of
        self._hashes = array("Q", (number for number, _ in ranked))
        self._places = array("Q", (place for _, place in ranked))
        self._rank_of = {place: rank for rank, place in enumerate(self._places)}
        self._by_score = array(
            "Q", sorted(places, key=lambda place: (scores[place], answer_of(place)))
        )
        self._jumps = _jumps([answer_of(place) for place in self._places] * 2)
        self._jumps_by_score = _jumps([answer_of(place) for place in self._by_score])
        self.scores = array("d", (scores[place] for place in self._by_score))
        """The scores of all places, lowest first."""

    def draw(
        self, number: int, answer: bytes, fitting: range, fits: Callable[[int], bool], count: int
    ) -> list[int]:
        """The first `count` places from a hash on that fit and hold another answer.

        `fitting` is the range of `scores` that fit; `fits` says the same of one place.
        """
        size, start = len(self._places), bisect_left(self._hashes, number)
        others = self._others(self._places, self._jumps, range(start, start + size), answer)
        found = list(islice(filter(fits, islice(others, _FIRST_TRIES * count)), count))
        if len(found) == count:
            return found
        few = isqrt(size * count)
        by_score = self._others(self._by_score, self._jumps_by_score, fitting, answer)
        listed = list(islice(by_score, few + 1))
        if len(listed) > few:  # so many fit that the ring soon comes to one
            return found + list(islice(filter(fits, others), count - len(found)))
        return nsmallest(count, listed, key=lambda place: (self._rank_of[place] - start) % size)

    def _others(
        self, places: Sequence[int], jumps: Sequence[int], ranks: range, answer: bytes
    ) -> Iterator[int]:
        """The places at some ranks that hold another answer; runs of this one are jumped over."""
        size, rank = len(places), ranks.start
        while rank < ranks.stop:
            place = places[rank % size]
            if self._answer_of(place) != answer:
                yield place
                rank += 1
            else:
                rank += jumps[rank % size]


def _jumps(answers: Sequence[bytes]) -> "array[int]":
    """For each rank, how many ranks on the next other answer stands, or the end."""
    jumps = array("Q", [1]) * len(answers)
    for rank in range(len(answers) - 2, -1, -1):
        if answers[rank] == answers[rank + 1]:
            jumps[rank] = jumps[rank + 1] + 1
    return jumps


def stratified(group: Group, options: PairOptions) -> AllowedPairs:
    """Pair what scores high with what scores low, widest gap first.

    >>> group = Group([0.9, 0.7, 0.5, 0.4], [b"a", b"b", b"c", b"d"])
    >>> list(stratified(group, PairOptions()))
    [(0, 3), (1, 3)]
    """
    highs = bisect_right(group.scores, -options.high_threshold, key=lambda score: -score)
    lows = bisect_left(group.scores, -options.low_threshold, key=lambda score: -score)
    rejected = range(lows, len(group.scores))
    return AllowedPairs(group, options, chosen=range(highs), rejected=rejected)


def stratified_across_prompts(
    scores: Sequence[float],
    answer_of: Callable[[int], bytes],
    identity_of: Callable[[int], bytes],
    options: PairOptions,
) -> Iterator[Positions]:
    """Pair each high of the whole input with a few lows of any prompt.

    The lows are ranked once, by hash; each high takes those that follow its own hash. So the
    work grows with the pairs that come out, not with highs times lows.

    >>> answers = [b"a", b"b", b"c"]
    >>> list(stratified_across_prompts([0.9, 0.5, 0.1], answers.__getitem__,
    ...                                answers.__getitem__, PairOptions()))
    [(0, 2)]
    """

    def hash_of(place: int) -> int:
        return draw(options.seed, "stratified", identity_of(place))

    low = [place for place, score in enumerate(scores) if score <= options.low_threshold]
    ring = HashRing(low, scores, answer_of, hash_of)
    floor = options.min_chosen_score
    for chosen, score in enumerate(scores):
        if score < options.high_threshold or (floor is not None and score < floor):
            continue
        fitting = _fitting(score, ring.scores, options)
        if not fitting:
            continue
        fits = partial(_fits, scores, score, options)
        count = options.rejected_per_chosen
        for rejected in ring.draw(hash_of(chosen), answer_of(chosen), fitting, fits, count):
            yield chosen, rejected


def _fits(scores: Sequence[float], chosen: float, options: PairOptions, rejected: int) -> bool:
    score = scores[rejected]
    if chosen <= score:
        return False
    gap = gap_between(chosen, score)
    return gap >= options.min_gap and (options.max_gap is None or gap <= options.max_gap)


def _fitting(chosen: float, lows: Sequence[float], options: PairOptions) -> range:
    """Which of the low scores, lowest first, are at the right distance."""

    def nearness(low: float) -> float:
        return -gap_between(chosen, low)

    lower = bisect_left(lows, chosen)
    stop = bisect_right(lows, -options.min_gap, 0, lower, key=nearness)
    start = 0
    if options.max_gap is not None:
        start = bisect_left(lows, -options.max_gap, 0, stop, key=nearness)
    return range(start, stop)
