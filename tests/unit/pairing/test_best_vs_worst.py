"""best-vs-worst: the widest allowed pair."""

import pytest

from prefpairs.strategies.allowed_pairs import Group, Positions
from prefpairs.strategies.best_vs_worst import best_vs_worst
from prefpairs.strategies.options import PairOptions


@pytest.mark.parametrize(
    ("scores", "digests", "pairs"),
    [
        ([1.0, 0.5, 0.0], "abc", [(0, 2)]),
        ([1.0, 1.0, 0.0, 0.0], "abcd", [(0, 2)]),
        ([1.0, 1.0, 0.0], "aba", [(1, 2)]),
        ([1.0, 0.9, 0.0, 0.0], "abaa", [(1, 2)]),
        ([1.0, 0.5, 0.0], "aba", [(0, 1)]),
        ([1.0, 0.2, 0.0], "aba", [(0, 1)]),
        ([1.0, 0.0], "aa", []),
        ([0.5, 0.5], "ab", []),
        ([0.5], "a", []),
        ([], "", []),
    ],
)
def test_widest_pair(scores: list[float], digests: str, pairs: list[Positions]) -> None:
    """The first of the best against the first of the worst that may be paired."""
    group = Group(scores, [digest.encode() for digest in digests])
    assert list(best_vs_worst(group, PairOptions())) == pairs


@pytest.mark.parametrize(
    ("options", "pairs"),
    [
        (PairOptions(min_gap=0.6), [(0, 2)]),
        (PairOptions(min_gap=1.0), [(0, 2)]),
        (PairOptions(min_gap=1.1), []),
        (PairOptions(max_gap=0.7), [(0, 1)]),
        (PairOptions(max_gap=0.5), [(1, 2)]),
        (PairOptions(max_gap=0.1), []),
        (PairOptions(min_chosen_score=1.0), [(0, 2)]),
        (PairOptions(min_chosen_score=1.1), []),
        (PairOptions(max_gap=0.5, min_chosen_score=0.6), []),
    ],
)
def test_bounds(options: PairOptions, pairs: list[Positions]) -> None:
    """If the widest pair is out of bounds, the next widest within them is taken."""
    group = Group([1.0, 0.4, 0.0], [b"a", b"b", b"c"])
    assert list(best_vs_worst(group, options)) == pairs
