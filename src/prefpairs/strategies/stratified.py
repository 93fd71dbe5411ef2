"""stratified: good answers against bad ones, the middle left out."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from prefpairs.records.identity import draw
from prefpairs.records.number import gap_between
from prefpairs.strategies.allowed import AllowedPairs, Group, PairOptions, Positions


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
    low = [place for place, score in enumerate(scores) if score <= options.low_threshold]
    ring = _Ring(low, lambda place: draw(options.seed, "stratified", identity_of(place)))
    low_scores = sorted(scores[place] for place in low)
    floor = options.min_chosen_score
    for chosen, score in enumerate(scores):
        if score < options.high_threshold or (floor is not None and score < floor):
            continue
        if not _any_fits(score, low_scores, options):
            continue
        fitting = (
            place
            for place in ring.from_hash(draw(options.seed, "stratified", identity_of(chosen)))
            if _fits(score, scores[place], options) and answer_of(place) != answer_of(chosen)
        )
        for rejected in islice(fitting, options.rejected_per_chosen):
            yield chosen, rejected


class _Ring:
    """Places in the order of their hashes, without an end."""

    def __init__(self, places: Sequence[int], hash_of: Callable[[int], int]) -> None:
        ranked = sorted((hash_of(place), place) for place in places)
        self._hashes = array("Q", (number for number, _ in ranked))
        self._places = array("Q", (place for _, place in ranked))

    def from_hash(self, number: int) -> Iterator[int]:
        """Every place once, from the first whose hash is not below a number."""
        start = bisect_left(self._hashes, number)
        count = len(self._places)
        for rank in range(start, start + count):
            yield self._places[rank % count]


def _fits(chosen: float, rejected: float, options: PairOptions) -> bool:
    gap = gap_between(chosen, rejected)
    widest = options.max_gap
    return chosen > rejected and gap >= options.min_gap and (widest is None or gap <= widest)


def _any_fits(chosen: float, low_scores: Sequence[float], options: PairOptions) -> bool:
    """Whether some low is at the right distance, so that no ring is walked for nothing."""
    at = bisect_right(low_scores, -options.min_gap, key=lambda low: -gap_between(chosen, low))
    return any(_fits(chosen, low, options) for low in low_scores[max(at - 1, 0) : at])
