"""adjacent: pairs neighbouring scores, the finest distinctions in the data."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.options import PairOptions


def adjacent(group: Group, options: PairOptions) -> Sequence[Positions]:
    """Pair each score once with the next lower one that is allowed, widest gap first.

    >>> list(adjacent(Group([1.0, 1.0, 0.5, 0.0], [b"a", b"b", b"c", b"d"]), PairOptions()))
    [(0, 2), (2, 3)]
    """
    allowed = AllowedPairs(group, options)
    pairs = [_nearest(allowed, list(level)) for _, level in _levels(allowed)]
    found = [pair for pair in pairs if pair is not None]
    return sorted(found, key=lambda pair: -allowed.gap(*pair))


def _levels(allowed: AllowedPairs) -> Iterator[tuple[float, Iterator[int]]]:
    return groupby(allowed.chosen, key=allowed.group.scores.__getitem__)


def _nearest(allowed: AllowedPairs, level: Sequence[int]) -> Positions | None:
    """The pair of one score with the nearest lower one; the first if several are as near."""
    found = [
        (chosen, rejected) for chosen in level if (rejected := allowed.nearest(chosen)) is not None
    ]
    return max(found, key=lambda pair: allowed.group.scores[pair[1]], default=None)
