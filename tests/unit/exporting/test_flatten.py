"""Converts messages to what a target supports."""

from typing import Any

import pytest
from target_rows import CALLED, TOLD, TOOLS, call, calling, model, system, told, user

from prefpairs.chat.flatten import Flattener, call_text, with_argument_objects, with_calls_as_text
from prefpairs.targets.base import CannotExport, ChatSupport
from prefpairs.targets.export_options import ExportOptions

ALL = ChatSupport(calls=True, tools=True, reasoning=True, names=True)
THOUGHT = model("A", reasoning_content="hm")


def _say(
    messages: list[Any], supports: ChatSupport = ALL, *, trained: bool = False, **words: Any
) -> tuple[list[Any], set[str]]:
    flattener = Flattener(supports, ExportOptions(**words))
    return flattener.flatten(messages, trained=trained), flattener.changes


def test_messages_that_can_be_held() -> None:
    """Supported messages stay unchanged, without notes."""
    messages = [system("S"), user("Q"), calling(content="Hm"), told("1"), model("A")]
    assert _say(messages) == (messages, set())


def test_parts_that_are_no_text() -> None:
    """Parts that are not text are rejected by every target."""
    with pytest.raises(CannotExport) as caught:
        _say([user([{"type": "image_url", "image_url": {"url": "u"}}])])
    assert caught.value.reason == "not_text"


@pytest.mark.parametrize(
    ("form", "supports", "expected", "noticed"),
    [
        ("text", ALL, model("<think>\nhm\n</think>\n\nA"), {"reasoning_as_text"}),
        ("field", ALL, THOUGHT, set()),
        ("field", ChatSupport(), model("<think>\nhm\n</think>\n\nA"), {"reasoning_as_text"}),
    ],
)
@pytest.mark.parametrize("trained", [True, False])
def test_reasoning(
    form: str, supports: ChatSupport, expected: Any, noticed: set[str], trained: bool
) -> None:
    """Reasoning goes to the text or its field, in answers and in earlier turns."""
    assert _say([THOUGHT], supports, trained=trained, reasoning_as=form) == ([expected], noticed)


def test_white_space_around_thoughts() -> None:
    """White space around reasoning is normalized; spaces before the text stay."""
    said, _ = _say([model("\n\n A", reasoning_content="\n hm\n")])
    assert said == [model("<think>\nhm\n</think>\n\n A")]


def test_reasoning_of_earlier_turns() -> None:
    """If templates omit it, it is removed, also from texts; answers keep theirs."""
    supports = ChatSupport(earlier_reasoning=False)
    block = model("<think>hm</think>\nA")
    noticed = {"earlier_reasoning_left_out"}
    assert _say([THOUGHT, user("Q"), block], supports) == (
        [model("A"), user("Q"), model("A")],
        noticed,
    )
    assert _say([block], supports, trained=True) == ([block], set())
    assert _say([model("A")], supports) == ([model("A")], set())
    assert _say([user("<think>hm</think>Q")], supports) == ([user("<think>hm</think>Q")], set())


def test_calls_as_text() -> None:
    """Calls follow the text, and results become user messages without call names."""
    messages = [user("Q"), calling(content="Hm"), told("1"), {**model("A"), "name": "bot"}]
    assert _say(messages, ChatSupport()) == (
        [
            user("Q"),
            model(f"Hm\n{CALLED}"),
            user("<tool_response>\n1\n</tool_response>"),
            model("A"),
        ],
        {"calls_as_text", "results_as_text"},
    )


def test_results_of_two_calls() -> None:
    """The results of two calls and the user's next text become one user turn."""
    two = model("", tool_calls=[call(), call('{"a": 2}', 2)])
    said, noticed = _say([two, told("1"), told("2", "call_2")], ChatSupport())
    assert said == [
        model(f"{CALLED}\n{CALLED.replace('1', '2')}"),
        user("<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>"),
    ]
    assert noticed == {"calls_as_text", "results_as_text"}
    assert _say([told("1"), user("Go on")], ChatSupport()) == (
        [user("<tool_response>\n1\n</tool_response>\n\nGo on")],
        {"results_as_text"},
    )


