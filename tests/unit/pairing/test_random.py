"""random: allowed pairs at random, the same in each run."""

from collections import Counter
from itertools import pairwise

from prefpairs.strategies.allowed_pairs import AllowedPairs, Group
from prefpairs.strategies.options import PairOptions
from prefpairs.strategies.random import random

GROUP = Group([1.0, 0.7, 0.5, 0.5, 0.0], [b"a", b"b", b"c", b"a", b"d"], b"group")


def _drawn(number: int | None, seed: int = 0, identity: bytes = b"group") -> list[tuple[int, int]]:
    group = GROUP._replace(identity=identity)
    return list(random(group, PairOptions(max_pairs_per_group=number, seed=seed)))


def test_one_unless_told() -> None:
    """Without --max-pairs-per-group, one pair is drawn."""
    assert _drawn(None) == _drawn(1)
    assert len(_drawn(1)) == 1


def test_draws_are_nested() -> None:
    """A larger number of draws contains the smaller one, in the same order."""
    draws = [_drawn(number) for number in range(1, 12)]
    assert all(smaller == larger[: len(smaller)] for smaller, larger in pairwise(draws))


def test_nothing_is_drawn_twice() -> None:
    """Asking for all pairs gives each once."""
    assert sorted(_drawn(100)) == sorted(AllowedPairs(GROUP, PairOptions()))


def test_draws_depend_on_seed_and_group() -> None:
    """Draws depend on the seed and the group."""
    assert _drawn(8) == _drawn(8)
    assert _drawn(8) != _drawn(8, seed=1)
    assert _drawn(8) != _drawn(8, identity=b"other")


def test_draws_are_uniform() -> None:
    """Each of the 8 pairs comes first in about an eighth of 4000 groups."""
    first = Counter(_drawn(1, identity=b"%d" % number)[0] for number in range(4000))
    assert len(first) == len(AllowedPairs(GROUP, PairOptions())) == 8
    assert all(400 < count < 600 for count in first.values())


def test_second_draws_are_uniform() -> None:
    """Each pair comes second equally often."""
    second = Counter(_drawn(2, identity=b"%d" % number)[1] for number in range(4000))
    assert all(400 < count < 600 for count in second.values())
    assert len(second) == 8


def test_bounds() -> None:
    """Only allowed pairs are drawn."""
    options = PairOptions(max_pairs_per_group=10, min_gap=0.6, max_gap=0.9)
    assert list(random(GROUP, options)) == [(1, 4)]


def test_nothing_to_draw_from() -> None:
    """Ties give no pairs."""
    assert (
        list(random(Group([0.5, 0.5], [b"a", b"b"], b"g"), PairOptions(max_pairs_per_group=3)))
        == []
    )
