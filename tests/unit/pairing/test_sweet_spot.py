"""sweet-spot: the best against a bad one that is not the worst."""

from prefpairs.strategies.allowed_pairs import Group
from prefpairs.strategies.options import PairOptions
from prefpairs.strategies.sweet_spot import sweet_spot


def _group(scores: list[float]) -> Group:
    return Group(scores, [b"%d" % place for place in range(len(scores))])


def test_spot_of_32_candidates() -> None:
    """Mean 0.909, deviation 0.252: the spot at 0.406 is nearest to 0.3, not to the worst."""
    group = _group([1.0] * 28 + [0.6, 0.3, 0.2, 0.0])
    assert list(sweet_spot(group, PairOptions())) == [(0, 29)]


def test_spot_of_few_candidates_lies_under_the_worst() -> None:
    """With 8 binary rewards the spot is below the worst, so it is best against worst."""
    assert list(sweet_spot(_group([1.0] * 4 + [0.0] * 4), PairOptions())) == [(0, 4)]


def test_candidates_as_near_as_each_other() -> None:
    """Of two scores equally far from the spot, the wider gap is taken."""
    group = _group([1.0, 1.0, 0.5, 0.5])
    assert list(sweet_spot(group, PairOptions())) == [(0, 2)]


def test_answer_that_equals_the_best_is_passed_over() -> None:
    """A candidate equal to the best is skipped for the nearest allowed one."""
    digests = [b"%d" % place for place in range(32)]
    digests[29] = b"0"
    group = Group([1.0] * 28 + [0.6, 0.3, 0.2, 0.0], digests)
    assert list(sweet_spot(group, PairOptions())) == [(0, 28)]


def test_bounds() -> None:
    """The candidate nearest to the spot within the bounds is taken."""
    group = _group([1.0] * 28 + [0.6, 0.3, 0.2, 0.0])
    assert list(sweet_spot(group, PairOptions(min_gap=0.75))) == [(0, 30)]
    assert list(sweet_spot(group, PairOptions(max_gap=0.5))) == [(0, 28)]
    assert list(sweet_spot(group, PairOptions(min_chosen_score=1.5))) == []


def test_best_without_a_partner() -> None:
    """If the best has no partner, the next best is chosen."""
    group = Group([1.0, 0.9, 0.0], [b"a", b"b", b"a"])
    assert list(sweet_spot(group, PairOptions(max_gap=0.95))) == [(0, 1)]
    assert list(sweet_spot(group, PairOptions(min_gap=0.5))) == [(1, 2)]


def test_no_partner() -> None:
    """Ties and a single answer give no pairs."""
    groups = [_group([0.5, 0.5]), _group([0.5]), Group([1.0, 0.0], [b"a", b"a"])]
    assert [list(sweet_spot(group, PairOptions())) for group in groups] == [[], [], []]


def test_huge_scores() -> None:
    """Scores whose squares overflow floats do not crash."""
    assert list(sweet_spot(_group([1e200, 0.0, -1e200]), PairOptions())) == [(0, 2)]


def test_empty_group() -> None:
    """An empty group has no mean and no pair."""
    assert list(sweet_spot(Group([], []), PairOptions())) == []