def test_messages_of_one_speaker() -> None:
    """Messages of one role are joined with reasoning and calls; tool results stay separate."""
    one = calling(content="A", reasoning_content="hm")
    other = model("B", reasoning_content="ho", tool_calls=[call('{"a": 2}', 2)])
    said, noticed = _say([one, other, told("1"), told("2", "call_2")], reasoning_as="field")
    joined = {**model("A\nB"), "tool_calls": [call(), call('{"a": 2}', 2)]}
    joined["reasoning_content"] = "hm\nho"
    assert (said, noticed) == ([joined, told("1"), told("2", "call_2")], {"turns_joined"})
    assert _say([user(""), user("Q"), user("R")])[0] == [user("Q\nR")]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([system("S"), user("Q")], [user("S\n\nQ")]),
        ([system("S"), system("T"), user("Q")], [user("S\nT\n\nQ")]),
        ([system(""), user("Q")], [user("Q")]),
        ([system("S"), model("A"), user("Q")], [user("S"), model("A"), user("Q")]),
        ([system("S")], [user("S")]),
        ([user("Q"), system("S"), user("R")], [user("Q\n\nS\n\nR")]),
    ],
)
def test_system_message_that_is_merged(messages: list[Any], expected: list[Any]) -> None:
    """A system message is put before the first user message."""
    assert _say(messages, system="merge")[0] == expected
    said, noticed = _say(messages, ChatSupport(calls=True, system=False))
    assert (said, noticed - {"turns_joined"}) == (expected, {"system_as_text"})


def test_prompt_without_a_system_message() -> None:
    """Without a system message, nothing is merged."""
    assert _say([user("Q")], system="merge") == ([user("Q")], set())


def test_tools_in_the_system_message() -> None:
    """Tools are described in the system message, which is created if there is none."""
    flattener = Flattener(ChatSupport(), ExportOptions())
    assert flattener.with_tools_as_text([user("Q")], TOOLS) == [system(TOLD), user("Q")]
    both = flattener.with_tools_as_text([system("S"), user("Q")], TOOLS)
    assert (both, flattener.changes) == ([system(f"S\n\n{TOLD}"), user("Q")], {"tools_as_text"})


def test_arguments_as_objects() -> None:
    """The arguments of every call are parsed; the given message is not modified."""
    two = model("A", tool_calls=[call(), call('{"b": {"c": [null]}}', 2)])
    parsed = model("A", tool_calls=[call({"a": 1}), call({"b": {"c": [None]}}, 2)])
    assert with_argument_objects([user("Q"), two]) == [user("Q"), parsed]
    assert two["tool_calls"][0] == call()
    nothing = [call(""), call(" ")]
    empty = [call({}), call({})]
    assert with_argument_objects([model("", tool_calls=nothing)]) == [model("", tool_calls=empty)]


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ('{"a', '"{\\"a"'),
        ("[1]", "[1]"),
        ('"x"', '"x"'),
    ],
)
def test_arguments_that_are_no_object(arguments: str, written: str) -> None:
    """A message with such calls gets them as text, after its own text."""
    text = f'Hm\n<tool_call>\n{{"name": "add", "arguments": {written}}}\n</tool_call>'
    said, noticed = _say([calling(arguments, "Hm"), told("1")])
    assert said == [model(text), user("<tool_response>\n1\n</tool_response>")]
    assert noticed == {"broken_arguments_as_text", "results_as_text"}
    kept = [calling(arguments, "Hm")]
    assert _say(kept, ChatSupport(calls=True, broken_calls=True)) == (kept, set())


def test_calls_next_to_text() -> None:
    """If calls must be alone, one next to text becomes text; a call without text stays."""
    supports = ChatSupport(calls=True, text_with_calls=False)
    assert _say([calling()], supports) == ([calling()], set())
    assert _say([calling(content="Hm")], supports) == ([model(f"Hm\n{CALLED}")], {"calls_as_text"})


def test_unwanted_reasoning() -> None:
    """Unwanted reasoning is removed first, from fields and from texts."""
    flattener = Flattener(ALL, ExportOptions(reasoning_as="nothing"))
    block = model("<think>hm</think>\nA")
    assert flattener.without_reasoning([user("Q"), THOUGHT, block]) == [
        user("Q"),
        model("A"),
        model("A"),
    ]
    assert flattener.changes == {"reasoning_left_out"}
    assert Flattener(ALL, ExportOptions()).without_reasoning([THOUGHT]) == [THOUGHT]


def test_users_with_names() -> None:
    """If names are supported, two users are two turns."""
    two = [{**user("a"), "name": "Ann"}, {**user("b"), "name": "Bob"}]
    assert _say(two) == (two, set())
    assert _say(two, ChatSupport()) == ([user("a\nb")], {"turns_joined"})


def test_call_as_text() -> None:
    """The name is JSON-encoded, too; arguments that are not JSON become a string."""
    function = {"name": 'a"b', "arguments": '{ "x":\n1}'}
    assert call_text({"function": function}) == (
        '<tool_call>\n{"name": "a\\"b", "arguments": { "x":\n1}}\n</tool_call>'
    )
    assert call_text(call("né")) == '<tool_call>\n{"name": "add", "arguments": "né"}\n</tool_call>'


def test_message_in_text() -> None:
    """Without text, nothing is put before calls; the rest is unchanged."""
    assert with_calls_as_text(calling()) == model(CALLED)
    assert with_calls_as_text(calling(reasoning_content="hm")) == model(
        CALLED, reasoning_content="hm"
    )
