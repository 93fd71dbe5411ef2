"""best-vs-rest: pairs one chosen answer with every lower one."""

from collections.abc import Iterator

from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.options import PairOptions


def best_vs_rest(group: Group, options: PairOptions) -> Iterator[Positions]:
    """Pair the best candidate that has any allowed pair with each candidate allowed for it.

    >>> list(best_vs_rest(Group([1.0, 0.5, 0.0], [b"a", b"b", b"c"]), PairOptions()))
    [(0, 2), (0, 1)]
    """
    allowed = AllowedPairs(group, options)
    for chosen in allowed.chosen:
        found = False
        for rejected in allowed.partners(chosen):
            found = True
            yield chosen, rejected
        if found:
            return
