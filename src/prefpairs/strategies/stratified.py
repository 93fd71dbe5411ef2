"""stratified: pairs answers of high score with answers of low score, and omits the middle."""

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


def stratified(group: Group, options: PairOptions) -> AllowedPairs:
    """Pair high scores with low scores, widest gap first.

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
    """Pair each high-scoring answer of the whole input with a few low-scoring ones of any prompt.

    The low-scoring answers are ranked once, by hash; each high-scoring one takes those that follow
    its own hash. So the work grows with the number of pairs, not with highs times lows.

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
    """The range of low scores, lowest first, whose gap is within the bounds."""

    def nearness(low: float) -> float:
        return -gap_between(chosen, low)

    lower = bisect_left(lows, chosen)
    stop = bisect_right(lows, -options.min_gap, 0, lower, key=nearness)
    start = 0
    if options.max_gap is not None:
        start = bisect_left(lows, -options.max_gap, 0, stop, key=nearness)
    return range(start, stop)


class HashRing:
    """Candidates in the order of their hashes, as a ring: a fair draw that costs a few steps.

    A draw takes the candidates that follow its own hash. Mostly they are found at once. If not,
    because most candidates have the same answer or a gap outside the bounds, the candidates that
    fit are listed by score instead, if they are few.
    """

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
        """The scores of all candidates, lowest first."""

    def draw(
        self, number: int, answer: bytes, fitting: range, fits: Callable[[int], bool], count: int
    ) -> list[int]:
        """The first `count` candidates from a hash on that fit and have a different answer.

        `fitting` is the range of `scores` that fit; `fits` is the same for one candidate.
        """
        size, start = len(self._places), bisect_left(self._hashes, number)
        others = self._others(self._places, self._jumps, range(start, start + size), answer)
        found = list(islice(filter(fits, islice(others, _FIRST_TRIES * count)), count))
        if len(found) == count:
            return found
        few = isqrt(size * count)
        by_score = self._others(self._by_score, self._jumps_by_score, fitting, answer)
        listed = list(islice(by_score, few + 1))
        if len(listed) > few:  # enough fit that the ring soon reaches one
            return found + list(islice(filter(fits, others), count - len(found)))
        return nsmallest(count, listed, key=lambda place: (self._rank_of[place] - start) % size)

    def _others(
        self, places: Sequence[int], jumps: Sequence[int], ranks: range, answer: bytes
    ) -> Iterator[int]:
        """The candidates at some ranks with a different answer; runs of this one are skipped."""
        size, rank = len(places), ranks.start
        while rank < ranks.stop:
            place = places[rank % size]
            if self._answer_of(place) != answer:
                yield place
                rank += 1
            else:
                rank += jumps[rank % size]


def _jumps(answers: Sequence[bytes]) -> "array[int]":
    """For each rank, the distance to the next rank with a different answer, or to the end."""
    jumps = array("Q", [1]) * len(answers)
    for rank in range(len(answers) - 2, -1, -1):
        if answers[rank] == answers[rank + 1]:
            jumps[rank] = jumps[rank + 1] + 1
    return jumps
