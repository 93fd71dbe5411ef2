"""The outcome of each candidate of a group."""

from collections.abc import Sequence
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefpairs.analysis.candidate_outcome import (
    CandidateOutcome,
    Obstacle,
    Others,
    candidate_outcomes,
)
from prefpairs.model.number import gap_between
from prefpairs.strategies import STRATEGIES, strategy_named
from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.options import PairOptions


def _stand(
    scores: Sequence[float], pairs: Sequence[Positions], answers: str = "", **options: Any
) -> list[CandidateOutcome]:
    """The outcomes of candidates, which are numbered from 1."""
    digests = [sign.encode() for sign in answers or "abcdefghij"[: len(scores)]]
    group = Group(scores, digests)
    found, count = candidate_outcomes(
        group, PairOptions(**options), pairs, range(1, len(scores) + 1)
    )
    assert count == len(pairs)
    return found


def test_in_pairs() -> None:
    """A candidate can be chosen, rejected, or both."""
    best, middle, worst = _stand([1.0, 0.5, 0.0], [(0, 1), (1, 2), (0, 2)])
    assert best == CandidateOutcome(chosen_over=Others([2, 3], 2))
    assert middle == CandidateOutcome(chosen_over=Others([3], 1), rejected_by=Others([1], 1))
    assert worst == CandidateOutcome(rejected_by=Others([2, 1], 2))
    assert best.paired
    assert worst.paired


def test_only_the_first_few_are_named() -> None:
    """Only the first few partners are named; the others are counted."""
    best = _stand([1.0, *[0.0] * 9], [(0, place) for place in range(1, 10)])[0]
    assert best.chosen_over == Others([2, 3, 4], 9)


@pytest.mark.parametrize(
    ("scores", "answers", "options", "obstacles"),
    [
        ([1.0, 0.5], "aa", {}, {"same_answer": [2]}),
        ([1.0, 1.0], "ab", {}, {"tie": [2]}),
        ([1.0, 1.0], "aa", {}, {"same_answer": [2]}),
        ([1.0, 0.9], "ab", {"min_gap": 0.2}, {"narrow": [2]}),
        ([1.0, 0.0], "ab", {"max_gap": 0.5}, {"wide": [2]}),
        ([0.5, 0.0], "ab", {"min_chosen_score": 0.7}, {"low": [2]}),
        ([1.0, 1.0, 0.9], "aba", {"min_gap": 0.2}, {"tie": [2], "same_answer": [3]}),
        ([0.9, 0.8], "ab", {"min_gap": 0.1}, {}),
    ],
)
def test_obstacles(
    scores: list[float], answers: str, options: dict[str, float], obstacles: dict[str, list[int]]
) -> None:
    """The obstacles to pairing the first candidate with each other one; none if one is allowed."""
    first = _stand(scores, [], answers, **options)[0]
    assert {str(kind): others.numbers for kind, others in first.obstacles.items()} == obstacles
    assert not first.paired


def test_like_another_one() -> None:
    """A candidate with the same answer is named before one with the same score."""
    found = _stand([1.0, 1.0, 0.5, 0.0], [(1, 3)], "abac")
    assert [outcome.like for outcome in found] == [
        (Obstacle.TIE, 2),
        None,
        None,
        None,
    ]
    found = _stand([1.0, 0.7, 0.5, 0.5], [(0, 2)], "aacd")
    assert [outcome.like for outcome in found] == [
        None,
        (Obstacle.SAME_ANSWER, 1),
        None,
        (Obstacle.TIE, 3),
    ]


def test_alone() -> None:
    """The candidate is the only one in its group."""
    assert _stand([1.0], []) == [CandidateOutcome(alone=True)]
    assert not any(outcome.alone for outcome in _stand([1.0, 1.0], []))


CANDIDATES = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.6, 1.0]), st.sampled_from("abcd")),
    min_size=1,
    max_size=12,
)


@given(
    CANDIDATES,
    st.sampled_from([0.0, 0.1, 0.2, 0.5]),
    st.sampled_from([None, 0.5, 0.6, 1.0]),
    st.sampled_from([None, 0.3, 0.6]),
)
def test_obstacles_one_by_one(
    candidates: list[tuple[float, str]], least: float, most: float | None, floor: float | None
) -> None:
    """The obstacles equal those of each pair, in group order."""
    candidates.sort(key=lambda candidate: -candidate[0])
    scores, answers = [score for score, _ in candidates], [answer for _, answer in candidates]
    bounds = {"min_gap": least, "max_gap": most, "min_chosen_score": floor}
    options: dict[str, Any] = {name: value for name, value in bounds.items() if value is not None}
    for place, outcome in enumerate(_stand(scores, [], "".join(answers), **options)):
        expected: dict[Obstacle, Others] = {}
        for other in range(len(scores)):
            if other != place:
                obstacle = _obstacle(scores, answers, PairOptions(**options), place, other)
                if obstacle is None:
                    expected = {}
                    break
                expected.setdefault(obstacle, Others()).add(other + 1)
        assert [*outcome.obstacles.items()] == [*expected.items()]


def _obstacle(
    scores: list[float], answers: list[str], options: PairOptions, one: int, other: int
) -> Obstacle | None:
    """The obstacle to pairing two candidates, or None."""
    better, worse = max(scores[one], scores[other]), min(scores[one], scores[other])
    gap = gap_between(better, worse)
    if answers[one] == answers[other]:
        return Obstacle.SAME_ANSWER
    if better == worse:
        return Obstacle.TIE
    if options.min_chosen_score is not None and better < options.min_chosen_score:
        return Obstacle.LOW
    if gap < options.min_gap:
        return Obstacle.NARROW
    return Obstacle.WIDE if options.max_gap is not None and gap > options.max_gap else None


@pytest.mark.full
def test_a_large_group() -> None:
    """The reasons for many candidates without a pair take only a moment."""
    scores = [1 - place / 10_000 for place in range(5_000)]
    group = Group(scores, [str(place % 1_000).encode() for place in range(5_000)])
    start = process_time()
    found, _ = candidate_outcomes(group, PairOptions(min_gap=0.3), [], range(5_000))
    assert process_time() - start < 5  # pair by pair it takes 20 s
    assert found[2_500].obstacles[Obstacle.NARROW].count == 4_995
    assert not found[0].obstacles


@pytest.mark.parametrize("name", STRATEGIES)
def test_agrees_with_what_is_allowed(name: str) -> None:
    """A candidate with an obstacle to all others is in no allowed pair; others are in one."""
    scores = [0.9, 0.9, 0.7, 0.5, 0.45, 0.4, 0.1]
    digests = [sign.encode() for sign in "abacbad"]
    for narrow, wide, floor in [(0.0, None, None), (0.3, 0.5, None), (0.1, 0.2, 0.5), (1, 1, 1)]:
        options = PairOptions(min_gap=narrow, max_gap=wide, min_chosen_score=floor)
        group = Group(scores, digests)
        _, strategy = strategy_named(name)
        found, _ = candidate_outcomes(group, options, strategy(group, options), range(7))
        allowed = {place for pair in AllowedPairs(group, options) for place in pair}
        for place, outcome in enumerate(found):
            assert outcome.paired <= (place in allowed)
            if not outcome.paired:
                assert bool(outcome.obstacles) == (place not in allowed)
