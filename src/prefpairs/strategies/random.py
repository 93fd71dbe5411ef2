"""random: allowed pairs by chance, the same ones each time."""

from collections.abc import Iterator

from prefpairs.model.identity import draw
from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.options import PairOptions


def random(group: Group, options: PairOptions) -> Iterator[Positions]:
    """Draw pairs uniformly, without putting any back; a larger number holds the smaller.

    >>> group = Group([1.0, 0.5, 0.0], [b"a", b"b", b"c"], b"group")
    >>> two = list(random(group, PairOptions(max_pairs_per_group=2)))
    >>> len(set(two)), two[:1] == list(random(group, PairOptions(max_pairs_per_group=1)))
    (2, True)
    """
    allowed = AllowedPairs(group, options)
    left = len(allowed)
    moved: dict[int, int] = {}
    for number in range(min(left, options.max_pairs_per_group or 1)):
        # A shuffle of the numbers 0 to left - 1 that writes down only what it moved.
        last = left - 1 - number
        chance = draw(options.seed, f"random {number}", group.identity)
        place = chance * (last + 1) >> 64
        yield allowed[moved.get(place, place)]
        moved[place] = moved.get(last, last)
