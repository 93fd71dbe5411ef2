"""Chat messages in one form: that of chat completions."""

import re
from collections.abc import Callable
from typing import Any

from prefpairs.errors import BadField
from prefpairs.model.content import as_parts, read_content, with_content_beside
from prefpairs.model.json_codec import finite
from prefpairs.model.tool_calls import in_order, read_calls

Message = dict[str, Any]
Text = str | list[Message]
"""A prompt or a response: plain text, or a chat."""

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_PLAIN = {"role", "content", "type"}
_SHAREGPT = {"system": "system", "human": "user", "gpt": "assistant"}
"""The roles in the `from` / `value` form of many published datasets."""

# Possessive quantifiers: otherwise a megabyte of spaces would take minutes.
_CLOSING_TAG = re.compile(r"\s*+(?:<think>)?+(.*?)</think>\s*", re.DOTALL)
_OPEN_TAG = re.compile(r"\s*+<think>(.*)\Z", re.DOTALL)
_BLOCK = re.compile(r"<think>(.*?)</think>\s*", re.DOTALL)
END_OF_THINKING = "</think>"
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
_ONE_CALL = ("function_call", "tool_call")
"""The keys that hold one call, from before messages had lists of calls."""

OTHER_KEYS = (*REASONING_KEYS, *_ONE_CALL, "tool_calls")
"""The keys of a message that hold reasoning and calls."""

_ASKS = re.compile(
    r"(?:<\|im_start\|>assistant|<\|(?:start_header_id|start_of_role)\|>assistant<\|[a-z_]+\|>"
    r"|<start_of_turn>model|<\|turn>model|\[/INST\]|<\|[Aa]ssistant\|>|<\uff5cAssistant\uff5c>"
    r"|<\|start\|>assistant|<\|CHATBOT_TOKEN\|>)\s*+(?:<think>\s*+(?:</think>\s*+)?)?\Z"
)
"""How a chat template ends a prompt for the assistant's turn."""
_ASKS_IN_WORDS = re.compile(r"(?:assistant|model)\n++(?:<think>\s*+(?:</think>\s*+)?)?\Z")
_BEGINS_IN_WORDS = tuple(f"{role}\n" for role in ("system", "developer", "user"))
"""How a rendered prompt begins if special tokens were removed: the role names remain."""
_LONGEST_ASKING = 120

RENDERED = "prompt_rendered"
"""The key in meta for prompts made by a chat template; some leave no trace in the text."""


class Unclear(Exception):
    """A rendered text has several possible conversations."""


def asks_by_template(text: Text) -> bool:
    r"""Whether a prompt ends as chat templates end it, so that one was applied already.

    >>> asks_by_template("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    True
    >>> asks_by_template("user\nHi\nassistant\n")
    True
    """
    words = text if isinstance(text, str) else text[-1]["content"] if text else None
    if not isinstance(words, str):
        return False
    end = words[-_LONGEST_ASKING:]
    if (">" in end or "[/INST]" in end) and _ASKS.search(end) is not None:
        return True
    return words.startswith(_BEGINS_IN_WORDS) and _ASKS_IN_WORDS.search(end) is not None


def opens_thinking(prompt: Text) -> bool:
    r"""Whether a rendered prompt ends in `<think>`, so that the answer begins with thinking.

    >>> opens_thinking("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n")
    True
    >>> opens_thinking("What is <think>")
    False
    """
    words = prompt if isinstance(prompt, str) else prompt[-1]["content"] if prompt else None
    if not isinstance(words, str) or not words[-_LONGEST_ASKING:].rstrip().endswith("<think>"):
        return False
    return asks_by_template(prompt)


def generation_prompt(text: str) -> str:
    r"""How a template ends a prompt for the assistant's turn, special tokens included; else empty.

    >>> generation_prompt("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    '<|im_start|>assistant\n'
    """
    found = _ASKS.search(text[-_LONGEST_ASKING:])
    return found[0] if found else ""


