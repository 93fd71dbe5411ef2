"""sweet-spot: a rejected answer that is bad, but not the worst (arXiv 2502.16825).

With many candidates the very worst are outliers that teach little. Below about 16 of them
the spot lies under the worst, and this equals best-vs-worst.
"""

from collections.abc import Iterable, Sequence
from math import fsum, sqrt

from prefpairs.strategies.allowed import AllowedPairs, Group, PairOptions, Positions


def sweet_spot(group: Group, options: PairOptions) -> Iterable[Positions]:
    """Pair the best with the candidate nearest the mean minus two standard deviations.

    >>> scores = [1.0] * 20 + [0.5, 0.4, 0.0]
    >>> list(sweet_spot(Group(scores, [b"%d" % n for n in range(23)]), PairOptions()))
    [(0, 21)]
    """
    spot = _spot(group.scores)
    for place in range(len(group.scores)):
        allowed = AllowedPairs(group, options, chosen=range(place, place + 1))
        nearest = min(allowed, key=lambda pair: abs(group.scores[pair[1]] - spot), default=None)
        if nearest is not None:
            return (nearest,)
    return ()


def _spot(scores: Sequence[float]) -> float:
    """The mean minus two population standard deviations; sums are exact, so order is nothing."""
    mean = fsum(scores) / len(scores)
    return mean - 2 * sqrt(fsum((score - mean) ** 2 for score in scores) / len(scores))
