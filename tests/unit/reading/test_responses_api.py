"""Items of the Responses API to chat messages, for requests and answers."""

from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.fields.responses_api import chat_of, prompt_of, tools_of
from prefpairs.fields.row_outcome import Unusable

USER = {"role": "user", "content": "Q"}
SYSTEM = {"role": "system", "content": "S"}
CALL = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "x"}


def _said(content: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


@pytest.mark.parametrize(
    ("params", "prompt"),
    [
        ({"input": "Q"}, [USER]),
        ({"input": " "}, []),
        ({}, []),
        ({"input": [USER], "instructions": ""}, [USER]),
        ({"input": [USER], "instructions": "I"}, [{"role": "system", "content": "I"}, USER]),
        ({"input": [SYSTEM], "instructions": "I"}, [{"role": "system", "content": "I\n\nS"}]),
        ({"input": [SYSTEM, SYSTEM, USER]}, [{"role": "system", "content": "S\n\nS"}, USER]),
        ({"input": [SYSTEM, USER, SYSTEM]}, [SYSTEM, USER, SYSTEM]),
        ({"input": [], "instructions": "I"}, []),
        ({"input": [], "metadata": {"problem_statement": "Q"}}, [USER]),
        ({"input": "R", "metadata": {"problem_statement": "Q"}}, [{**USER, "content": "R"}]),
        ({"input": "", "metadata": {"problem_statement": 5}}, []),
    ],
)
def test_prompt_of(params: dict[str, Any], prompt: list[Any]) -> None:
    """Text, items, instructions, and the task of coding agents."""
    assert prompt_of(params) == prompt


def test_system_message_of_parts_stays_by_itself() -> None:
    """A system message with an image is not joined with others."""
    image = {"role": "system", "content": [{"type": "input_image", "image_url": "data:x"}]}
    prompt = prompt_of({"input": [SYSTEM, image, USER], "instructions": "I"})
    assert [turn["content"] for turn in prompt[:1]] == ["I\n\nS"]
    assert [turn["role"] for turn in prompt] == ["system", "system", "user"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"input": 5}, "responses_create_params.input"),
        ({"input": [5]}, "responses_create_params.input.0"),
        ({"input": [{"role": "x"}]}, "responses_create_params.input.0.role"),
        ({"input": "Q", "instructions": 5}, "responses_create_params.instructions"),
    ],
)
def test_requests_that_are_bad(params: dict[str, Any], field: str) -> None:
    """The error names the field."""
    with pytest.raises(BadField) as caught:
        prompt_of(params)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("items", "chat"),
    [
        ([], []),
        ([_said("A"), _said("B")], [_said("AB")]),
        ([_said("A"), USER, _said("B")], [_said("A"), USER, _said("B")]),
        ([_said("")], [_said("")]),
        ([{"type": "reasoning", "summary": []}], []),
        ([{"type": "", **USER}], [USER]),
        (
            [_said("A", reasoning="hm"), {"type": "reasoning", "summary": [{"text": " ho "}]}],
            [_said("A", reasoning_content="hm\nho")],
        ),
    ],
)
def test_chat_of(items: list[Any], chat: list[Any]) -> None:
    """Consecutive items of the model are one message."""
    assert chat_of(items, "output") == chat


@pytest.mark.parametrize(
    ("thought", "text"),
    [
        ({"summary": [{"text": "a"}, {"text": " "}, {"text": "b"}]}, "a\nb"),
        ({"summary": [], "content": [{"text": "c"}]}, "c"),
        ({"summary": [{"text": " "}], "content": [{"text": "c"}]}, "c"),
        ({"summary": [{"text": "a"}], "content": [{"text": "c"}]}, "a"),
        ({"role": "assistant", "content": [{"text": "c"}]}, "c"),
    ],
)
def test_thoughts(thought: dict[str, Any], text: str) -> None:
    """Reasoning is the summary, else the content; never part of the answer."""
    chat = chat_of([{"type": "reasoning", **thought}, _said("A")], "output")
    assert chat == [_said("A", reasoning_content=text)]


def test_calls_and_results() -> None:
    """Arguments and results become text; a result without an ID is not matched by name."""
    items = [
        {**CALL, "arguments": {"b": 1}},
        {**CALL, "arguments": None, "call_id": None},
        {"type": "function_call_output", "output": {"a": 1}},
    ]
    turn, result = chat_of(items, "output")
    assert [call["function"]["arguments"] for call in turn["tool_calls"]] == ['{"b":1}', "{}"]
    assert [call["id"] for call in turn["tool_calls"]] == ["x", ""]
    assert result == {"role": "tool", "content": '{"a":1}', "tool_call_id": ""}


@pytest.mark.parametrize(
    "item",
    [
        {"type": "mcp_call"},
        {"role": "assistant", "content": [{"type": "input_image", "image_url": "data:x"}]},
    ],
)
def test_items_that_have_no_form(item: dict[str, Any]) -> None:
    """Such items drop the row, with their name."""
    with pytest.raises(Unusable) as caught:
        chat_of([item], "output")
    assert caught.value.reason == "unsupported_item"


@pytest.mark.parametrize(
    ("tools", "chat_tools"),
    [
        (None, None),
        ([], None),
        ("[]", None),
        ([{"type": "web_search"}], [{"type": "web_search"}]),
        (
            '[{"strict": true, "description": null, "name": "f", "type": "function"}]',
            [{"type": "function", "function": {"name": "f"}}],
        ),
    ],
)
def test_tools_of(tools: Any, chat_tools: list[Any] | None) -> None:
    """Flat tools are converted to chat completions; an empty list equals none."""
    assert tools_of({"tools": tools}) == chat_tools
