"""sweet-spot: rejects an answer that is bad, but not the worst (arXiv 2502.16825).

With many candidates the worst ones are outliers that teach little. With fewer than about 16, the
spot is below the worst one, and the result equals best-vs-worst.
"""

from collections.abc import Iterable, Sequence
from statistics import mean, pstdev

from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.options import PairOptions


def sweet_spot(group: Group, options: PairOptions) -> Iterable[Positions]:
    """Pair the best with the candidate nearest the mean minus two standard deviations.

    >>> scores = [1.0] * 20 + [0.5, 0.4, 0.0]
    >>> list(sweet_spot(Group(scores, [b"%d" % n for n in range(23)]), PairOptions()))
    [(0, 21)]
    """
    allowed = AllowedPairs(group, options)
    spot = _spot(group.scores) if group.scores else 0.0
    for chosen in allowed.chosen:
        partners = allowed.partners(chosen)
        nearest = min(partners, key=lambda place: abs(group.scores[place] - spot), default=None)
        if nearest is not None:
            return ((chosen, nearest),)
    return ()


def _spot(scores: Sequence[float]) -> float:
    """The mean minus two population standard deviations, computed from exact sums."""
    return mean(scores) - 2 * pstdev(scores)
