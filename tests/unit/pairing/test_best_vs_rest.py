"""best-vs-rest: one chosen answer against every lower one."""

from prefpairs.strategies.allowed_pairs import Group
from prefpairs.strategies.best_vs_rest import best_vs_rest
from prefpairs.strategies.options import PairOptions

GROUP = Group([1.0, 0.6, 0.5, 0.0], [b"a", b"b", b"c", b"d"])


def test_all_lower_ones_widest_first() -> None:
    """Pairs are ordered by gap, widest first."""
    assert list(best_vs_rest(GROUP, PairOptions())) == [(0, 3), (0, 2), (0, 1)]


def test_ties_with_the_best_are_no_rest() -> None:
    """Only lower scores are rejected, not ties with the best."""
    group = Group([1.0, 1.0, 0.0], [b"a", b"b", b"c"])
    assert list(best_vs_rest(group, PairOptions())) == [(0, 2)]


def test_equal_answers_are_left_out() -> None:
    """A lower-scored copy of the best answer is not rejected."""
    group = Group([1.0, 0.5, 0.0], [b"a", b"a", b"c"])
    assert list(best_vs_rest(group, PairOptions())) == [(0, 2)]


def test_best_that_may_be_paired_at_all() -> None:
    """If the best has no partner, the next best is chosen."""
    group = Group([1.0, 0.3, 0.2, 0.1], [b"a", b"b", b"c", b"d"])
    assert list(best_vs_rest(group, PairOptions(max_gap=0.5))) == [(1, 3), (1, 2)]


def test_bounds() -> None:
    """Bounds on the gap and the chosen score apply."""
    assert list(best_vs_rest(GROUP, PairOptions(min_gap=0.5))) == [(0, 3), (0, 2)]
    assert list(best_vs_rest(GROUP, PairOptions(max_gap=0.5))) == [(0, 2), (0, 1)]
    assert list(best_vs_rest(GROUP, PairOptions(min_chosen_score=1.1))) == []


def test_no_partner() -> None:
    """Ties, a single answer and an empty group give no pairs."""
    groups = [Group([0.5, 0.5], [b"a", b"b"]), Group([1.0, 0.0], [b"a", b"a"]), Group([], [])]
    assert [list(best_vs_rest(group, PairOptions())) for group in groups] == [[], [], []]
