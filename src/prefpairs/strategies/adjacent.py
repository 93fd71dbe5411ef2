"""adjacent: neighbouring scores, the finest distinctions that the data makes."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import groupby

from prefpairs.records.number import gap_between
from prefpairs.strategies.allowed import AllowedPairs, Group, PairOptions, Positions


def adjacent(group: Group, options: PairOptions) -> Iterator[Positions]:
    """Pair each score with the next lower one that it may meet, once a score.

    >>> list(adjacent(Group([1.0, 1.0, 0.5, 0.0], [b"a", b"b", b"c", b"d"]), PairOptions()))
    [(0, 2), (2, 3)]
    """
    start = 0
    for _, level in groupby(group.scores):
        end = start + len(list(level))
        pair = _nearest(group, options, range(start, end))
        if pair is not None:
            yield pair
        start = end


def _nearest(group: Group, options: PairOptions, level: range) -> Positions | None:
    """The pair of this score with the nearest lower one; by place where several are as near."""
    scores, score = group.scores, group.scores[level.start]
    start = bisect_left(
        scores, options.min_gap, level.stop, key=lambda lower: gap_between(score, lower)
    )
    while start < len(scores):
        end = bisect_right(scores, -scores[start], start, key=lambda lower: -lower)
        pair = AllowedPairs(group, options, chosen=level, rejected=range(start, end)).widest()
        if pair is not None:
            return pair
        start = end
    return None
