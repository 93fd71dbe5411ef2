"""stratified: good answers against bad ones."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.model.number import gap_between
from prefpairs.strategies.allowed_pairs import Group, Positions
from prefpairs.strategies.options import PairOptions
from prefpairs.strategies.stratified import stratified, stratified_across_prompts

SIZE = 400
GROUP = Group([0.9, 0.7, 0.69, 0.5, 0.41, 0.4, 0.0], [b"%d" % place for place in range(7)])


class Looks:
    """Answers by position, with a count of accesses."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self.answers = answers
        self.count = 0

    def __call__(self, place: int) -> bytes:
        """Return the answer at a position."""
        self.count += 1
        return self.answers[place]


def _identity(place: int) -> bytes:
    return b"%d" % place


def _across(scores: Sequence[float], answers: str | None = None, **options: Any) -> list[Positions]:
    digests = Looks([_identity(place) for place in range(len(scores))])
    if answers is not None:
        digests = Looks([answer.encode() for answer in answers])
    return list(stratified_across_prompts(scores, digests, _identity, PairOptions(**options)))


def test_thresholds_are_inclusive() -> None:
    """0.7 and above against 0.4 and below, inclusive; the middle is skipped."""
    assert list(stratified(GROUP, PairOptions())) == [(0, 6), (1, 6), (0, 5), (1, 5)]


def test_other_thresholds() -> None:
    """Both thresholds can be changed."""
    options = PairOptions(high_threshold=0.8, low_threshold=0.1)
    assert list(stratified(GROUP, options)) == [(0, 6)]


def test_thresholds_may_meet() -> None:
    """With equal thresholds, ties still never pair."""
    group = Group([1.0, 0.5, 0.5, 0.0], [b"a", b"b", b"c", b"d"])
    options = PairOptions(high_threshold=0.5, low_threshold=0.5)
    assert list(stratified(group, options)) == [(0, 3), (0, 1), (0, 2), (1, 3), (2, 3)]


def test_bounds_within_strata() -> None:
    """Gaps, minimum chosen score and equal answers are respected."""
    assert list(stratified(GROUP, PairOptions(min_gap=0.6))) == [(0, 6), (1, 6)]
    assert list(stratified(GROUP, PairOptions(max_gap=0.3))) == [(1, 5)]
    assert list(stratified(GROUP, PairOptions(min_chosen_score=0.8))) == [(0, 6), (0, 5)]
    assert list(stratified(Group([0.9, 0.1], [b"a", b"a"]), PairOptions())) == []


@pytest.mark.parametrize("scores", [[], [0.5], [0.9, 0.8], [0.1, 0.2], [0.6, 0.5]])
def test_one_stratum_alone(scores: list[float]) -> None:
    """With only good or only bad answers, there is no pair."""
    group = Group(scores, [_identity(place) for place in range(len(scores))])
    assert list(stratified(group, PairOptions())) == []
    assert _across(scores) == []


def test_across_prompts_each_good_one_gets_its_share() -> None:
    """Each high answer pairs with the requested number of low ones, none twice."""
    scores = [0.9, 0.1, 0.5, 0.7, 0.4, 0.2]
    pairs = _across(scores, rejected_per_chosen=2)
    assert [chosen for chosen, _ in pairs] == [0, 0, 3, 3]
    assert len(set(pairs)) == 4
    assert {rejected for _, rejected in pairs} <= {1, 4, 5}


def test_across_prompts_no_more_than_there_are() -> None:
    """If fewer exist than requested, all are taken once."""
    assert sorted(_across([0.9, 0.1, 0.2], rejected_per_chosen=10)) == [(0, 1), (0, 2)]


def test_across_prompts_equal_answers_never_meet() -> None:
    """Equal answers to two prompts never pair."""
    assert _across([0.9, 0.1, 0.2], "aab") == [(0, 2)]


def test_across_prompts_ties_never_pair() -> None:
    """With equal thresholds, a score can be both high and low, but ties never pair."""
    pairs = _across([0.5, 0.3], high_threshold=0.5, low_threshold=0.5)
    assert pairs == [(0, 1)]


def test_across_prompts_bounds() -> None:
    """Bounds on the gap and the chosen score apply."""
    scores = [0.9, 0.7, 0.4, 0.0]
    assert _across(scores, min_gap=0.8) == [(0, 3)]
    assert _across(scores, max_gap=0.3) == [(1, 2)]
    assert [chosen for chosen, _ in _across(scores, min_chosen_score=0.8)] == [0]
    assert [chosen for chosen, _ in _across(scores, min_chosen_score=0.9)] == [0]
    assert _across(scores, min_chosen_score=0.91) == []


def test_across_prompts_nan_never_pairs() -> None:
    """NaN, by which the engine marks copies, never pairs."""
    nan = float("nan")
    assert _across([nan, 0.9, nan, 0.1, nan]) == [(1, 3)]


