"""filter: pairs that pass every condition stay."""

from typing import Any

import pytest
from run_stage import Row, row_of, said, staged

from prefpairs.stages.filter import Filter


def _why_not(row: Row, **conditions: Any) -> str | None:
    kept, counts = staged(Filter(**conditions), [row])
    assert len(kept) + counts.dropped.total() == counts.found == 1
    return next(iter(counts.dropped), None)


def _scored(chosen: float | None, rejected: float | None, **more: Any) -> Row:
    return row_of("Q", chosen_score=chosen, rejected_score=rejected, **more)


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ({"min_gap": 0.1}, None),
        ({"min_gap": 0.11}, "gap_too_small"),
        ({"max_gap": 0.1}, None),
        ({"max_gap": 0.09}, "gap_too_large"),
        ({"min_chosen_score": 0.9}, None),
        ({"min_chosen_score": 0.91}, "score_too_low"),
        ({"max_chosen_score": 0.9}, None),
        ({"max_chosen_score": 0.89}, "score_too_high"),
        ({"min_rejected_score": 0.8}, None),
        ({"min_rejected_score": 0.81}, "score_too_low"),
        ({"max_rejected_score": 0.8}, None),
        ({"max_rejected_score": 0.79}, "score_too_high"),
        ({"min_gap": 0.1, "max_gap": 0.1}, None),
        ({}, None),
    ],
)
def test_bounds_of_numbers(conditions: Row, reason: str | None) -> None:
    """Bounds are inclusive, and numbers are decimal: 0.9 - 0.8 is 0.1."""
    assert _why_not(_scored(0.9, 0.8), **conditions) == reason


@pytest.mark.parametrize(
    "bound",
    [
        {"min_gap": -9},
        {"max_gap": 9},
        {"min_chosen_score": -9},
        {"max_chosen_score": 9},
        {"min_rejected_score": -9},
        {"max_rejected_score": 9},
    ],
)
def test_number_that_is_not_known(bound: dict[str, float]) -> None:
    """An unknown number fails every bound on it, and no other."""
    assert _why_not(_scored(None, None), **bound) == "score_unknown"
    known = {"chosen": _scored(1, None), "rejected": _scored(None, 1), "gap": row_of("Q", gap=0.5)}
    assert _why_not(known[next(iter(bound)).split("_")[1]], **bound) is None


def test_gap_of_zero_and_score_of_zero_are_known() -> None:
    """A gap or score of zero is known."""
    row = _scored(0, 0)
    assert [_why_not(row, min_gap=0), _why_not(row, min_gap=0.1)] == [None, "gap_too_small"]
    assert _why_not(row, max_chosen_score=0, min_rejected_score=0) is None


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ({"min_prompt_chars": 3}, None),
        ({"min_prompt_chars": 4}, "too_short"),
        ({"max_prompt_chars": 3}, None),
        ({"max_prompt_chars": 2}, "too_long"),
        ({"min_answer_chars": 2}, None),
        ({"min_answer_chars": 3}, "too_short"),
        ({"max_answer_chars": 6}, None),
        ({"max_answer_chars": 5}, "too_long"),
        ({"max_length_ratio": 3}, None),
        ({"max_length_ratio": 2.9}, "length_ratio"),
        ({"min_prompt_chars": 0, "max_prompt_chars": 9}, None),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_bounds_of_lengths(conditions: Row, reason: str | None, swapped: bool) -> None:
    """Bounds count characters, not bytes, of the shorter and the longer answer."""
    answers = ("\u00fc\U0001f600abcd", "no")
    row = row_of("Que", *reversed(answers) if swapped else answers)
    assert _why_not(row, **conditions) == reason


def test_length_is_of_all_that_a_text_says() -> None:
    """The length includes thinking, calls and line breaks between them."""
    chosen = [{"role": "assistant", "content": "ab", "reasoning_content": "hm"}]
    row = row_of("Q", "abcdefg")
    row["chosen"] = chosen + said("", "{}")  # "hm\nab\nf {}"
    assert _why_not(row, max_answer_chars=10) is None
    assert _why_not(row, max_answer_chars=9) == "too_long"


def test_first_condition_that_fails_is_named() -> None:
    """The first failing condition is the reason; unknown numbers come before all others."""
    meta = {"finish_reason": "length"}
    row = row_of("Q", "I cannot do that, my friend", "no", chosen_score=1, meta=meta)
    conditions: Row = {"max_tokens": 1, "count_tokens": len}
    reasons = [_why_not(row, **conditions)]
    for more in (
        {"drop_refusals": True},
        {"drop_truncated": True},
        {"max_length_ratio": 2.0},
        {"max_answer_chars": 5},
        {"min_answer_chars": 3},
        {"min_chosen_score": 2},
        {"min_gap": 0},
    ):
        conditions.update(more)
        reasons.append(_why_not(row, **conditions))
    assert reasons == [
        "too_many_tokens",
        "refusal",
        "truncated",
        "length_ratio",
        "too_long",
        "too_short",
        "score_too_low",
        "score_unknown",
    ]


@pytest.mark.parametrize(("most", "reason"), [(8, None), (7, "too_many_tokens")])
@pytest.mark.parametrize("swapped", [False, True])
def test_tokens(most: int, reason: str | None, swapped: bool) -> None:
    """Tokens are those of the prompt and the longer answer."""
    answers = ("a b c d e", "a b")
    row = row_of("one two three", *reversed(answers) if swapped else answers)
    conditions: Row = {"max_tokens": most, "count_tokens": lambda text: len(text.split())}
    assert _why_not(row, **conditions) == reason


def test_rejected_answer_may_refuse() -> None:
    """--drop-refusals only checks the chosen answer."""
    row = row_of("Q", "Yes", "I cannot help.")
    assert _why_not(row, drop_refusals=True) is None
    assert _why_not(row_of("Q", "I cannot help.", "Yes"), drop_refusals=True) == "refusal"


def test_passing_pairs() -> None:
    """Passing pairs are unchanged and in order; each dropped one has one reason."""
    rows = [row_of("Q", gap=gap) for gap in (0.5, 0.1, None, 0.9, 0.2)]
    places, stage = staged(Filter(min_gap=0.2, max_gap=0.5), rows)
    assert (places, stage.found, stage.kept) == ([0, 4], 5, 2)
    assert stage.dropped == {"gap_too_small": 1, "score_unknown": 1, "gap_too_large": 1}
