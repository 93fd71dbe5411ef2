"""exhaustive: all allowed pairs."""

from prefpairs.strategies.allowed_pairs import AllowedPairs, Group
from prefpairs.strategies.options import PairOptions


def exhaustive(group: Group, options: PairOptions) -> AllowedPairs:
    """Pair every candidate with every lower one, widest gap first.

    >>> list(exhaustive(Group([1.0, 0.5, 0.0], [b"a", b"b", b"c"]), PairOptions()))
    [(0, 2), (0, 1), (1, 2)]
    """
    return AllowedPairs(group, options)
