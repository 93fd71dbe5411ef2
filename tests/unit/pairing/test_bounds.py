"""How many pairs the bounds of `pair` exclude."""

from collections import Counter
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.strategies import STRATEGIES, strategy_named
from prefpairs.strategies.allowed_pairs import Group
from prefpairs.strategies.bounds import Bounds, how_many
from prefpairs.strategies.options import PairOptions

LETTERS = [b"a", b"b", b"c", b"d", b"e"]
GROUP = Group([1.0, 0.8, 0.5, 0.5, 0.0], LETTERS, b"group")
TENTHS = [tenth / 10 for tenth in range(11)]


def _left_out(group: Group, **words: Any) -> tuple[int, dict[str, int]]:
    """The number of pairs made, and those that the bounds exclude."""
    options = PairOptions(**words)
    _, strategy = strategy_named(options.strategy)
    found = how_many(strategy(group, options))
    lost = Bounds(options).left_out(group, found)
    return min(found, options.max_pairs_per_group or found), dict(lost)


@pytest.mark.parametrize(
    ("words", "made", "lost"),
    [
        ({"min_gap": 0.9}, 1, {}),
        ({"min_gap": 1.1}, 0, {"gap_too_small": 1}),
        ({"max_gap": 0.1}, 0, {"gap_too_large": 1}),
        ({"min_chosen_score": 1.1}, 0, {"score_too_low": 1}),
        ({"min_chosen_score": 1.1, "min_gap": 1.1}, 0, {"score_too_low": 1}),
        ({"strategy": "sweet-spot", "min_gap": 1.1}, 0, {"gap_too_small": 1}),
        ({"strategy": "exhaustive"}, 9, {}),
        ({"strategy": "exhaustive", "min_gap": 0.5}, 6, {"gap_too_small": 3}),
        (
            {"strategy": "exhaustive", "min_gap": 0.3, "max_gap": 0.5, "max_pairs_per_group": 3},
            3,
            {"gap_too_small": 1, "gap_too_large": 2, "over_per_group": 3},
        ),
        ({"strategy": "exhaustive", "min_chosen_score": 0.8}, 7, {"score_too_low": 2}),
        ({"strategy": "stratified"}, 2, {"score_too_low": 2, "score_too_high": 5}),
        ({"strategy": "best-vs-rest", "max_pairs_per_group": 3}, 3, {"over_per_group": 1}),
        ({"strategy": "best-vs-rest", "min_gap": 0.5}, 3, {"gap_too_small": 1}),
        ({"strategy": "adjacent", "min_gap": 0.6}, 2, {"gap_too_small": 1}),
        ({"strategy": "random", "max_pairs_per_group": 3}, 3, {}),
        ({"strategy": "random", "max_pairs_per_group": 9, "min_gap": 0.5}, 6, {"gap_too_small": 3}),
    ],
)
def test_left_out(words: dict[str, Any], made: int, lost: dict[str, int]) -> None:
    """A pair that fails several bounds counts for the first of them."""
    assert _left_out(GROUP, **words) == (made, lost)


@pytest.mark.parametrize(
    ("words", "bounded"),
    [
        ({}, False),
        ({"strategy": "stratified"}, True),
        ({"strategy": "stratified", "across_prompts": True, "min_gap": 0.5}, False),
        ({"min_gap": 0.1}, True),
        ({"max_gap": 2.0}, True),
        ({"min_chosen_score": 0.0}, True),
        ({"max_pairs_per_group": 5}, True),
        ({"strategy": "random", "max_pairs_per_group": 5}, False),
    ],
)
def test_without_bounds_nothing_is_counted(words: dict[str, Any], *, bounded: bool) -> None:
    """The defaults of stratified count as bounds; pairs across prompts are not counted."""
    assert bool(Bounds(PairOptions(**words))) == bounded


@st.composite
def _groups(drawn: st.DrawFn) -> Group:
    scores = sorted(drawn(st.lists(st.sampled_from(TENTHS), max_size=7)), reverse=True)
    return Group(scores, [drawn(st.sampled_from(LETTERS)) for _ in scores], b"group")


@st.composite
def _bounds(drawn: st.DrawFn) -> dict[str, Any]:
    low, high = sorted((drawn(st.sampled_from(TENTHS)), drawn(st.sampled_from(TENTHS))))
    return {
        "min_gap": drawn(st.sampled_from([0.0, low])),
        "max_gap": drawn(st.sampled_from([None, high])),
        "min_chosen_score": drawn(st.sampled_from([None, *TENTHS])),
        "max_pairs_per_group": drawn(st.sampled_from([None, 1, 2])),
        "low_threshold": low,
        "high_threshold": high,
    }


def _one_by_one(group: Group, *, stratified: bool, **words: Any) -> Counter[str]:
    """The outcome of each pair of different answers, from scores alone."""
    became = Counter[str]()
    least = words["high_threshold"] if stratified else 0.0
    least = max(least, words["min_chosen_score"] or 0.0)
    for chosen, rejected in permutations(range(len(group.scores)), 2):
        better, worse = round(group.scores[chosen] * 10), round(group.scores[rejected] * 10)
        if better <= worse or group.digests[chosen] == group.digests[rejected]:
            continue
        if better < round(least * 10):
            became["score_too_low"] += 1
        elif stratified and worse > round(words["low_threshold"] * 10):
            became["score_too_high"] += 1
        elif better - worse < round(words["min_gap"] * 10):
            became["gap_too_small"] += 1
        elif words["max_gap"] is not None and better - worse > round(words["max_gap"] * 10):
            became["gap_too_large"] += 1
        elif became["made"] == words["max_pairs_per_group"]:
            became["over_per_group"] += 1
        else:
            became["made"] += 1
    return became


@given(group=_groups(), words=_bounds(), stratified=st.booleans())
@examples(300)
def test_each_pair_counts_once(group: Group, words: dict[str, Any], *, stratified: bool) -> None:
    """The counts equal those of a loop over all pairs."""
    strategy = "stratified" if stratified else "exhaustive"
    made, lost = _left_out(group, strategy=strategy, **words)
    assert +_one_by_one(group, stratified=stratified, **words) == +Counter({"made": made, **lost})


@given(group=_groups(), words=_bounds(), strategy=st.sampled_from([*STRATEGIES]))
@examples(300)
def test_nothing_is_lost_without_a_bound_that_does_it(
    group: Group, words: dict[str, Any], strategy: str
) -> None:
    """Only bounds that are set appear as reasons, with positive counts."""
    _, lost = _left_out(group, strategy=strategy, **words)
    reasons = {
        "score_too_low": words["min_chosen_score"] is not None or strategy == "stratified",
        "score_too_high": strategy == "stratified",
        "gap_too_small": words["min_gap"] > 0,
        "gap_too_large": words["max_gap"] is not None,
        "over_per_group": words["max_pairs_per_group"] is not None and strategy != "random",
    }
    assert all(reasons[reason] and count > 0 for reason, count in lost.items())
