"""best-vs-rest: one chosen answer against every lower one."""

from prefpairs.strategies.allowed_pairs import Group
from prefpairs.strategies.best_vs_rest import best_vs_rest
from prefpairs.strategies.options import PairOptions

GROUP = Group([1.0, 0.6, 0.5, 0.0], [b"a", b"b", b"c", b"d"])


def test_all_lower_ones_widest_first() -> None:
    """The order is that of the gaps."""
    assert list(best_vs_rest(GROUP, PairOptions())) == [(0, 3), (0, 2), (0, 1)]


def test_ties_with_the_best_are_no_rest() -> None:
    """Only lower scores are rejected."""
    group = Group([1.0, 1.0, 0.0], [b"a", b"b", b"c"])
    assert list(best_vs_rest(group, PairOptions())) == [(0, 2)]


def test_equal_answers_are_left_out() -> None:
    """The best answer with a lower score is not rejected."""
    group = Group([1.0, 0.5, 0.0], [b"a", b"a", b"c"])
    assert list(best_vs_rest(group, PairOptions())) == [(0, 2)]


def test_best_that_may_be_paired_at_all() -> None:
    """If the best has no partner, the next one is chosen."""
    group = Group([1.0, 0.3, 0.2, 0.1], [b"a", b"b", b"c", b"d"])
    assert list(best_vs_rest(group, PairOptions(max_gap=0.5))) == [(1, 3), (1, 2)]


def test_bounds() -> None:
    """Gaps and the least chosen score."""
    assert list(best_vs_rest(GROUP, PairOptions(min_gap=0.5))) == [(0, 3), (0, 2)]
    assert list(best_vs_rest(GROUP, PairOptions(max_gap=0.5))) == [(0, 2), (0, 1)]
    assert list(best_vs_rest(GROUP, PairOptions(min_chosen_score=1.1))) == []


def test_nobody_to_meet() -> None:
    """Ties, a single answer and an empty group give no pairs."""
    groups = [Group([0.5, 0.5], [b"a", b"b"]), Group([1.0, 0.0], [b"a", b"a"]), Group([], [])]
    assert [list(best_vs_rest(group, PairOptions())) for group in groups] == [[], [], []]