def read_messages(value: Any, field: str) -> list[Message]:
    """The messages of a list in chat-completions form.

    >>> read_messages([{"content": "Hi", "role": "developer", "id": 7}], "prompt")
    [{'role': 'system', 'content': 'Hi'}]
    """
    if not isinstance(value, list):
        raise BadField(field, value, "a list of messages")
    return [read_message(item, f"{field}.{place}") for place, item in enumerate(value)]


def read_message(value: Any, field: str) -> Message:
    """One message in chat-completions form."""
    if not isinstance(value, dict):
        raise BadField(field, value, "a message")
    if (
        value.keys() <= _PLAIN
        and isinstance(value.get("content"), str)
        and (role := _role_of(value))
    ):
        return {"role": role, "content": value["content"]}
    if "role" not in value and "from" in value:
        value = {**value, "role": _SHAREGPT.get(str(value["from"])), "content": value.get("value")}
    role = _role_of(value)
    if role is None:
        raise BadField(f"{field}.role", value.get("role"), "system, user, assistant or tool")
    content = with_content_beside(read_content(value.get("content"), field), value)
    calls, others = _calls_of(value, field)
    reasoning = next((value[key] for key in REASONING_KEYS if value.get(key)), None)
    if isinstance(reasoning, list):
        others.append({"type": "reasoning", "reasoning": finite(reasoning)})
    message: Message = {"role": role, "content": content}
    if others:
        message["content"] = [*as_parts(content), *others]
    if isinstance(reasoning, str):
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message | _names_of(value)


def _names_of(message: dict[str, Any]) -> dict[str, str]:
    """The id of the call that a message answers, and its name. Some programs number calls."""
    call, name = message.get("tool_call_id"), message.get("name")
    names = {"tool_call_id": str(call)} if isinstance(call, (str, int)) else {}
    return {**names, "name": name} if isinstance(name, str) else names


def _calls_of(message: dict[str, Any], field: str) -> tuple[list[dict[str, Any]], list[Any]]:
    """The calls of a message, and parts for values under the keys of calls that are not calls."""
    listed = message.get("tool_calls")
    calls = read_calls(listed, f"{field}.tool_calls") if listed else []
    others = []
    for key in _ONE_CALL:
        call = message.get(key)
        if isinstance(call, dict) and call:
            (read,) = read_calls([call], f"{field}.{key}")
            if read["function"] not in [known["function"] for known in calls]:
                calls.append(read)
        elif call:
            others.append({"type": key, key: finite(call)})
    return calls, others


def _role_of(message: dict[str, Any]) -> str | None:
    if "role" not in message:
        return _SHAREGPT.get(str(message.get("from")))
    role = message["role"]
    return _ROLES.get(role) if isinstance(role, str) else None


