"""Chat messages in one form: the one of chat completions."""

import re
from collections import OrderedDict, defaultdict, deque
from typing import Any

from prefpairs.errors import BadField
from prefpairs.records.wire import encode

Message = dict[str, Any]
Text = str | list[Message]
"""A prompt or a response: plain text, or a chat."""

_KEYS = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name")
"""Whatever a source holds, a message that leaves it has its keys in this order, and no others."""
_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_PLAIN = {"role", "content"}
_SHAREGPT = {"system": "system", "human": "user", "gpt": "assistant"}
"""The names of the `from` / `value` form that many published data sets have."""

# Possessive, or a megabyte of spaces would take minutes.
_CLOSING_TAG = re.compile(r"\s*+(?:<think>)?+(.*?)</think>\s*", re.DOTALL)
_OPEN_TAG = re.compile(r"\s*+<think>(.*)\Z", re.DOTALL)
_BLOCK = re.compile(r"<think>(.*?)</think>\s*", re.DOTALL)
_END_OF_BLOCK = "</think>"
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


_ASKS = re.compile(
    r"(?:<\|im_start\|>assistant|<\|(?:start_header_id|start_of_role)\|>assistant<\|[a-z_]+\|>"
    r"|<start_of_turn>model|<\|turn>model|\[/INST\]|<\|[Aa]ssistant\|>|<\uff5cAssistant\uff5c>"
    r"|<\|start\|>assistant|<\|CHATBOT_TOKEN\|>)\s*+(?:<think>\s*+(?:</think>\s*+)?)?\Z"
)
"""How chat templates end a text when the model is to speak next."""
_LONGEST_ASKING = 120


def asks_by_template(text: Text) -> bool:
    r"""Whether a prompt ends as chat templates end it, so that one stands in it already.

    >>> asks_by_template("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    True
    """
    words = text if isinstance(text, str) else text[-1]["content"] if text else None
    if not isinstance(words, str):
        return False
    end = words[-_LONGEST_ASKING:]
    return (">" in end or "[/INST]" in end) and _ASKS.search(end) is not None


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
    if value.keys() == _PLAIN and isinstance(value["content"], str) and (role := _role_of(value)):
        return {"role": role, "content": value["content"]}
    if "role" not in value and "from" in value:
        value = {**value, "role": _SHAREGPT.get(str(value["from"])), "content": value.get("value")}
    role = _role_of(value)
    if role is None:
        raise BadField(f"{field}.role", value.get("role"), "system, user, assistant or tool")
    message: Message = {"role": role, "content": read_content(value.get("content"), field)}
    reasoning = value.get("reasoning_content") or value.get("reasoning")
    if isinstance(reasoning, str) and reasoning:
        message["reasoning_content"] = reasoning
    if value.get("tool_calls"):
        message["tool_calls"] = _read_calls(value["tool_calls"], f"{field}.tool_calls")
    for key in ("tool_call_id", "name"):
        if isinstance(value.get(key), str):
            message[key] = value[key]
    return message


def _role_of(message: dict[str, Any]) -> str | None:
    if "role" not in message:
        return _SHAREGPT.get(str(message.get("from")))
    role = message["role"]
    return _ROLES.get(role) if isinstance(role, str) else None


def is_messages(value: Any) -> bool:
    """Whether a value is a chat, rather than some other structure."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and _role_of(item) for item in value)
    )


def read_content(value: Any, field: str) -> str | list[Any]:
    """The content of a message: null is empty, and parts that are all text are one text.

    >>> read_content([{"type": "output_text", "text": "a"}, {"type": "text", "text": "b"}], "m")
    'ab'
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise BadField(f"{field}.content", value, "text or a list of parts")
    parts = [_read_part(part, f"{field}.content.{place}") for place, part in enumerate(value)]
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def tool_call(name: str, arguments: str, call_id: str = "") -> dict[str, Any]:
    """One call of a tool, as an assistant message holds it."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def split_reasoning(message: Message) -> Message:
    """The message with an inline `<think>` block moved to where reasoning belongs.

    Only the closing tag may be there (the template wrote the opening one), or only the
    opening one (the model never came to an end).

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
    return _in_order(split)


def drop_reasoning(message: Message) -> Message:
    """The message without its reasoning, also where blocks of it stand in the text."""
    bare = {key: value for key, value in message.items() if key != "reasoning_content"}
    if isinstance(bare["content"], str):
        bare["content"] = _without_blocks(bare["content"])
    return bare


def _without_blocks(text: str) -> str:
    """The text without its blocks of thinking; what follows the last end of one holds none."""
    _, end, tail = text.rpartition(_END_OF_BLOCK)
    if not end:
        return text
    tail = tail.lstrip()
    return _BLOCK.sub("", text[: len(text) - len(tail)]) + tail


def as_chat(text: Text, role: str) -> list[Message]:
    """A chat as it is; plain text as the one message of a role."""
    return [{"role": role, "content": text}] if isinstance(text, str) else text


def renumber_calls(messages: list[Message]) -> list[Message]:
    """The messages with their tool calls named `call_1`, `call_2`, ... in order.

    Sources draw these names at random, which would make equal answers differ. A tool message
    answers the oldest open call of its name, for some sources use a name twice.
    """
    opened: OrderedDict[str, str] = OrderedDict()
    of_name: defaultdict[str | None, deque[str]] = defaultdict(deque)
    renumbered = []
    count = 0
    for message in messages:
        if calls := message.get("tool_calls"):
            fresh = []
            for call in calls:
                count += 1
                opened[f"call_{count}"] = call["id"]
                of_name[call["id"]].append(f"call_{count}")
                fresh.append({**call, "id": f"call_{count}"})
            renumbered.append({**message, "tool_calls": fresh})
        elif message["role"] == "tool" and opened:
            name = message.get("tool_call_id")
            answered = of_name[name if of_name[name] else next(iter(opened.values()))].popleft()
            del opened[answered]
            renumbered.append(_in_order({**message, "tool_call_id": answered}))
        else:
            renumbered.append(message)
    return renumbered


def asks_something(prompt: Text) -> bool:
    """Whether a prompt holds words or a tool call."""
    return bool(prompt.strip()) if isinstance(prompt, str) else any(map(says_something, prompt))


def flat_text(text: Text) -> str:
    r"""All that a text says, thinking and tool calls included, a line each.

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
    """Whether a message holds words or a tool call; reasoning alone is no answer.

    >>> says_something({"role": "assistant", "content": " ", "reasoning_content": "hm"})
    False
    """
    content = message["content"]
    spoken = content.strip() if isinstance(content, str) else content
    return bool(spoken) or bool(message.get("tool_calls"))


def _in_order(message: Message) -> Message:
    return {key: message[key] for key in _KEYS if key in message}


def _read_part(part: Any, field: str) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise BadField(field, part, "a content part with a type")
    if part["type"] in _TEXT_PARTS or part["type"] == "refusal":
        text = part.get("text", part.get("refusal"))
        if not isinstance(text, str):
            raise BadField(f"{field}.text", text, "text")
        return {"type": "text", "text": text}
    if part["type"] == "input_image":
        return {"type": "image_url", "image_url": {"url": part.get("image_url")}}
    return part


def _read_calls(calls: Any, field: str) -> list[dict[str, Any]]:
    if not isinstance(calls, list):
        raise BadField(field, calls, "a list of tool calls")
    read = []
    for place, call in enumerate(calls):
        function = call.get("function", call) if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise BadField(f"{field}.{place}", call, "a tool call with a name")
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = encode({} if arguments is None else arguments).decode()
        read.append(tool_call(function["name"], arguments, str(call.get("id") or "")))
    return read
