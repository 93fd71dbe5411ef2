"""best-vs-worst, also called same_prompt: the widest allowed pair."""

from collections.abc import Iterable

from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.options import PairOptions


def best_vs_worst(group: Group, options: PairOptions) -> Iterable[Positions]:
    """Pair the best with the worst; if that pair is not allowed, take the next widest one.

    >>> list(best_vs_worst(Group([1.0, 0.5, 0.0], [b"a", b"b", b"c"]), PairOptions()))
    [(0, 2)]
    >>> list(best_vs_worst(Group([1.0, 0.5, 0.0], [b"a", b"b", b"a"]), PairOptions()))
    [(0, 1)]
    """
    pair = AllowedPairs(group, options).widest()
    return () if pair is None else (pair,)
