"""Finds what two sequences have in common."""

import random
import time
from itertools import pairwise

import pytest

from prefpairs.analysis.text_diff import Effort, Match, matches

ENOUGH = 1_000_000


def _longest_in_common(left: str, right: str) -> int:
    """The length of a longest common subsequence, by the textbook algorithm."""
    above = [0] * (len(right) + 1)
    for one in left:
        row = [0]
        for place, other in enumerate(right):
            row.append(above[place] + 1 if one == other else max(above[place + 1], row[place]))
        above = row
    return above[-1]


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ("", "", []),
        ("", "a", []),
        ("abc", "abc", [(0, 0, 3)]),
        ("abc", "xyz", []),
        ("aXc", "aYc", [(0, 0, 1), (2, 2, 1)]),
        ("ab", "aab", [(0, 0, 1), (1, 2, 1)]),
        ("aaa", "aa", [(0, 0, 2)]),
        ("1abc2", "3abc4", [(1, 1, 3)]),
    ],
)
def test_matches(left: str, right: str, found: list[tuple[int, int, int]]) -> None:
    """Matches are ranges, in order."""
    assert matches(left, right, Effort(ENOUGH)) == [Match(*match) for match in found]


def test_as_much_as_the_textbook_finds() -> None:
    """The matches are as long in total as the textbook's, and equal in both sequences."""
    chance = random.Random(5)  # noqa: S311 - a fixed shuffle
    for _ in range(3000):
        left, right = ("".join(chance.choices("abc", k=chance.randrange(9))) for _ in range(2))
        found = matches(left, right, Effort(ENOUGH))
        for one, other, length in found:
            assert left[one : one + length] == right[other : other + length]
        for before, after in pairwise(found):
            assert before.left + before.length <= after.left
            assert before.right + before.length <= after.right
        assert sum(match.length for match in found) == _longest_in_common(left, right)


def test_only_the_ends_where_it_takes_too_long() -> None:
    """With too little effort, only the common beginning and end are found."""
    left, right = "head1mid2tail", "head3mid4tail"
    assert len(matches(left, right, Effort(ENOUGH))) == 3
    assert matches(left, right, Effort(5)) == [Match(0, 0, 4), Match(9, 9, 4)]


def test_effort_is_used_up() -> None:
    """Effort that one comparison uses is not available to the next."""
    effort = Effort(100)
    matches("1abc2", "3abc4", effort)
    left = effort.steps
    assert 0 < left < 100
    matches("1abc2", "3abc4", effort)
    assert effort.steps < left


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (["x", "y"] * 40_000, ["y", "x", "z"] * 30_000),
        (["x"] * 9_000 + ["a"] * 900, ["y"] + ["x"] * 9_000 + ["b"] * 900),
        (list(range(19_000)), list(range(38_000, 19_000, -1))),
    ],
)
def test_bounded_time(left: list[int], right: list[int]) -> None:
    """The time is bounded for any sequences."""
    begun = time.process_time()
    matches(left, right, Effort(100_000))
    assert time.process_time() - begun < 2
