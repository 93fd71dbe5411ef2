"""best-vs-rest: one chosen answer against every lower one."""

from collections.abc import Iterator

from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.options import PairOptions


def best_vs_rest(group: Group, options: PairOptions) -> Iterator[Positions]:
    """Pair the best candidate that may be paired at all with each one it may meet.

    >>> list(best_vs_rest(Group([1.0, 0.5, 0.0], [b"a", b"b", b"c"]), PairOptions()))
    [(0, 2), (0, 1)]
    """
    allowed = AllowedPairs(group, options)
    for chosen in allowed.chosen:
        met = False
        for rejected in allowed.partners(chosen):
            met = True
            yield chosen, rejected
        if met:
            return
