"""Chat messages in one form."""

from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.model.content import read_content
from prefpairs.model.message import (
    Message,
    Text,
    asks_something,
    drop_reasoning,
    flat_text,
    is_messages,
    read_message,
    read_messages,
    says_something,
    split_reasoning,
)
from prefpairs.model.tool_calls import renumber_calls, tool_call


def _said(content: Any, **more: Any) -> Message:
    return {"role": "assistant", "content": content, **more}


def _calls(*names: str) -> Message:
    return _said("", tool_calls=[tool_call("f", "{}", name) for name in names])


def _result(call_id: str, content: str = "") -> Message:
    return {"role": "tool", "content": content, "tool_call_id": call_id}


def _ids(messages: list[Message]) -> list[Any]:
    return [
        [call["id"] for call in turn["tool_calls"]]
        if "tool_calls" in turn
        else turn.get("tool_call_id")
        for turn in messages
    ]


def test_keys_have_one_order_and_no_others_pass() -> None:
    """A message has only the keys of chat completions, in order."""
    given = {
        "name": "n",
        "tool_call_id": "c",
        "id": "msg_1",
        "type": "message",
        "status": "completed",
        "tool_calls": [{"function": {"name": "f", "arguments": "{}"}, "id": "c", "index": 0}],
        "reasoning_content": "hm",
        "content": "Hi",
        "role": "assistant",
    }
    assert list(read_message(given, "m").items()) == [
        ("role", "assistant"),
        ("content", "Hi"),
        ("reasoning_content", "hm"),
        (
            "tool_calls",
            [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        ),
        ("tool_call_id", "c"),
        ("name", "n"),
    ]


@pytest.mark.parametrize(
    ("role", "read"),
    [
        ("system", "system"),
        ("developer", "system"),
        ("user", "user"),
        ("assistant", "assistant"),
        ("tool", "tool"),
    ],
)
def test_roles(role: str, read: str) -> None:
    """The role developer becomes system; other roles stay."""
    assert read_message({"role": role, "content": ""}, "m") == {"role": read, "content": ""}


@pytest.mark.parametrize("role", [None, "", "human", "model", 1, ["user"], {"role": "user"}])
def test_unknown_role_is_a_bad_field(role: Any) -> None:
    """An unknown role is reported with its path."""
    with pytest.raises(BadField) as caught:
        read_messages([{"role": "user", "content": "Q"}, {"role": role, "content": ""}], "input")
    assert caught.value.field == "input.1.role"


@pytest.mark.parametrize("value", ["text", None, 1, ["role"]])
def test_message_that_is_no_object(value: Any) -> None:
    """A message must be an object."""
    with pytest.raises(BadField, match=r"m\.0"):
        read_messages([value], "m")


def test_messages_that_are_no_list() -> None:
    """An object instead of a list is a bad field."""
    with pytest.raises(BadField, match="a list of messages"):
        read_messages({"role": "user"}, "m")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_has_two_names(key: str) -> None:
    """The old and the new name that vLLM uses are equivalent."""
    assert read_message(_said("Hi", **{key: "hm"}), "m") == _said("Hi", reasoning_content="hm")


@pytest.mark.parametrize("value", [None, "", {"effort": "low"}, []])
def test_reasoning_that_is_no_text_is_left_out(value: Any) -> None:
    """A setting named like reasoning is ignored."""
    assert read_message(_said("Hi", reasoning=value), "m") == _said("Hi")


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (None, ""),
        ("Hi", "Hi"),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}], "ab"),
        ([{"type": "output_text", "text": "a", "annotations": [], "logprobs": None}], "a"),
        ([{"type": "refusal", "refusal": "No."}], "No."),
        (["a", {"type": "text", "text": "b"}], "ab"),
    ],
)
def test_content_that_is_all_text_is_one_text(value: Any, content: str) -> None:
    """Null is empty; text parts are joined without separators."""
    assert read_content(value, "m") == content


def test_content_with_an_image_stays_parts() -> None:
    """An image of the Responses API is converted to chat completions."""
    given = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": "data:x", "detail": "auto"},
    ]
    assert read_content(given, "m") == [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:x"}},
    ]


def test_content_with_chat_parts_stays_as_it_is() -> None:
    """Parts in chat form stay unchanged."""
    given = [{"type": "image_url", "image_url": {"url": "u", "detail": "low"}}]
    assert read_content(given, "m") == given


