"""random: allowed pairs drawn at random, reproducibly."""

from collections.abc import Iterator

from prefpairs.model.identity import draw
from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.options import PairOptions


def random(group: Group, options: PairOptions) -> Iterator[Positions]:
    """Draw pairs uniformly without replacement; a larger sample contains every smaller one.

    >>> group = Group([1.0, 0.5, 0.0], [b"a", b"b", b"c"], b"group")
    >>> two = list(random(group, PairOptions(max_pairs_per_group=2)))
    >>> len(set(two)), two[:1] == list(random(group, PairOptions(max_pairs_per_group=1)))
    (2, True)
    """
    allowed = AllowedPairs(group, options)
    total = len(allowed)
    moved: dict[int, int] = {}
    for number in range(min(total, options.max_pairs_per_group or 1)):
        # A Fisher-Yates shuffle of the numbers 0 to total - 1 that stores only those it moved.
        last = total - 1 - number
        drawn = draw(options.seed, f"random {number}", group.identity)
        place = drawn * (last + 1) >> 64
        yield allowed[moved.get(place, place)]
        moved[place] = moved.get(last, last)
