"""Truncated answers."""

import time
from typing import Any

import pytest
from run_stage import Row, row_of, said

from prefpairs.model.pair import pair_of
from prefpairs.stages.answer_defects import is_truncated


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
    """Meta marks both answers as truncated, or one."""
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
    """Other values and other names do not."""
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
        (said("Look:\n```"), True),
        (said("", '{"a": 1'), True),
        (said("", '{"a": 1}', "[1"), True),
        (said("", '{"a": 1}', ""), False),
        ([*said("", "{"), {"role": "tool", "content": "?"}, *said("Yes")], False),
        ([*said("Yes"), {"role": "tool", "content": "```"}], False),
    ],
)
@pytest.mark.parametrize("side", ["chosen", "rejected"])
def test_answer_that_never_ends(answer: Any, open_ended: bool, side: str) -> None:
    """Open thinking, code blocks or calls at the end of either answer count as truncated."""
    pair, _ = pair_of({**row_of("Q", "Fine", "Good"), side: answer})
    assert is_truncated(pair) is open_ended


def test_white_space_costs_no_more_than_letters() -> None:
    """A text of only newlines takes linear time."""
    pair, _ = pair_of(row_of("Q", "\n" * 200_000 + "Yes", "No"))
    before = time.process_time()
    assert is_truncated(pair) is False
    assert time.process_time() - before < 1
