"""Where the prompt ends and the answers begin."""

from typing import Any

import pytest
from target_rows import call, calling, model, system, told, user

from prefpairs.chat.prompt_cut import cut, first_turn
from prefpairs.targets.base import CannotExport

Q, A, B = user("Q"), model("A"), model("B")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([Q, A], [Q, B], ([Q], [A], [B])),
        ([system("S"), Q, A], [system("S"), Q, B], ([system("S"), Q], [A], [B])),
        ([Q, A, Q, A], [Q, A, Q, B], ([Q, A, Q], [A], [B])),
        ([Q, A, Q, A], [Q, B], ([Q], [A, Q, A], [B])),
        ([Q, A], [Q, A, B], ([Q], [A], [A, B])),
        ([Q, A], [Q, A, Q, B], ([Q], [A], [A, Q, B])),
        ([Q, A, A], [Q, A, B], ([Q], [A, A], [A, B])),
        ([Q, A, Q], [Q, B, Q], ([Q], [A], [B])),
        ([A, Q, A], [A, Q, B], ([A, Q], [A], [B])),
        ([Q, calling(), told("1"), A], [Q, calling(), told("1")], None),
        (
            [Q, calling(), told("1"), A],
            [Q, calling(), told("1"), B],
            ([Q, calling(), told("1")], [A], [B]),
        ),
        (
            [Q, calling('{"a":1}'), told("1"), A],
            [Q, calling('{ "a": 1 }'), told("1"), B],
            ([Q, calling('{"a":1}'), told("1")], [A], [B]),
        ),
    ],
    ids=[
        "plain",
        "system",
        "later turn",
        "other lengths",
        "beginning of a turn",
        "beginning of a conversation",
        "middle of a turn",
        "words after the answer",
        "greeting",
        "answer that stops",
        "tools",
        "forms of arguments",
    ],
)
def test_cut(one: list[Any], other: list[Any], expected: Any) -> None:
    """The longest common prompt after which both sides continue with an assistant turn."""
    if expected is None:
        expected = ([Q], [calling(), told("1"), A], [calling()])
    assert cut(one, other) == expected


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ([Q, calling(), told("1"), A], [Q, calling(), told("2"), B], "environment_differs"),
        ([Q, A, user("R"), A], [Q, A, user("S"), B], "environment_differs"),
        ([Q, A, Q, B], [Q, A, B], "environment_differs"),
        ([A], [B], "prompt_is_answer"),
        ([A, A], [A, B], "prompt_is_answer"),
    ],
)
def test_conversations_that_cannot_be_cut(one: list[Any], other: list[Any], reason: str) -> None:
    """Conversations cannot be cut if they diverge outside assistant turns or at the very start."""
    with pytest.raises(CannotExport) as caught:
        cut(one, other)
    assert caught.value.reason == reason


def test_turns_with_different_thoughts() -> None:
    """Reasoning is part of the answer, so the sides diverge there."""
    one, other = model("A", reasoning_content="hm"), model("A", reasoning_content="ho")
    assert cut([Q, one, Q, A], [Q, other, Q, A]) == ([Q], [one, Q, A], [other, Q, A])


def test_first_turn() -> None:
    """All assistant turns up to the next turn of another role."""
    two = model("", tool_calls=[call(), call(number=2)])
    assert first_turn([A, two, told("1"), B]) == [A, two]
    assert first_turn([]) == []


def test_results_of_other_calls() -> None:
    """Results that are bound to different calls are not shared."""
    one = [Q, calling(), told("1"), told("2", "call_2"), A]
    other = [Q, calling(), told("1", "call_2"), told("2"), B]
    with pytest.raises(CannotExport) as caught:
        cut(one, other)
    assert caught.value.reason == "environment_differs"