@pytest.mark.parametrize(
    "value",
    [
        1,
        {"text": "a"},
        [{"text": "a"}],
        [1],
        [{"type": "text"}],
        [{"type": "text", "text": None}],
        [{"type": ["text"], "text": "a"}],
    ],
)
def test_content_of_another_type(value: Any) -> None:
    """Content must be text or a list of typed parts."""
    with pytest.raises(BadField, match=r"m\.content"):
        read_content(value, "m")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", ""),
        ("not json", "not json"),
        ({"a": 1}, '{"a":1}'),
        ({}, "{}"),
        (None, "{}"),
    ],
)
def test_arguments_become_text(arguments: Any, text: str) -> None:
    """Arguments are the model's text, or the value as JSON."""
    given = _said(None, tool_calls=[{"id": "c", "function": {"name": "f", "arguments": arguments}}])
    assert read_message(given, "m") == _said("", tool_calls=[tool_call("f", text, "c")])


def test_arguments_may_be_missing() -> None:
    """A call may have no arguments."""
    given = _said(None, tool_calls=[{"function": {"name": "f"}}])
    assert read_message(given, "m")["tool_calls"] == [tool_call("f", "{}", "")]


def test_flat_calls_are_read() -> None:
    """Calls with name and arguments next to the ID are accepted."""
    given = _said(None, tool_calls=[{"id": "c", "name": "f", "arguments": {"x": 1}}])
    assert read_message(given, "m")["tool_calls"] == [tool_call("f", '{"x":1}', "c")]


@pytest.mark.parametrize("calls", [None, []])
def test_empty_calls_are_none(calls: Any) -> None:
    """Empty calls are omitted."""
    assert read_message(_said("Hi", tool_calls=calls), "m") == _said("Hi")


@pytest.mark.parametrize(
    "calls",
    [{"name": "f"}, "f", ["f"], [{}], [{"function": {"name": 1}}], [{"function": None}]],
)
def test_calls_of_another_type(calls: Any) -> None:
    """A call must have a name."""
    with pytest.raises(BadField, match=r"m\.tool_calls"):
        read_message(_said("", tool_calls=calls), "m")


@pytest.mark.parametrize(
    ("value", "chat"),
    [
        ([{"role": "user", "content": "Q"}], True),
        ([{"role": "developer"}], True),
        ([], False),
        ("text", False),
        ([{"role": "human"}], False),
        ([{"content": "Q"}], False),
        ([{"role": "user"}, "text"], False),
        ([["role", "user"]], False),
        ([{"role": ["user"]}], False),
        ([{"role": {}}], False),
    ],
)
def test_is_messages(value: Any, chat: bool) -> None:
    """A chat is a non-empty list of objects with known roles."""
    assert is_messages(value) is chat


@pytest.mark.parametrize(
    ("content", "answer", "reasoning"),
    [
        ("<think>\nhm\n</think>\n\nYes", "Yes", "hm"),
        ("hm</think>Yes", "Yes", "hm"),
        ("  <think>hm</think>Yes ", "Yes ", "hm"),
        ("<think>hm", "", "hm"),
        ("<think>a</think>Yes</think>", "Yes</think>", "a"),
        ("<think>a</think>\n<think>b</think>Yes", "Yes", "a\nb"),
        ("a</think> <think>b", "", "a\nb"),
        ("<think>hm</think>", "", "hm"),
    ],
)
def test_inline_thinking_is_moved(content: str, answer: str, reasoning: str) -> None:
    """Inline thinking is recognized by both tags, or by only one of them."""
    assert split_reasoning(_said(content)) == _said(answer, reasoning_content=reasoning)


def test_empty_thinking_is_cut_out() -> None:
    """Empty thinking blocks, which some templates write, are removed."""
    assert split_reasoning(_said("<think>\n\n</think>\n\nYes")) == _said("Yes")


@pytest.mark.parametrize(
    "content", ["Yes", "", "I think> so", "Yes <think>hm", [{"type": "image_url"}]]
)
def test_content_without_thinking_stays(content: Any) -> None:
    """Only a block at the beginning counts as thinking."""
    assert split_reasoning(_said(content)) == _said(content)


def test_inline_thinking_follows_what_is_known() -> None:
    """Reasoning in its own field comes before inline thinking; other keys stay."""
    given = _said("b</think>Yes", reasoning_content="a", tool_calls=[tool_call("f", "{}")])
    assert list(split_reasoning(given).items()) == [
        ("role", "assistant"),
        ("content", "Yes"),
        ("reasoning_content", "a\nb"),
        ("tool_calls", [tool_call("f", "{}")]),
    ]


