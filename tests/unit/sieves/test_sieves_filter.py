"""filter: pairs that pass every condition stay."""

from typing import Any

import pytest
from sieve_driver import Row, row_of, sieved

from prefpairs.records.message import Message, Text, tool_call
from prefpairs.records.pair import pair_of
from prefpairs.sieves.filter import Filter, is_refusal, is_truncated


def _why_not(row: Row, **conditions: Any) -> str | None:
    return Filter(**conditions).why_not(pair_of(row)[0])


def _scored(chosen: float | None, rejected: float | None, **more: Any) -> Row:
    return row_of("Q", chosen_score=chosen, rejected_score=rejected, **more)


def _said(text: str, *calls: str) -> list[Message]:
    message: Message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [tool_call("f", call) for call in calls]
    return [message]


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
    """A bound includes its number, and numbers are decimal: 0.9 - 0.8 is 0.1."""
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
    """It passes no bound, and fails none that is not given."""
    assert _why_not(_scored(None, None), **bound) == "score_unknown"
    known = {"chosen": _scored(1, None), "rejected": _scored(None, 1), "gap": row_of("Q", gap=0.5)}
    assert _why_not(known[next(iter(bound)).split("_")[1]], **bound) is None


def test_gap_of_zero_and_score_of_zero_are_known() -> None:
    """Nothing is no number, and zero is one."""
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
    """Characters, not bytes; of the answers the shorter and the longer one, whichever won."""
    answers = ("\u00fc\U0001f600abcd", "no")
    row = row_of("Que", *reversed(answers) if swapped else answers)
    assert _why_not(row, **conditions) == reason


def test_length_is_of_all_that_a_text_says() -> None:
    """Thinking, calls and line breaks between them count."""
    chosen = [{"role": "assistant", "content": "ab", "reasoning_content": "hm"}]
    row = row_of("Q", "abcdefg")
    row["chosen"] = chosen + _said("", "{}")  # "hm\nab\nf {}"
    assert _why_not(row, max_answer_chars=10) is None
    assert _why_not(row, max_answer_chars=9) == "too_long"


def test_first_condition_that_fails_is_named() -> None:
    """Numbers, lengths, what was cut off, refusals, tokens; unknown ones before all others."""
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
    """The prompt and the longer answer together."""
    answers = ("a b c d e", "a b")
    row = row_of("one two three", *reversed(answers) if swapped else answers)
    conditions: Row = {"max_tokens": most, "count_tokens": lambda text: len(text.split())}
    assert _why_not(row, **conditions) == reason


@pytest.mark.parametrize(
    "answer",
    [
        "I cannot help with that.",
        "  \n I CANNOT help.",
        "I\u2019m sorry, but I can\u2019t help.",
        "Sorry, but I can't do that.",
        "I apologize, but I cannot help.",
        "I apologise, but I'm unable to help.",
        "As an AI, I have no body.",
        _said("I must decline."),
        [{"role": "tool", "content": "42"}, *_said("I won't help to tell.")],
        "I can't.",
        "I cannot",
        "Unfortunately, I will not say.",
    ],
)
def test_refusals(answer: Text) -> None:
    """Told by how an answer begins."""
    assert is_refusal(answer) is True


@pytest.mark.parametrize(
    "answer",
    [
        "Sure. I cannot say more.",
        "I cannot stress enough how good it is.",
        "I'm sorry, I can see why. Here it is.",
        "I can't helplessly watch.",
        "Icannot",
        "I apologize, but here it is.",
        "",
        "An AI, as an AI",
        _said("Yes", "I cannot "),
        [{"role": "user", "content": "I cannot see"}, *_said("Look here.")],
    ],
)
def test_no_refusals(answer: Text) -> None:
    """The same words elsewhere are none."""
    assert is_refusal(answer) is False


def test_rejected_answer_may_refuse() -> None:
    """It is often the very thing to learn."""
    row = row_of("Q", "Yes", "I cannot help.")
    assert _why_not(row, drop_refusals=True) is None
    assert _why_not(row_of("Q", "I cannot help.", "Yes"), drop_refusals=True) == "refusal"


@pytest.mark.parametrize(
    "meta",
    [
        {"finish_reason": "length"},
        {"chosen_finish_reason": "length", "rejected_finish_reason": "stop"},
        {"chosen_finish_reason": "stop", "rejected_finish_reason": "max_tokens"},
        {"stop_reason": "max_tokens"},
        {"status": "incomplete"},
        {"incomplete_details": {"reason": "max_output_tokens"}},
        {"rejected_truncated": True},
    ],
)
def test_meta_says_truncated(meta: Row) -> None:
    """Of both answers, or of one."""
    assert is_truncated(pair_of(row_of("Q", meta=meta))[0]) is True


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {"finish_reason": "stop"},
        {"finish_reason": None},
        {"truncated": False},
        {"truncated": 1},
        {"incomplete_details": {"reason": "content_filter"}},
        {"incomplete_details": None},
        {"length": "length"},
        {"prompt_finish_reason": "length"},
        {"finish_reason": ["length"]},
    ],
)
def test_meta_says_nothing_of_the_kind(meta: Row | None) -> None:
    """Other words, and other names, mean other things."""
    assert is_truncated(pair_of(row_of("Q", meta=meta))[0]) is False


@pytest.mark.parametrize(
    ("answer", "open_ended"),
    [
        ("<think>hm", True),
        ("<think>hm</think>Yes", False),
        ("hm</think>Yes", False),
        ("Look:\n```python\nprint(1)", True),
        ("Look:\n```python\nprint(1)\n```\nDone", False),
        ("   ```\nx", True),
        ("1. a list\n    ```\n    x", True),
        ("1. a list\n    ```py\n    x\n    ```", False),
        ("```x``` in a line", False),
        ("````\n```\n````", False),
        ("~~~\nx", True),
        ("the tag `<think>`", False),
        ("a ``` b", False),
        ("Yes", False),
        (_said("Look:\n```"), True),
        (_said("", '{"a": 1'), True),
        (_said("", '{"a": 1}', "[1"), True),
        (_said("", '{"a": 1}', ""), False),
        ([*_said("", "{"), {"role": "tool", "content": "?"}, *_said("Yes")], False),
        ([*_said("Yes"), {"role": "tool", "content": "```"}], False),
    ],
)
@pytest.mark.parametrize("side", ["chosen", "rejected"])
def test_answer_that_never_ends(answer: Any, open_ended: bool, side: str) -> None:
    """A thought, a block of code or a call that is open at the end of either answer."""
    pair, _ = pair_of({**row_of("Q", "Fine", "Good"), side: answer})
    assert is_truncated(pair) is open_ended


def test_sieve() -> None:
    """Those that pass stay as they came, each of the others has one reason."""
    rows = [row_of("Q", gap=gap) for gap in (0.5, 0.1, None, 0.9, 0.2)]
    places, stage = sieved(Filter(min_gap=0.2, max_gap=0.5), rows)
    assert (places, stage.found, stage.kept) == ([0, 4], 5, 2)
    assert stage.dropped == {"gap_too_small": 1, "score_unknown": 1, "gap_too_large": 1}
