"""The allowed pairs of a group, compared with a list of all pairs."""

import time
from collections.abc import Iterable
from decimal import Decimal
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.options import PairOptions

TENTHS = st.sampled_from([number / 10 for number in range(11)])
GROUPS = st.lists(st.tuples(TENTHS, st.sampled_from([b"a", b"b", b"c", b"d"])), max_size=9).map(
    lambda members: Group(
        sorted((score for score, _ in members), reverse=True), [digest for _, digest in members]
    )
)
OPTIONS = st.builds(
    PairOptions,
    min_gap=st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.6]),
    max_gap=st.sampled_from([None, 0.1, 0.2, 0.7]),
    min_chosen_score=st.sampled_from([None, 0.0, 0.3, 0.8]),
)
RANGES = st.none() | st.builds(range, st.integers(0, 9), st.integers(0, 9))


def _exact(number: float) -> Decimal:
    return Decimal(str(number))


def _gap(group: Group, pair: Positions) -> Decimal:
    return _exact(group.scores[pair[0]]) - _exact(group.scores[pair[1]])


def _all_pairs(
    group: Group, options: PairOptions, chosen: Iterable[int], rejected: Iterable[int]
) -> list[Positions]:
    """The pairs allowed by the laws and the options, found one by one in decimal."""
    floor = Decimal(-1) if options.min_chosen_score is None else _exact(options.min_chosen_score)
    widest = Decimal(2) if options.max_gap is None else _exact(options.max_gap)
    return [
        pair
        for pair in ((one, other) for one in chosen for other in rejected)
        if group.digests[pair[0]] != group.digests[pair[1]]
        and _gap(group, pair) > 0
        and _exact(options.min_gap) <= _gap(group, pair) <= widest
        and _exact(group.scores[pair[0]]) >= floor
    ]


def _within(group: Group, places: range | None) -> list[int]:
    everybody = range(len(group.scores))
    return [place for place in everybody if places is None or place in places]


@given(GROUPS, OPTIONS, RANGES, RANGES)
@examples(400, derandomize=True)
def test_against_all_pairs(
    group: Group, options: PairOptions, chosen: range | None, rejected: range | None
) -> None:
    """Iteration, length, numbers, partners, nearest and widest agree with brute force."""
    ours, theirs = _within(group, chosen), _within(group, rejected)
    allowed = AllowedPairs(
        group,
        options,
        chosen=None if chosen is None else range(ours[0], ours[-1] + 1) if ours else range(0),
        rejected=None
        if rejected is None
        else range(theirs[0], theirs[-1] + 1)
        if theirs
        else range(0),
    )
    expected = _all_pairs(group, options, ours, theirs)
    by_gap = sorted(
        expected, key=lambda pair: (-_gap(group, pair), pair[0], group.scores[pair[1]], pair[1])
    )
    by_chosen = sorted(expected, key=lambda pair: (pair[0], group.scores[pair[1]], pair[1]))
    assert list(allowed) == by_gap
    assert len(allowed) == len(expected)
    assert [allowed[number] for number in range(len(allowed))] == by_chosen
    assert allowed.widest() == (by_gap[0] if by_gap else None)
    for place in allowed.chosen:
        met = [rejected for one, rejected in by_gap if one == place]
        assert list(allowed.partners(place)) == met
        lowest = [other for other in met if group.scores[other] == group.scores[met[-1]]]
        assert allowed.nearest(place) == (lowest[0] if met else None)


def test_empty_group() -> None:
    """An empty group has no pair."""
    allowed = AllowedPairs(Group([], []), PairOptions())
    assert (list(allowed), len(allowed), allowed.widest()) == ([], 0, None)


def test_group_of_one() -> None:
    """A single candidate has no pair."""
    allowed = AllowedPairs(Group([1.0], [b"a"]), PairOptions())
    assert (list(allowed), len(allowed), allowed.widest()) == ([], 0, None)


