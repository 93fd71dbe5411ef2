"""exhaustive: all allowed pairs."""

from prefpairs.strategies.allowed_pairs import Group
from prefpairs.strategies.exhaustive import exhaustive
from prefpairs.strategies.options import PairOptions


def test_all_pairs_widest_first() -> None:
    """Four different scores give six pairs, widest first."""
    group = Group([1.0, 0.7, 0.6, 0.0], [b"a", b"b", b"c", b"d"])
    assert list(exhaustive(group, PairOptions())) == [
        (0, 3),
        (1, 3),
        (2, 3),
        (0, 2),
        (0, 1),
        (1, 2),
    ]


def test_binary_scores() -> None:
    """Each right answer pairs with each wrong one, and ties never pair."""
    group = Group([1.0, 1.0, 0.0, 0.0], [b"a", b"b", b"c", b"d"])
    assert list(exhaustive(group, PairOptions())) == [(0, 2), (0, 3), (1, 2), (1, 3)]


def test_equal_answers() -> None:
    """Equal answers never pair."""
    group = Group([1.0, 0.5, 0.0], [b"a", b"b", b"a"])
    assert list(exhaustive(group, PairOptions())) == [(0, 1), (1, 2)]


def test_least_gap_includes_the_border() -> None:
    """A gap of 0.9 - 0.8 passes --min-gap 0.1, unlike in the toolkit's own builder."""
    group = Group([0.9, 0.8, 0.3, 0.2], [b"a", b"b", b"c", b"d"])
    assert len(list(exhaustive(group, PairOptions(min_gap=0.1)))) == 6


def test_number_is_known_beforehand() -> None:
    """The number of pairs is known without making them."""
    group = Group([1.0] * 5000 + [0.0] * 5000, [b"%d" % place for place in range(10_000)])
    assert len(exhaustive(group, PairOptions())) == 25_000_000