def test_across_prompts_seeds() -> None:
    """The same seed gives the same pairs, another seed others."""
    scores = [0.9] * 50 + [0.1] * 50
    assert _across(scores) == _across(scores)
    assert _across(scores) != _across(scores, seed=1)


def test_across_prompts_draws_depend_on_identity() -> None:
    """Reversing the input changes no pair."""
    scores = [0.9] * 30 + [0.1] * 30
    names = [_identity(place) for place in range(60)]

    def named(order: list[int]) -> set[tuple[bytes, bytes]]:
        pairs = stratified_across_prompts(
            [scores[place] for place in order],
            lambda place: names[order[place]],
            lambda place: names[order[place]],
            PairOptions(rejected_per_chosen=3),
        )
        return {(names[order[chosen]], names[order[rejected]]) for chosen, rejected in pairs}

    assert named(list(range(60))) == named(list(range(59, -1, -1)))


def test_across_prompts_low_ones_are_spread() -> None:
    """200 good answers do not all get the same bad one."""
    rejected = {rejected for _, rejected in _across([0.9] * 200 + [0.1] * 200)}
    assert len(rejected) > 60


@given(
    st.lists(
        st.tuples(st.sampled_from([n / 10 for n in range(11)]), st.sampled_from("abc")),
        max_size=10,
    ),
    st.sampled_from([0.0, 0.3, 0.6]),
    st.sampled_from([None, 0.4, 0.7]),
    st.sampled_from([(0.7, 0.4), (0.5, 0.5)]),
    st.sampled_from([1, 2, 100]),
)
@examples(300, derandomize=True)
def test_across_prompts_against_all_pairs(
    members: list[tuple[float, str]],
    min_gap: float,
    max_gap: float | None,
    thresholds: tuple[float, float],
    number: int,
) -> None:
    """Each chosen answer gets the requested number of allowed rejected ones, or all."""
    high, low = thresholds
    scores = [score for score, _ in members]
    answers = "".join(answer for _, answer in members)
    expected = {
        (chosen, rejected)
        for chosen in range(len(scores))
        for rejected in range(len(scores))
        if scores[chosen] >= high
        and scores[rejected] <= low
        and scores[chosen] > scores[rejected]
        and answers[chosen] != answers[rejected]
        and min_gap <= round(scores[chosen] - scores[rejected], 9) <= (max_gap or 1.0)
    }
    pairs = _across(
        scores,
        answers,
        min_gap=min_gap,
        max_gap=max_gap,
        high_threshold=high,
        low_threshold=low,
        rejected_per_chosen=number,
    )
    shares = Counter(chosen for chosen, _ in expected)
    assert set(pairs) <= expected
    assert len(set(pairs)) == len(pairs)
    assert Counter(chosen for chosen, _ in pairs) == {
        chosen: min(number, share) for chosen, share in shares.items()
    }


def _count_gaps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Collects every gap that is computed from now on."""
    seen: list[float] = []

    def counted(chosen: float, rejected: float) -> float:
        seen.append(rejected)
        return gap_between(chosen, rejected)

    monkeypatch.setattr("prefpairs.strategies.stratified.gap_between", counted)
    return seen


@pytest.mark.parametrize("number", [1, 5])
def test_across_prompts_never_tries_all(number: int) -> None:
    """The work grows with the output, not with highs times lows."""
    answers = Looks([_identity(place) for place in range(2 * SIZE)])
    options = PairOptions(rejected_per_chosen=number)
    pairs = stratified_across_prompts([1.0] * SIZE + [0.0] * SIZE, answers, _identity, options)
    assert len(list(pairs)) == number * SIZE
    assert answers.count <= 20 * (number + 1) * SIZE


def test_across_prompts_never_tries_all_equal_answers() -> None:
    """If all answers are equal, no good one is compared with all bad ones."""
    answers = Looks([b"yes"] * 2 * SIZE)
    pairs = stratified_across_prompts(
        [1.0] * SIZE + [0.0] * SIZE, answers, _identity, PairOptions()
    )
    assert list(pairs) == []
    assert answers.count <= 40 * SIZE


def test_across_prompts_never_tries_all_wrong_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """If only one bad answer is far enough away, it is found without visiting the others."""
    tried = _count_gaps(monkeypatch)
    scores = [0.95] * SIZE + [0.0] + [0.4] * (SIZE - 1)
    assert len(_across(scores, min_gap=0.9)) == SIZE
    assert len(tried) <= 40 * SIZE


def test_across_prompts_never_tries_all_answers_that_would_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same if half of the low answers are too close and all others but one are equal."""
    tried = _count_gaps(monkeypatch)
    scores = [0.95] * SIZE + [0.0] * (SIZE // 2) + [0.4] * (SIZE // 2)
    answers = "y" * SIZE + "y" * (SIZE // 2 - 1) + "n" + "n" * (SIZE // 2)
    pairs = _across(scores, answers, min_gap=0.9)
    assert pairs == [(chosen, SIZE + SIZE // 2 - 1) for chosen in range(SIZE)]
    assert len(tried) <= 40 * SIZE