def is_messages(value: Any) -> bool:
    """Whether a value is a chat and not another structure."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and _role_of(item) for item in value)
    )


def split_reasoning(message: Message) -> Message:
    """The message with inline `<think>` blocks moved to `reasoning_content`.

    The opening tag may be missing (if the template wrote it), and so may the closing one (if the
    model did not finish).

    >>> split_reasoning({"role": "assistant", "content": "hm</think>Yes"})
    {'role': 'assistant', 'content': 'Yes', 'reasoning_content': 'hm'}
    """
    content = message["content"]
    if not isinstance(content, str) or "think>" not in content:
        return message
    found = _CLOSING_TAG.match(content) or _OPEN_TAG.match(content)
    if found is None or "<think>" in found[1]:
        return message
    thoughts = [message.get("reasoning_content")]
    place = 0
    while found is not None:  # some models think twice in a row
        thoughts.append(found[1].strip())
        place = found.end()
        found = _BLOCK.match(content, place) or _OPEN_TAG.match(content, place)
    split = {**message, "content": content[place:]}
    if reasoning := "\n".join(filter(None, thoughts)):
        split["reasoning_content"] = reasoning
    return in_order(split)


def is_unfinished_thinking(message: Message) -> bool:
    """Whether a message is only thinking that was cut off: its last `<think>` has no end.

    >>> is_unfinished_thinking({"role": "assistant", "content": "<think>hm"})
    True
    >>> is_unfinished_thinking({"role": "assistant", "content": "<think>hm</think>"})
    False
    """
    content = message["content"]
    if not isinstance(content, str) or content.rfind("<think>") <= content.rfind(END_OF_THINKING):
        return False
    return not says_something(split_reasoning(message))


def drop_reasoning(message: Message) -> Message:
    """The message without its reasoning, including `<think>` blocks in the text."""
    bare = {key: value for key, value in message.items() if key != "reasoning_content"}
    if isinstance(bare["content"], str):
        bare["content"] = _without_blocks(bare["content"])
    return bare


def _without_blocks(text: str) -> str:
    """The text without its `<think>` blocks; there are none after the last closing tag."""
    _, end, tail = text.rpartition(END_OF_THINKING)
    if not end:
        return text
    tail = tail.lstrip()
    return _BLOCK.sub("", text[: len(text) - len(tail)]) + tail


def as_chat(text: Text, role: str) -> list[Message]:
    """A chat as it is; plain text as a chat of one message with this role."""
    return [{"role": role, "content": text}] if isinstance(text, str) else text


def asks_something(prompt: Text) -> bool:
    """Whether a prompt has text or a tool call."""
    return bool(prompt.strip()) if isinstance(prompt, str) else any(map(says_something, prompt))


def flat_text(text: Text) -> str:
    r"""Everything in a text, including reasoning and tool calls, one per line.

    >>> flat_text([{"role": "assistant", "content": "Hi", "reasoning_content": "hm"}])
    'hm\nHi'
    """
    if isinstance(text, str):
        return text
    return "\n".join(part for message in text for part in _parts_of(message) if part)


def _parts_of(message: Message) -> list[str]:
    content = message["content"]
    if not isinstance(content, str):
        content = "".join(part["text"] for part in content if part["type"] == "text")
    calls = [call["function"] for call in message.get("tool_calls", [])]
    called = [f"{function['name']} {function['arguments']}" for function in calls]
    return [message.get("reasoning_content", ""), content, *called]


def says_something(message: Message) -> bool:
    """Whether a message has text or a tool call. Reasoning alone is not an answer.

    >>> says_something({"role": "assistant", "content": " ", "reasoning_content": "hm"})
    False
    """
    content = message["content"]
    spoken = content.strip() if isinstance(content, str) else content
    return bool(spoken) or bool(message.get("tool_calls"))


_Parts = list[dict[str, Any]]


def with_media(prompt: Text, parts: _Parts) -> Text:
    """The prompt with parts in its placeholders, or else before the user's last words.

    >>> image = {"type": "image", "image": "a.png"}
    >>> with_media("Who?", [image])[0]["content"]
    [{'type': 'image', 'image': 'a.png'}, {'type': 'text', 'text': 'Who?'}]
    >>> with_media([{"role": "user", "content": [{"type": "image"}]}], [image])[0]["content"]
    [{'type': 'image', 'image': 'a.png'}]
    """
    if not parts:
        return prompt
    chat = as_chat(prompt, "user")
    places = [part for turn in chat for part in _content(turn) if part.keys() == {"type"}]
    if [part["type"] for part in places] == [part["type"] for part in parts]:
        fill = iter(parts)
        return [
            _mapped(turn, lambda part: next(fill) if part.keys() == {"type"} else part)
            for turn in chat
        ]
    place = last_user(chat)
    if place is None:
        return [*chat, {"role": "user", "content": parts}]
    content = chat[place]["content"]
    said = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [*chat[:place], {**chat[place], "content": [*parts, *said]}, *chat[place + 1 :]]


def last_user(messages: list[Message]) -> int | None:
    """The index of the user's last message."""
    places = [place for place, turn in enumerate(messages) if turn["role"] == "user"]
    return places[-1] if places else None


def _content(turn: Message) -> _Parts:
    return turn["content"] if isinstance(turn["content"], list) else []


def _mapped(turn: Message, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Message:
    if not isinstance(turn["content"], list):
        return turn
    return {**turn, "content": [change(part) for part in turn["content"]]}
