"""Items of the Responses API as chat messages and chat tools."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from prefpairs.errors import BadField
from prefpairs.fields.row_outcome import Unusable
from prefpairs.model.candidate import read_tools
from prefpairs.model.content import ANSWER_FORM, CONTENT_KEYS, read_content, with_content_beside
from prefpairs.model.json_codec import decode_part, encode, finite
from prefpairs.model.message import OTHER_KEYS, Message, read_message
from prefpairs.model.path import look_up
from prefpairs.model.tool_calls import tool_call

_NothingElse: Any = msgspec.defstruct(
    "_NothingElse", [(key, None, None) for key in (*CONTENT_KEYS, *OTHER_KEYS)], gc=False
)
"""A message, or a part of one, without content under any key that its type does not name."""

REQUEST = ("previous_response_id", "conversation", "prompt")
"""Parts of a request's question that refer to content stored elsewhere."""

ANSWER_FORMS = ("text", "response_format")
_ROLES = {"developer": "system"}
_BESIDE = (*REQUEST, *ANSWER_FORMS)
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


class _Part(_NothingElse, gc=False, kw_only=True):  # type: ignore[misc,call-arg]
    text: str
    type: Literal["input_text", "output_text", "text", "reasoning_text"]


class _Thought(Struct, gc=False):
    text: str


class UsualItem(_NothingElse, gc=False, kw_only=True):  # type: ignore[misc,call-arg]
    """An item of a response as a typed struct: text, reasoning, a call or its result.

    Decoding any other content is an error. `type` is required, so that the memory for the items of
    a line is bounded by its length.
    """

    type: Literal["message", "reasoning", "function_call", "function_call_output"]
    role: Literal["assistant", "user", "system", "developer"] | None = None
    content: str | list[_Part] | None = None
    summary: list[_Thought] | None = None
    name: str | None = None
    arguments: str | None = None
    call_id: str | None = None
    output: str | None = None
    tool_call_id: None = None


class _UsualTurn(_NothingElse, gc=False, kw_only=True):  # type: ignore[misc,call-arg]
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]
    type: Literal["message"] | None = None
    tool_call_id: None = None
    name: None = None


_NothingBeside: Any = msgspec.defstruct(
    "_NothingBeside", [(key, None, None) for key in _BESIDE], gc=False
)


class _UsualRequest(_NothingBeside, gc=False, kw_only=True):  # type: ignore[misc,call-arg]
    input: Annotated[list[_UsualTurn], Meta(min_length=1)]
    instructions: None = None
    tool_choice: Literal["auto"] | None = None
    tools: Raw = Raw(b"null")


_usual_request_of = msgspec.json.Decoder(_UsualRequest).decode


def question_of(request: bytes) -> tuple[list[Message], list[Any] | None]:
    """The messages and the tools of a request that is part of a row."""
    try:
        usual = _usual_request_of(request)
    except msgspec.DecodeError:
        usual = None
    messages = usual and _messages_of_usual(usual.input)
    if usual is None or not messages:
        params = decode_part(request, 1)
        return (prompt_of(params), tools_of(params)) if isinstance(params, dict) else ([], None)
    return messages, _tools_in(bytes(usual.tools))


@lru_cache(maxsize=4)
def _tools_in(tools: bytes) -> list[Any] | None:
    """The tools of a request, as they stand in it. Many questions have the same ones."""
    return None if tools == b"[]" else tools_of({"tools": decode_part(tools, 2)})


def _messages_of_usual(turns: Sequence[_UsualTurn]) -> list[Message] | None:
    """The messages of a prompt; None where some of them may have to be joined."""
    messages: list[Message] = []
    last = ""
    for turn in turns:
        role, words = _ROLES.get(turn.role, turn.role), _words_of(turn.content)
        if words is None or (role == last != "user"):
            return None
        messages.append({"role": role, "content": words})
        last = role
    return messages


def chat_of_usual(items: Sequence[UsualItem]) -> list[Message] | None:
    """The same messages as `chat_of` finds in such items; None where it has to decide."""
    messages: list[Message] = []
    reasoning: list[str] = []
    text: list[str] = []
    calls: list[dict[str, Any]] = []
    for item in items:
        kind = item.type
        if kind == "reasoning":
            reasoning += _spoken(item.summary) or _spoken(item.content)
        elif kind == "message" and item.role == "assistant":
            if (words := _words_of(item.content)) is None:
                return None
            text.append(words)
        elif kind == "function_call" and item.name is not None:
            arguments = "{}" if item.arguments is None else item.arguments
            calls.append(tool_call(item.name, arguments, item.call_id or ""))
        elif (other := _turn_of_others(item)) is not None:
            if reasoning or text or calls:
                messages.append(_turn_of_model(text, reasoning, calls))
                reasoning, text, calls = [], [], []
            messages.append(other)
        else:
            return None
    if reasoning or text or calls:
        messages.append(_turn_of_model(text, reasoning, calls))
    return messages


def _spoken(parts: str | list[_Part] | list[_Thought] | None) -> list[str]:
    """The reasoning in parts; a text is none."""
    spoken = []
    if isinstance(parts, list):
        for part in parts:  # a comprehension would be one call more, in each row
            if words := part.text.strip():
                spoken.append(words)  # noqa: PERF401
    return spoken


def _words_of(content: str | list[_Part] | None) -> str | None:
    if not isinstance(content, list):
        return content or ""
    words = ""
    for part in content:
        if part.type == "reasoning_text":
            return None
        words += part.text
    return words


def _turn_of_others(item: UsualItem) -> Message | None:
    """A message of anyone but the model."""
    if item.type == "function_call_output":
        call_id = item.call_id or ""
        return {"role": "tool", "content": item.output or "", "tool_call_id": call_id}
    words = _words_of(item.content)
    if item.type != "message" or item.role is None or item.name is not None or words is None:
        return None
    return {"role": _ROLES.get(item.role, item.role), "content": words}


def _turn_of_model(text: list[str], reasoning: list[str], calls: list[dict[str, Any]]) -> Message:
    message: Message = {"role": "assistant", "content": "".join(text)}
    if reasoning:
        message["reasoning_content"] = "\n".join(reasoning)
    if calls:
        message["tool_calls"] = calls
    return message


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
            self.messages.append(_turn_of_model(self.text, self.reasoning, self.calls))
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
