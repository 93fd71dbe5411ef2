"""stratified: good answers against bad ones, the middle left out."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from prefpairs.model.identity import draw
from prefpairs.model.number import gap_between
from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.hash_ring import Ring
from prefpairs.strategies.options import PairOptions


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
    ring = Ring(low, scores, answer_of, hash_of)
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
