"""Items of the Responses API as chat messages and chat tools."""

from typing import Any

from prefpairs.errors import BadField
from prefpairs.fields.make_candidate import Unusable
from prefpairs.model.candidate import read_tools
from prefpairs.model.content import ANSWER_FORM, read_content, with_content_beside
from prefpairs.model.json_codec import encode, finite
from prefpairs.model.message import Message, read_message
from prefpairs.model.path import look_up
from prefpairs.model.tool_calls import tool_call

REQUEST = ("previous_response_id", "conversation", "prompt")
"""Parts of a request's question that refer to content stored elsewhere."""

ANSWER_FORMS = ("text", "response_format")
_ANY_FORM: tuple[Any, ...] = (None, {}, {"type": "text"})


def prompt_of(params: dict[str, Any]) -> list[Message]:
    """The messages of a request; empty if it asks nothing."""
    given = params.get("input")
    if isinstance(given, str):
        messages = [{"role": "user", "content": given}] if given.strip() else []
    else:
        messages = chat_of(given or [], "responses_create_params.input")
    if not messages:
        # Coding agents have an empty input; their task is in the metadata.
        problem = look_up(params, "metadata.problem_statement")
        if isinstance(problem, str) and problem.strip():
            messages = [{"role": "user", "content": problem}]
    instructions = params.get("instructions")
    if instructions is not None and not isinstance(instructions, str):
        raise BadField("responses_create_params.instructions", instructions, "text")
    if not messages:
        return []
    return [*_asked_beside(params), *_with_one_system_message(instructions, messages)]


def _asked_beside(params: dict[str, Any]) -> list[Message]:
    """What is part of the question but not a message, as a system message of parts.

    Sampling parameters, metadata and everything else in a request are not part of the question.
    """
    request = {key: params[key] for key in REQUEST if params.get(key)}
    form = {"tool_choice": params["tool_choice"]} if _tools_chosen(params) else {}
    text = params.get("text")
    formats = text.get("format") if isinstance(text, dict) else text, params.get("response_format")
    form |= {
        key: value
        for key, value in zip(ANSWER_FORMS, formats, strict=True)
        if value not in _ANY_FORM
    }
    parts = [("request", request), (ANSWER_FORM, form)]
    content = [{"type": kind, kind: finite(given)} for kind, given in parts if given]
    return [{"role": "system", "content": content}] if content else []


def _tools_chosen(params: dict[str, Any]) -> bool:
    """Whether the request forces or forbids tool calls."""
    return params.get("tool_choice") not in (None, "auto")


def _with_one_system_message(instructions: str | None, messages: list[Message]) -> list[Message]:
    leading = 0
    while leading < len(messages) and _is_plain_system(messages[leading]):
        leading += 1
    texts = [instructions] if instructions else []
    texts += [turn["content"] for turn in messages[:leading]]
    if len(texts) < 2 and not instructions:
        return messages
    return [{"role": "system", "content": "\n\n".join(texts)}, *messages[leading:]]


def _is_plain_system(message: Message) -> bool:
    return message["role"] == "system" and isinstance(message["content"], str)


def tools_of(params: dict[str, Any]) -> list[Any] | None:
    """The tools of a request in chat form; flat tools of this API lose their `strict`."""
    tools = read_tools(params.get("tools"), "responses_create_params.tools")
    return None if tools is None else [chat_tool(tool) for tool in tools]


_OF_FUNCTIONS = ("name", "description", "parameters")
_NOT_OF_FUNCTIONS = frozenset({*_OF_FUNCTIONS, "type", "strict"})


def chat_tool(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool in chat form, if it is a flat one of this API."""
    if tool.get("type") != "function" or "function" in tool:
        return tool
    function = {key: tool[key] for key in _OF_FUNCTIONS if tool.get(key) is not None}
    others = tool.keys() - _NOT_OF_FUNCTIONS
    function |= {key: tool[key] for key in tool if key in others and tool[key] is not None}
    return {"type": "function", "function": function}


def chat_of(items: Any, field: str) -> list[Message]:
    """The chat messages of Responses items; consecutive items of the model become one message.

    >>> chat_of([{"type": "reasoning", "summary": [{"text": "hm"}]},
    ...          {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "x"},
    ...          {"type": "function_call_output", "call_id": "x", "output": "42"}], "output")
    ... # doctest: +NORMALIZE_WHITESPACE
    [{'role': 'assistant', 'content': '', 'reasoning_content': 'hm', 'tool_calls':
      [{'id': 'x', 'type': 'function', 'function': {'name': 'f', 'arguments': '{}'}}]},
     {'role': 'tool', 'content': '42', 'tool_call_id': 'x'}]
    """
    if not isinstance(items, list):
        raise BadField(field, items, "text or a list of items")
    chat = _Chat()
    for place, item in enumerate(items):
        if not isinstance(item, dict):
            raise BadField(f"{field}.{place}", item, "an item")
        chat.add(item, f"{field}.{place}")
    return chat.finish()


class _Chat:
    """Collects items; those of the model wait until another role follows."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._clear()

    def _clear(self) -> None:
        self.reasoning: list[str] = []
        self.text: list[str] = []
        self.calls: list[dict[str, Any]] = []

    def finish(self) -> list[Message]:
        """All messages, including the one that is waiting."""
        if self.reasoning or self.text or self.calls:
            message: Message = {"role": "assistant", "content": "".join(self.text)}
            if self.reasoning:
                message["reasoning_content"] = "\n".join(self.reasoning)
            if self.calls:
                message["tool_calls"] = self.calls
            self.messages.append(message)
            self._clear()
        return self.messages

    def add(self, item: dict[str, Any], field: str) -> None:
        """Add one item."""
        kind = item.get("type") or "message"
        if kind == "message":
            self._add_message(item, field)
        elif kind == "function_call":
            self.calls.append(_call(item, field))
        elif kind == "function_call_output":
            self.finish().append(_tool_message(item, field))
        elif kind == "reasoning":
            self.reasoning += _reasoning_texts(item)
        else:
            raise Unusable("unsupported_item")

    def _add_message(self, item: dict[str, Any], field: str) -> None:
        message = read_message(item, field)
        if message["role"] != "assistant":
            self.finish().append(message)
        elif isinstance(message["content"], str):
            self.text.append(message["content"])
            self.reasoning += filter(None, [message.get("reasoning_content")])
            self.calls += message.get("tool_calls", [])
        else:
            raise Unusable("unsupported_item")


def _call(item: dict[str, Any], field: str) -> dict[str, Any]:
    name, arguments = item.get("name"), item.get("arguments")
    if not isinstance(name, str):
        raise BadField(f"{field}.name", name, "text")
    if not isinstance(arguments, str):
        arguments = encode({} if arguments is None else arguments).decode()
    return tool_call(name, arguments, str(item.get("call_id") or ""))


def _tool_message(item: dict[str, Any], field: str) -> Message:
    output = item.get("output")
    if output is not None and not isinstance(output, (str, list)):
        output = encode(output).decode()
    content = with_content_beside(read_content(output, field), item)
    message: Message = {"role": "tool", "content": content}
    message["tool_call_id"] = str(item.get("call_id") or "")
    return message


def _reasoning_texts(item: dict[str, Any]) -> list[str]:
    """The readable reasoning; encrypted reasoning has none."""
    for key in ("summary", "content"):
        parts = item.get(key) if isinstance(item.get(key), list) else []
        texts = [part["text"] for part in parts or [] if isinstance(part, dict) and "text" in part]
        spoken = [text.strip() for text in texts if isinstance(text, str) and text.strip()]
        if spoken:
            return spoken
    return []