def test_reasoning_is_dropped() -> None:
    """Reasoning is dropped; everything else stays."""
    assert drop_reasoning(_said("Yes", reasoning_content="hm", name="n")) == _said("Yes", name="n")


def test_blocks_of_thinking_in_the_text_are_dropped_too() -> None:
    """Blocks inside the text are dropped, too."""
    given = _said("So <think>hm</think>yes. <think>really?</think> Yes.")
    assert drop_reasoning(given) == _said("So yes. Yes.")


def test_calls_are_renumbered_in_order() -> None:
    """IDs become numbers, counted over all messages."""
    chat = [_calls("x9"), _result("x9"), _calls("a2"), _result("a2")]
    assert _ids(renumber_calls(chat)) == [["call_1"], "call_1", ["call_2"], "call_2"]


def test_parallel_calls_are_answered_by_name() -> None:
    """Results in another order are assigned by name."""
    chat = [_calls("a", "b", "c"), _result("c"), _result("a"), _result("b")]
    assert _ids(renumber_calls(chat)) == [
        ["call_1", "call_2", "call_3"],
        "call_3",
        "call_1",
        "call_2",
    ]


def test_repeated_names_are_answered_oldest_first() -> None:
    """Of two open calls with the same name, the older one is answered first."""
    chat = [_calls("a", "a"), _result("a"), _result("a"), _calls("a"), _result("a")]
    assert _ids(renumber_calls(chat)) == [
        ["call_1", "call_2"],
        "call_1",
        "call_2",
        ["call_3"],
        "call_3",
    ]


def test_result_of_an_unknown_name_answers_the_oldest_open_call() -> None:
    """A result with an unknown name answers the oldest open call."""
    chat = [_calls("", ""), _result("x"), _result("y")]
    assert _ids(renumber_calls(chat)) == [["call_1", "call_2"], "call_1", "call_2"]


def test_renumbering_keeps_the_order_of_keys() -> None:
    """A normalized line stays the same, also if a tool message has reasoning and no name."""
    result = {"role": "tool", "content": "42", "reasoning_content": "hm", "name": "f"}
    (_, renumbered) = renumber_calls([_calls("a"), result])
    assert list(renumbered) == ["role", "content", "reasoning_content", "tool_call_id", "name"]


def test_result_without_any_call_loses_its_id() -> None:
    """A result without a call loses its ID, so that it cannot refer to another call."""
    (renumbered,) = renumber_calls([_result("x", "42")])
    assert renumbered == {"role": "tool", "content": "42"}


def test_renumbering_leaves_its_input_alone() -> None:
    """The given messages are not modified."""
    chat = [_calls("a"), _result("a")]
    renumber_calls(chat)
    assert chat == [_calls("a"), _result("a")]


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (_said("Yes"), True),
        (_said(" \n"), False),
        (_said(""), False),
        (_said("", reasoning_content="hm"), False),
        (_calls("a"), True),
        (_said([{"type": "image_url"}]), True),
        (_said([]), False),
    ],
)
def test_says_something(message: Message, says: bool) -> None:
    """Text or a tool call is an answer; reasoning alone is not."""
    assert says_something(message) is says


IMAGE = {"type": "image_url", "image_url": {"url": "a"}}


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ("as it is ", "as it is "),
        ([], ""),
        ([_said("Hi")], "Hi"),
        ([{"role": "user", "content": "Q"}, _said("A")], "Q\nA"),
        ([_said("Yes", reasoning_content="hm")], "hm\nYes"),
        (
            [_said("Look", tool_calls=[tool_call("f", '{"a": 1}'), tool_call("g", "")])],
            'Look\nf {"a": 1}\ng ',
        ),
        ([_said(""), _said("A")], "A"),
        ([_said([{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}])], "ab"),
        ([_said([IMAGE])], ""),
    ],
)
def test_flat_text(text: Text, flat: str) -> None:
    """Thinking, text and calls, one per line; other parts are omitted."""
    assert flat_text(text) == flat


@pytest.mark.parametrize(
    ("prompt", "asks"),
    [
        ("Q", True),
        (" \n", False),
        ([], False),
        ([{"role": "user", "content": " "}], False),
        ([{"role": "system", "content": "S"}], True),
        ([{"role": "user", "content": ""}, {"role": "user", "content": "Q"}], True),
        ([{"role": "user", "content": [IMAGE]}], True),
        ([_calls("a")], True),
    ],
)
def test_asks_something(prompt: Text, asks: bool) -> None:
    """A prompt needs text, an image or a call in any message."""
    assert asks_something(prompt) is asks
