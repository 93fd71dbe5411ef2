"""Converts a pair to an example of a target."""

from dataclasses import replace
from typing import Any

import pytest
from target_rows import (
    CALLED,
    DEEP,
    PLAIN,
    TOLD,
    TOOLS,
    call,
    calling,
    model,
    pair,
    system,
    told,
    user,
)

from prefpairs.dataset.convert_pair import LOSSY, convert_pair
from prefpairs.model.pair import Pair
from prefpairs.targets import target_named
from prefpairs.targets.base import CannotExport, ChatSupport
from prefpairs.targets.export_options import ExportOptions

SHORT = replace(target_named("openrlhf"), supports=ChatSupport())
LONG = target_named("trl")
TRAJECTORY = [calling(), told("1"), model("A")]


def _parts(given: Pair, target: Any = LONG, **words: Any) -> tuple[Any, ...]:
    example, noticed = convert_pair(given, target, ExportOptions(**words))
    assert example.pair is given
    return *example[1:], noticed


def _reason(given: Pair, target: Any = LONG, **words: Any) -> str:
    with pytest.raises(CannotExport) as caught:
        convert_pair(given, target, ExportOptions(**words))
    return caught.value.reason


def test_plain_texts() -> None:
    """Texts become chats, unless they are to stay text."""
    chat: Any = ([user("Q")], [model("Aye")], [model("Nay")], None, frozenset())
    assert _parts(PLAIN) == chat
    assert _parts(PLAIN, text=True) == ("Q", "Aye", "Nay", None, frozenset())
    assert _reason(pair([user("Q")], "A", "B"), text=True) == "not_plain_text"


def test_all_that_a_target_can_hold() -> None:
    """Only reasoning moves, to the place that was requested."""
    prompt = [system("S"), user("Q"), calling(), told("1")]
    thought = model("Aye", reasoning_content="hm")
    assert _parts(DEEP, reasoning_as="field") == (
        prompt,
        [thought],
        [model("Nay")],
        TOOLS,
        frozenset(),
    )


def test_all_that_a_target_cannot_hold() -> None:
    """Everything becomes text, and each such change is noted."""
    assert _parts(DEEP, SHORT) == (
        [
            system(f"S\n\n{TOLD}"),
            user("Q"),
            model(CALLED),
            user("<tool_response>\n1\n</tool_response>"),
        ],
        [model("<think>\nhm\n</think>\n\nAye")],
        [model("Nay")],
        None,
        {"calls_as_text", "results_as_text", "reasoning_as_text", "tools_as_text"},
    )


def test_losses_that_are_not_wanted() -> None:
    """With --lossy drop, such pairs are dropped; joined or cut turns do not count."""
    assert _reason(DEEP, SHORT, lossy="drop") == "cannot_be_held"
    assert _parts(PLAIN, SHORT, lossy="drop")[-1] == frozenset()
    joined = pair("Q", [model("A"), model("B")], "C")
    assert _parts(joined, SHORT, lossy="drop")[-1] == {"turns_joined"}
    assert frozenset({"turns_joined", "shared_turns_moved", "later_turns_left_out"}).isdisjoint(
        LOSSY
    )


@pytest.mark.parametrize(
    ("turns", "expected", "noticed"),
    [
        ("auto", [calling()], {"later_turns_left_out"}),
        ("first", [calling()], {"later_turns_left_out"}),
        ("all", TRAJECTORY, {"environment_in_answer"}),
    ],
)
def test_turns(turns: str, expected: Any, noticed: set[str]) -> None:
    """The first turn in which the sides differ, or everything after it."""
    given = pair("Q", TRAJECTORY, "B")
    assert _parts(given, turns=turns) == ([user("Q")], expected, [model("B")], None, noticed)
    ranked = target_named("nemo-rl-ranked")
    assert _parts(given, ranked, turns=turns)[1] == expected


def test_shared_turns() -> None:
    """Shared turns become part of the prompt, and call numbers continue there."""
    later = [model("", tool_calls=[{**call(), "id": "x"}]), told("2", "x")]
    given = pair("Q", [*TRAJECTORY, user("R"), *later], [*TRAJECTORY, user("R"), model("B")])
    prompt, chosen, rejected, _, noticed = _parts(given)
    assert prompt == [user("Q"), *TRAJECTORY, user("R")]
    assert (chosen, rejected) == ([model("", tool_calls=[call(number=2)])], [model("B")])
    assert noticed == {"shared_turns_moved"}


def test_answer_that_was_begun_in_the_prompt() -> None:
    """A turn is not split: the beginning in the prompt becomes part of both answers."""
    given = pair([user("Q"), model("So")], "A", "B")
    assert _parts(given) == (
        [user("Q")],
        [model("SoA")],
        [model("SoB")],
        None,
        {"answer_begun_in_prompt"},
    )


@pytest.mark.parametrize(
    ("given", "words", "reason"),
    [
        (pair([model("Hi")], "A", "B"), {}, "prompt_is_answer"),
        (pair("Q", [model("A")], [model("A"), user("R"), model("B")]), {}, "sides_equal"),
        (
            pair("Q", [model("A", reasoning_content="hm")], "A"),
            {"reasoning_as": "nothing"},
            "sides_equal",
        ),
        (
            pair("Q", [model("A", reasoning_content="hm")], [model("A", reasoning_content="hm\n")]),
            {},
            "sides_equal",
        ),
        (
            pair(
                "Q",
                [model("", reasoning_content="hm"), user("R"), model("A")],
                "B",
            ),
            {"reasoning_as": "field"},
            "empty_answer",
        ),
        (pair("Q", [calling(), told("1"), model("A")], [calling(), told("2"), model("A")]),
         {}, "environment_differs"),
    ],
    ids=["nothing asked", "beginning", "thoughts left out", "thoughts", "silence", "results"],
)  # fmt: skip
def test_pairs_that_can_be_no_example(given: Pair, words: Any, reason: str) -> None:
    """Both sides are compared again after all changes."""
    assert _reason(given, **words) == reason


def test_answer_that_goes_on_where_the_other_stops() -> None:
    """With --turns all they differ, even if the first turn is equal."""
    given = pair("Q", [model("A")], [model("A"), user("R"), model("B")])
    answers = _parts(given, turns="all")[1:3]
    assert answers == ([model("A")], [model("A"), user("R"), model("B")])


def test_last_message() -> None:
    """The prompt is its last message; a prompt with one message loses nothing."""
    given = pair([system("S"), user("Q")], "A", "B")
    assert _parts(given, last_message=True)[0::4] == ([user("Q")], {"history_left_out"})
    assert _parts(PLAIN, last_message=True)[0::4] == ([user("Q")], frozenset())


def test_arguments_as_objects() -> None:
    """Arguments become objects in the prompt and in both answers."""
    given = pair([user("Q"), calling(), told("1")], [calling('{"a":2}')], [calling('{"b":3}')])
    prompt, chosen, rejected, *_ = _parts(given, tool_args="dict")
    first, second, third = (turn["tool_calls"][0] for turn in (prompt[1], chosen[0], rejected[0]))
    assert first == call({"a": 1})
    assert second == call({"a": 2}, 2)
    assert third == call({"b": 3}, 2)
