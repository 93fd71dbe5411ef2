"""Traits of an answer that need no understanding of it."""

import time
from typing import Any

import pytest

from prefpairs.analysis.shortcuts import SHORTCUTS, Traits, traits_of_sides
from prefpairs.model.pair import pair_of
from prefpairs.model.tool_calls import tool_call

Turn = dict[str, Any]


def traits(answer: str | list[Turn], meta: dict[str, Any] | None = None) -> Traits:
    """The traits of a chosen answer."""
    row = {"prompt": "Q", "chosen": answer, "rejected": "no", "meta": meta}
    return traits_of_sides(pair_of(row)[0])[0]


@pytest.mark.parametrize(
    ("answer", "items", "blocks"),
    [
        ("plain", 0, 0),
        ("- a\n* b\n  + c\n1. d\n2) e\n\u2022 f", 6, 0),
        ("-a\n1.b\n- \n--- \n2024. was", 0, 0),
        ("```py\nx\n```\nand\n~~~\ny\n~~~", 0, 2),
        ("open\n```", 0, 1),
        ("inline ``` is none", 0, 0),
    ],
)
def test_lists_and_code(answer: str, items: int, blocks: int) -> None:
    """List items and code blocks are counted."""
    assert traits(answer)[1:3] == (items, blocks)


def test_turns_of_a_chat() -> None:
    """Calls and thinking are counted, and the length is of the whole chat."""
    turns: list[Turn] = [
        {
            "role": "assistant",
            "content": "Hi",
            "reasoning_content": "hm",
            "tool_calls": [tool_call("f", "{}", "call_1")],
        },
        {"role": "tool", "content": "1", "tool_call_id": "call_1"},
    ]
    assert traits(turns) == Traits(len("hm\nHi\nf {}\n1"), 0, 0, False, False, True, True)


def test_thinking_in_text() -> None:
    """Inline thinking counts as reasoning, too."""
    assert traits("<think>hm</think>Yes").thinks is True
    assert traits("I think so").thinks is False


def test_refusals_and_cut_off_answers() -> None:
    """Refusals and truncation are recognized as in filter."""
    assert traits("I'm sorry, but I can't help with that.").refuses is True
    assert traits("```\nx").truncated is True
    assert traits("x", {"chosen_finish_reason": "length"}).truncated is True
    assert traits("x", {"rejected_finish_reason": "length"}).truncated is False


def test_every_shortcut_has_a_trait() -> None:
    """The table of shortcuts has each trait once."""
    assert sorted(trait for trait, _ in SHORTCUTS.values()) == sorted(Traits._fields)


@pytest.mark.parametrize("sign", [" ", "- ", "1", "`", "\n", "<think>", "- \n"])
def test_long_answers_take_no_more_than_their_length(sign: str) -> None:
    """A megabyte of any character is scanned at once, in linear time."""
    started = time.process_time()
    traits(sign * (1_000_000 // len(sign)) + "x")
    assert time.process_time() - started < 1
