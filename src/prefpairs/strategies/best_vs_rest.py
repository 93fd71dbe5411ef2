"""best-vs-rest: one chosen answer against every lower one."""

from collections.abc import Iterable, Iterator

from prefpairs.strategies.allowed import AllowedPairs, Group, PairOptions, Positions


def best_vs_rest(group: Group, options: PairOptions) -> Iterable[Positions]:
    """Pair the best candidate that may be paired at all with each one it may meet.

    >>> list(best_vs_rest(Group([1.0, 0.5, 0.0], [b"a", b"b", b"c"]), PairOptions()))
    [(0, 2), (0, 1)]
    """
    return next(filter(None, map(list, _by_chosen(group, options))), [])


def _by_chosen(group: Group, options: PairOptions) -> Iterator[AllowedPairs]:
    for place in range(len(group.scores)):
        yield AllowedPairs(group, options, chosen=range(place, place + 1))
