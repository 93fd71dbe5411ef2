"""adjacent: neighboring scores."""

from typing import Any

import pytest

from prefpairs.strategies.adjacent import adjacent
from prefpairs.strategies.allowed_pairs import Group, Positions
from prefpairs.strategies.options import PairOptions


@pytest.mark.parametrize(
    ("scores", "digests", "options", "pairs"),
    [
        ([1.0, 0.5, 0.0], "abc", {}, [(0, 1), (1, 2)]),
        ([1.0, 1.0, 0.5, 0.5, 0.0], "abcde", {}, [(0, 2), (2, 4)]),
        ([1.0, 0.5, 0.0], "aab", {}, [(0, 2), (1, 2)]),
        ([1.0, 1.0, 0.5], "aba", {}, [(1, 2)]),
        ([1.0, 0.5, 0.5], "aab", {}, [(0, 2)]),
        ([0.5, 0.5], "ab", {}, []),
        ([], "", {}, []),
        ([1.0, 0.9, 0.5, 0.0], "abcd", {"min_gap": 0.2}, [(0, 2), (2, 3), (1, 2)]),
        ([0.3, 0.2, 0.1], "abc", {"min_gap": 0.1}, [(0, 1), (1, 2)]),
        ([1.0, 0.9, 0.1], "abc", {"max_gap": 0.5}, [(0, 1)]),
        ([1.0, 0.5, 0.0], "abc", {"min_chosen_score": 0.6}, [(0, 1)]),
    ],
)
def test_next_lower_score(
    scores: list[float], digests: str, options: dict[str, Any], pairs: list[Positions]
) -> None:
    """Each score once, against the nearest allowed lower one; widest first."""
    group = Group(scores, [digest.encode() for digest in digests])
    assert list(adjacent(group, PairOptions(**options))) == pairs
