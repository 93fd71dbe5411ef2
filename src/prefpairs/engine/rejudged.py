"""Answers that were judged more than once: which order they have to others, their scores disagree.

Rows without an index do not tell two rollouts that say the same from one that was judged twice.
"""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate
from math import inf

Judged = tuple[bytes, float]
"""The digest of an answer, and one of its scores."""


def judged_both_ways(judged: Iterable[Judged], min_gap: float) -> int:
    """How many answers of a group beat another one by one score, and lose to it by another.

    >>> judged_both_ways([(b"a", 1.0), (b"a", 0.0), (b"b", 0.5)], 0)
    1
    >>> judged_both_ways([(b"a", 1.0), (b"a", 0.9), (b"b", 0.5), (b"b", 0.4)], 0)
    0
    """
    spans: dict[bytes, tuple[float, float]] = {}
    for said, score in judged:
        least, most = spans.get(said, (score, score))
        spans[said] = min(least, score), max(most, score)
    if all(least == most for least, most in spans.values()):
        return 0
    ordered = sorted(spans.values())
    leasts = [least for least, _ in ordered]
    gap = min_gap * (1 - 1e-9)  # "more than" this is "at least" the gap, noise of floats aside
    highest = [*accumulate(ordered, _two_highest, initial=(-inf, -inf))]

    def both_ways(least: float, most: float) -> bool:
        beaten = bisect_left(leasts, most - gap)  # the answers that it beats by one score
        first, second = highest[beaten]
        own = least < most - gap and first == most
        return (second if own else first) > least + gap

    return sum(both_ways(least, most) for least, most in ordered if least < most)


def _two_highest(highest: tuple[float, float], span: tuple[float, float]) -> tuple[float, float]:
    """The two highest scores of the answers so far, one of each."""
    first, second = highest
    _, most = span
    return (most, first) if most > first else (first, max(second, most))