def test_ties_never_pair() -> None:
    """Equal scores never pair, whatever the answers."""
    allowed = AllowedPairs(Group([0.5, 0.5], [b"a", b"b"]), PairOptions())
    assert (list(allowed), len(allowed), allowed.widest()) == ([], 0, None)


def test_ties_never_pair_between_narrowed_sides() -> None:
    """Ties between separately narrowed sides never pair, either."""
    group = Group([0.5, 0.5], [b"a", b"b"])
    allowed = AllowedPairs(group, PairOptions(), chosen=range(1), rejected=range(1, 2))
    assert (list(allowed), len(allowed), allowed.widest()) == ([], 0, None)


def test_equal_answers_never_pair() -> None:
    """One answer with two scores never pairs with itself."""
    allowed = AllowedPairs(Group([0.9, 0.1], [b"a", b"a"]), PairOptions())
    assert (list(allowed), len(allowed), allowed.widest()) == ([], 0, None)


def test_least_gap_is_decimal() -> None:
    """0.9 against 0.8 passes --min-gap 0.1, which binary floats do not."""
    group = Group([0.9, 0.8, 0.71], [b"a", b"b", b"c"])
    assert list(AllowedPairs(group, PairOptions(min_gap=0.1))) == [(0, 2), (0, 1)]


def test_largest_gap_is_decimal() -> None:
    """0.3 against 0.2 and 0.2 against 0.1 pass --max-gap 0.1."""
    group = Group([0.3, 0.2, 0.1], [b"a", b"b", b"c"])
    assert list(AllowedPairs(group, PairOptions(max_gap=0.1))) == [(0, 1), (1, 2)]


def test_least_chosen_score_is_inclusive() -> None:
    """The bound applies to the chosen score only."""
    group = Group([0.6, 0.5, 0.4, 0.1], [b"a", b"b", b"c", b"d"])
    assert list(AllowedPairs(group, PairOptions(min_chosen_score=0.5))) == [
        (0, 3),
        (1, 3),
        (0, 2),
        (0, 1),
        (1, 2),
    ]


def test_widest_is_found_behind_an_illegal_one() -> None:
    """If best and worst are the same answer, the next widest pair is found."""
    group = Group([1.0, 0.9, 0.0], [b"a", b"b", b"a"])
    assert AllowedPairs(group, PairOptions()).widest() == (1, 2)


def test_numbers_skip_equal_answers() -> None:
    """Pair numbers are consecutive, even between many equal answers."""
    group = Group([1.0, 0.4, 0.3, 0.2, 0.1], [b"a", b"a", b"b", b"a", b"b"])
    allowed = AllowedPairs(group, PairOptions())
    assert [allowed[number] for number in range(len(allowed))] == [
        (0, 4),
        (0, 2),
        (1, 4),
        (1, 2),
        (2, 3),
        (3, 4),
    ]


def test_large_group_costs_no_more_than_its_size() -> None:
    """With 100,000 candidates, the first pairs, their number and one of them are found at once."""
    size = 100_000
    scores = [float(place < size // 2) for place in range(size)]
    allowed = AllowedPairs(Group(scores, [b"%d" % place for place in range(size)]), PairOptions())
    before = time.process_time()
    assert list(islice(allowed, 3)) == [(0, 50_000), (0, 50_001), (0, 50_002)]
    assert len(allowed) == 2_500_000_000
    assert allowed[2_499_999_999] == (49_999, 99_999)
    assert time.process_time() - before < 6


@pytest.mark.full
def test_number_of_pairs_among_equal_answers() -> None:
    """The pairs of 50,000 equal answers are counted quickly."""
    size = 50_000
    scores = [float(place < size // 2) for place in range(size)]
    allowed = AllowedPairs(Group(scores, [b"a"] * (size - 1) + [b"b"]), PairOptions())
    before = time.process_time()
    assert len(allowed) == size // 2
    assert time.process_time() - before < 6
