"""The chat template of the tiny model."""

from typing import Any

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from prefpairs.chat.template import TemplateFacts, facts_of
from prefpairs.engine.rehearse import CHAT_TEMPLATE

USER = {"role": "user", "content": "Q"}
AYE = {"role": "assistant", "content": "Aye"}
TOOL = {"type": "function", "function": {"name": "add"}}


def _text(*messages: Any, **more: Any) -> str:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    return environment.from_string(CHAT_TEMPLATE).render(messages=messages, **more)


def _calling(arguments: Any) -> Any:
    function = {"name": "add", "arguments": arguments}
    return {"role": "assistant", "content": "", "tool_calls": [{"function": function}]}


def test_turns() -> None:
    """ChatML: a role, a text and an end-of-turn token."""
    assert _text({"role": "system", "content": "S"}, USER, AYE) == (
        "<|im_start|>system\nS<|im_end|>\n"
        "<|im_start|>user\nQ<|im_end|>\n"
        "<|im_start|>assistant\nAye<|im_end|>\n"
    )


@pytest.mark.parametrize("prompt", [[USER], [USER, AYE, USER], [USER, _calling({"a": 1})]])
@pytest.mark.parametrize("answer", [AYE, _calling({"a": 2}), {**AYE, "reasoning_content": "hm"}])
@pytest.mark.parametrize("tools", [None, [TOOL]])
def test_prompt_is_where_the_whole_begins(prompt: Any, answer: Any, tools: Any) -> None:
    """Otherwise the trainer would cut answers in the wrong place, and warn."""
    begun = _text(*prompt, tools=tools, add_generation_prompt=True)
    assert begun.endswith("<|im_end|>\n<|im_start|>assistant\n")
    assert _text(*prompt, answer, tools=tools).startswith(begun)


def test_thinking() -> None:
    """Thinking is written before the text, as in Qwen's template."""
    assert _text({**AYE, "reasoning_content": "hm"}) == (
        "<|im_start|>assistant\n<think>\nhm\n</think>\n\nAye<|im_end|>\n"
    )


@pytest.mark.parametrize("arguments", [{"b": 1, "a": "x"}, '{"b": 1, "a": "x"}'])
def test_calls(arguments: Any) -> None:
    """Arguments of both forms give the same text."""
    assert _text(_calling(arguments)) == (
        "<|im_start|>assistant\n"
        '<tool_call>\n{"name": "add", "arguments": {"b": 1, "a": "x"}}\n</tool_call><|im_end|>\n'
    )


def test_tools() -> None:
    """Tools are described in a system message, one per line."""
    assert _text(USER, tools=[TOOL, TOOL]) == (
        "<|im_start|>system\n"
        '{"type": "function", "function": {"name": "add"}}\n'
        '{"type": "function", "function": {"name": "add"}}\n'
        "<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n"
    )
    assert _text(USER, tools=[]) == _text(USER)


def test_facts() -> None:
    """The template renders all that rows can contain, so different answers stay different."""
    assert facts_of(CHAT_TEMPLATE) == TemplateFacts(tool_args="dict", reasoning=True, system=True)
