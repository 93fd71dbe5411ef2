"""Writes what the messages of a target cannot represent as text, and records each such change.

Tool calls are written as Hermes and Qwen models write them: those forms are documented, and most
open models have seen them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from prefpairs.errors import NotJson
from prefpairs.model.content import ANSWER_FORM
from prefpairs.model.json_codec import decode, encode
from prefpairs.model.message import Message, drop_reasoning
from prefpairs.targets.base import CannotExport, ChatSupport
from prefpairs.targets.export_options import ExportOptions

_TOOLS = (
    "You may call these tools:\n<tools>\n{tools}\n</tools>\n"
    "To call one, write its name and arguments as JSON:\n"
    '<tool_call>\n{{"name": ..., "arguments": ...}}\n</tool_call>'
)
_CALL_FIELDS = ("name", "tool_call_id")


@dataclass(frozen=True, slots=True)
class Flattener:
    """Rewrites messages as a target supports them; `changes` are the codes of what it changed."""

    supports: ChatSupport
    options: ExportOptions
    changes: set[str] = field(default_factory=set)
    _calls_as_text: set[str] = field(default_factory=set)
    """The ids of calls that became text: their results become text too."""

    @property
    def all_turns(self) -> bool:
        """Whether all turns after the prompt are written, not only the first one."""
        turns = self.options.turns
        return turns == "all" or (turns == "auto" and self.supports.later_turns)

    def without_reasoning(self, messages: list[Message]) -> list[Message]:
        """The messages without their reasoning, if it is not wanted at all."""
        if self.options.reasoning_as != "nothing":
            return messages
        bare = [
            drop_reasoning(message) if message["role"] == "assistant" else message
            for message in messages
        ]
        if bare != messages:
            self.changes.add("reasoning_left_out")
        return bare

    def without_answer_form(self, prompt: list[Message]) -> list[Message]:
        """The prompt without what it says of the form of answers, which no trainer reads."""
        if all(isinstance(message["content"], str) for message in prompt):
            return prompt
        bare = [_without_answer_form(message) for message in prompt]
        if bare != prompt:
            self.changes.add("answer_form_left_out")
        both = zip(bare, prompt, strict=True)
        return [left for left, given in both if left["content"] or left is given]

    def with_tools_as_text(self, prompt: list[Message], tools: list[Any]) -> list[Message]:
        """The prompt with the tool schemas in its system message."""
        self.changes.add("tools_as_text")
        text = _TOOLS.format(tools="\n".join(encode(tool).decode() for tool in tools))
        if prompt and prompt[0]["role"] == "system" and isinstance(prompt[0]["content"], str):
            content = "\n\n".join(filter(None, (prompt[0]["content"], text)))
            return [{"role": "system", "content": content}, *prompt[1:]]
        return [{"role": "system", "content": text}, *prompt]

    def flatten(self, messages: list[Message], *, trained: bool) -> list[Message]:
        """The messages as the target supports them, one a turn; `trained` is True for answers."""
        if not all(map(is_text_message, messages)):
            raise CannotExport("not_text")
        # Chat templates omit the model's name, so it must not make answers differ.
        named = ("user", "tool") if self.supports.names else ()
        messages = [
            message if message["role"] in named else _without(message, "name")
            for message in messages
        ]
        turns = _merge_turns((message, message["role"]) for message in messages)
        if len(turns) < len(messages):
            self.changes.add("turns_joined")
        return _merge_turns((self._flatten(turn, trained=trained), turn["role"]) for turn in turns)

    def _flatten(self, message: Message, *, trained: bool) -> Message:
        if message["role"] == "system":
            return self._system(message)
        if message["role"] == "tool":
            return self._result(message)
        flat = self._with_reasoning(message, trained=trained)
        if flat.get("tool_calls"):
            flat = self._with_calls(flat)
        return flat if self.supports.calls else _without(flat, *_CALL_FIELDS)

    def _system(self, message: Message) -> Message:
        if self.supports.system and self.options.system != "merge":
            return _without(message, *_CALL_FIELDS)
        self.changes.add("system_as_text")
        return {"role": "user", "content": message["content"]}

    def _result(self, message: Message) -> Message:
        is_of_text = message.get("tool_call_id") in self._calls_as_text
        if self.supports.calls and not is_of_text:
            return message
        if self.supports.results and not is_of_text:
            return _without(message, "tool_call_id")
        self.changes.add("results_as_text")
        text = f"<tool_response>\n{message['content']}\n</tool_response>"
        return {"role": "user", "content": text}

    def _with_reasoning(self, message: Message, *, trained: bool) -> Message:
        """The message with its reasoning where the target looks for it."""
        earlier = message["role"] == "assistant" and not trained
        if earlier and not self.supports.earlier_reasoning:
            bare = drop_reasoning(message)
            if bare != message:
                self.changes.add("earlier_reasoning_left_out")
            return bare
        reasoning = message.get("reasoning_content")
        if not reasoning or (self.options.reasoning_as == "field" and self.supports.reasoning):
            return message
        self.changes.add("reasoning_as_text")
        return with_reasoning_as_text(message)

    def _with_calls(self, message: Message) -> Message:
        """The message with its calls, or with text in their place."""
        calls = message["tool_calls"]
        has_unsupported_text = message["content"] and not self.supports.text_with_calls
        if self.supports.calls and self.supports.broken_calls:
            return message
        if self.supports.calls and not has_unsupported_text and have_object_arguments(calls):
            return {**message, "tool_calls": [_with_arguments(call, _arguments) for call in calls]}
        self._calls_as_text.update(call["id"] for call in calls)
        broken = self.supports.calls and not has_unsupported_text
        self.changes.add("broken_arguments_as_text" if broken else "calls_as_text")
        return with_calls_as_text(message)


def is_text_message(message: Message) -> bool:
    """Whether a message has only text and function calls, and no parts or calls of other types."""
    calls = message.get("tool_calls") or ()
    return isinstance(message["content"], str) and all(call["type"] == "function" for call in calls)


def _without_answer_form(message: Message) -> Message:
    content = message["content"]
    if isinstance(content, str) or all(part["type"] != ANSWER_FORM for part in content):
        return message
    parts = [part for part in content if part["type"] != ANSWER_FORM]
    return {**message, "content": parts}


def _without(message: Message, *keys: str) -> Message:
    return {key: value for key, value in message.items() if key not in keys}


def with_reasoning_as_text(message: Message) -> Message:
    r"""The message with its reasoning, if any, in its text.

    >>> with_reasoning_as_text({"role": "assistant", "content": "Hi", "reasoning_content": "hm"})
    {'role': 'assistant', 'content': '<think>\nhm\n</think>\n\nHi'}
    """
    if not (reasoning := message.get("reasoning_content")):
        return message
    content = message["content"].lstrip("\n")
    flat = message.copy()
    del flat["reasoning_content"]
    flat["content"] = f"<think>\n{reasoning.strip()}\n</think>\n\n{content}"
    return flat


def with_calls_as_text(message: Message) -> Message:
    """The message with its calls as text, after its own text."""
    text, calls = message["content"], "\n".join(map(call_text, message["tool_calls"]))
    between = "" if not text or text.endswith("\n") else "\n"
    return {**_without(message, "tool_calls"), "content": f"{text}{between}{calls}"}


def call_text(call: dict[str, Any]) -> str:
    r"""A tool call as text.

    >>> call_text({"function": {"name": "add", "arguments": '{"a":1}'}})
    '<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call>'
    """
    name = encode(call["function"]["name"]).decode()
    arguments = _arguments(call)
    if _parsed(arguments) is None:
        arguments = encode(arguments).decode()
    return f'<tool_call>\n{{"name": {name}, "arguments": {arguments}}}\n</tool_call>'


def parse_calls(text: str) -> list[Any] | None:
    """The calls in a text that is JSON, one call or a list of them; None if it is not JSON."""
    try:
        calls = decode(text.encode())
    except NotJson:
        return None
    return calls if isinstance(calls, list) else [calls]


def with_argument_objects(messages: list[Message]) -> list[Message]:
    """The messages with the arguments of calls as objects."""
    return [
        {**message, "tool_calls": [_with_arguments(call, _object) for call in calls]}
        if (calls := message.get("tool_calls"))
        else message
        for message in messages
    ]


def have_object_arguments(calls: list[dict[str, Any]]) -> bool:
    """Whether the arguments of all calls are objects."""
    return all(isinstance(_object(call), dict) for call in calls)


def _with_arguments(call: dict[str, Any], form: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    return {**call, "function": {**call["function"], "arguments": form(call)}}


def _object(call: dict[str, Any]) -> Any:
    return _parsed(_arguments(call))


def _arguments(call: dict[str, Any]) -> str:
    """The arguments as the model wrote them; for a tool without arguments it may write nothing."""
    arguments: str = call["function"]["arguments"]
    return arguments if arguments.strip() else "{}"


def _parsed(arguments: str) -> Any:
    """The arguments of a call as a value, or None if they are not JSON."""
    try:
        return decode(arguments.encode())
    except NotJson:
        return None


def _merge_turns(messages: Iterable[tuple[Message, str]]) -> list[Message]:
    """The messages, with consecutive ones of one role merged; each comes with its original role."""
    turns: list[list[tuple[Message, str]]] = []
    before = ""
    for message, role in messages:
        separator = "\n\n" if role != before else "\n"
        if turns and _continues(turns[-1][0][0], message):
            turns[-1].append((message, separator))
        else:
            turns.append([(message, separator)])
        before = role
    return [_merged(turn) if len(turn) > 1 else turn[0][0] for turn in turns]


def _continues(last: Message, message: Message) -> bool:
    """Whether a message continues the turn of the one before it."""
    same = last["role"] == message["role"] and last.get("name") == message.get("name")
    return bool(same and message["role"] != "tool")


def _merged(turn: list[tuple[Message, str]]) -> Message:
    """The messages of one turn as one, each after its separator."""
    texts: list[str] = []
    for message, separator in turn:
        if message["content"]:
            texts += [separator, message["content"]] if texts else [message["content"]]
    merged = {**turn[0][0], "content": "".join(texts)}
    reasoning = [message.get("reasoning_content") for message, _ in turn]
    if any(reasoning):
        merged["reasoning_content"] = "\n".join(filter(None, reasoning))
    if calls := [call for message, _ in turn for call in message.get("tool_calls", [])]:
        merged["tool_calls"] = calls
    return merged
