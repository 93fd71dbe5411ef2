"""Writes what the messages of a target cannot represent as text, and records each such change."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from prefpairs.errors import NotJson
from prefpairs.model.content import ANSWER_FORM
from prefpairs.model.json_codec import decode, encode
from prefpairs.model.message import Message, drop_reasoning
from prefpairs.targets.base import CannotExport, ChatSupport, ExportOptions

_TOOLS = (
    "You may call these tools:\n<tools>\n{tools}\n</tools>\n"
    "To call one, write its name and arguments as JSON:\n"
    '<tool_call>\n{{"name": ..., "arguments": ...}}\n</tool_call>'
)
_OF_CALLS = ("name", "tool_call_id")


@dataclass(frozen=True, slots=True)
class Flattener:
    """Says messages as a target can say them, and remembers what it had to change."""

    supports: ChatSupport
    options: ExportOptions
    changes: set[str] = field(default_factory=set)
    _told: set[str] = field(default_factory=set)
    """The calls that became text: so do their results."""

    @property
    def all_turns(self) -> bool:
        """Whether all that follows the prompt is said, and not its first turn alone."""
        turns = self.options.turns
        return turns == "all" or (turns == "auto" and self.supports.later_turns)

    def forget(self, messages: list[Message]) -> list[Message]:
        """The messages without their thinking, if that is not wanted at all."""
        if self.options.reasoning_as != "nothing":
            return messages
        bare = [
            drop_reasoning(message) if message["role"] == "assistant" else message
            for message in messages
        ]
        if bare != messages:
            self.changes.add("reasoning_left_out")
        return bare

    def say(self, messages: list[Message], *, trained: bool) -> list[Message]:
        """The messages, a turn each. `trained` tells answers from prompts."""
        if not all(map(is_text_message, messages)):
            raise CannotExport("not_text")
        # Templates leave the model's name out, so it must not tell answers apart.
        named = ("user", "tool") if self.supports.names else ()
        messages = [
            message if message["role"] in named else _without(message, "name")
            for message in messages
        ]
        turns = _turns((message, message["role"]) for message in messages)
        if len(turns) < len(messages):
            self.changes.add("turns_joined")
        said = [(self._say(turn, trained=trained), turn["role"]) for turn in turns]
        return _turns(said)

    def without_answer_form(self, prompt: list[Message]) -> list[Message]:
        """The prompt without what it says of the form of answers, which no trainer reads."""
        if all(isinstance(message["content"], str) for message in prompt):
            return prompt
        bare = [_without_answer_form(message) for message in prompt]
        if bare != prompt:
            self.changes.add("answer_form_left_out")
        both = zip(bare, prompt, strict=True)
        return [left for left, given in both if left["content"] or left is given]

    def tell_tools(self, prompt: list[Message], tools: list[Any]) -> list[Message]:
        """The prompt with the tools told in its system message."""
        self.changes.add("tools_as_text")
        told = _TOOLS.format(tools="\n".join(encode(tool).decode() for tool in tools))
        if prompt and prompt[0]["role"] == "system" and isinstance(prompt[0]["content"], str):
            content = "\n\n".join(filter(None, (prompt[0]["content"], told)))
            return [{"role": "system", "content": content}, *prompt[1:]]
        return [{"role": "system", "content": told}, *prompt]

    def _say(self, message: Message, *, trained: bool) -> Message:
        if message["role"] == "system":
            return self._system(message)
        if message["role"] == "tool":
            return self._result(message)
        said = self._with_reasoning(message, trained=trained)
        if said.get("tool_calls"):
            said = self._with_calls(said)
        return said if self.supports.calls else _without(said, *_OF_CALLS)

    def _system(self, message: Message) -> Message:
        if self.supports.system and self.options.system == "keep":
            return _without(message, *_OF_CALLS)
        self.changes.add("system_as_text")
        return {"role": "user", "content": message["content"]}

    def _result(self, message: Message) -> Message:
        if self.supports.calls and message.get("tool_call_id") not in self._told:
            return message
        if self.supports.results and message.get("tool_call_id") not in self._told:
            return _without(message, "tool_call_id")
        self.changes.add("results_as_text")
        told = f"<tool_response>\n{message['content']}\n</tool_response>"
        return {"role": "user", "content": told}

    def _with_reasoning(self, message: Message, *, trained: bool) -> Message:
        """The message with its thinking where the target looks for it."""
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
        beside = message["content"] and not self.supports.text_with_calls
        if self.supports.calls and self.supports.broken_calls:
            return message
        if self.supports.calls and not beside and have_object_arguments(calls):
            return {**message, "tool_calls": [_with_arguments(call, _arguments) for call in calls]}
        self._told.update(call["id"] for call in calls)
        broken = self.supports.calls and not beside
        self.changes.add("broken_arguments_as_text" if broken else "calls_as_text")
        return with_calls_as_text(message)


def is_text_message(message: Message) -> bool:
    """Whether a message holds words and calls of functions, and no part or call of other types."""
    calls = message.get("tool_calls") or ()
    return isinstance(message["content"], str) and all(call["type"] == "function" for call in calls)


def _without_answer_form(message: Message) -> Message:
    content = message["content"]
    if isinstance(content, str) or all(part["type"] != ANSWER_FORM for part in content):
        return message
    parts = [part for part in content if part["type"] != ANSWER_FORM]
    return {**message, "content": parts}


def with_reasoning_as_text(message: Message) -> Message:
    r"""The message with its thinking, if it has any, in its text.

    >>> with_reasoning_as_text({"role": "assistant", "content": "Hi", "reasoning_content": "hm"})
    {'role': 'assistant', 'content': '<think>\nhm\n</think>\n\nHi'}
    """
    if not (reasoning := message.get("reasoning_content")):
        return message
    content = message["content"].lstrip("\n")
    said = message.copy()
    del said["reasoning_content"]
    said["content"] = f"<think>\n{reasoning.strip()}\n</think>\n\n{content}"
    return said


def with_argument_objects(messages: list[Message]) -> list[Message]:
    """The messages with the arguments of calls as objects."""
    return [_with_objects(message) for message in messages]


def call_text(call: dict[str, Any]) -> str:
    r"""A call of a tool as text.

    >>> call_text({"function": {"name": "add", "arguments": '{"a":1}'}})
    '<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call>'
    """
    name = encode(call["function"]["name"]).decode()
    arguments = _arguments(call)
    if _parsed(arguments) is None:
        arguments = encode(arguments).decode()
    return f'<tool_call>\n{{"name": {name}, "arguments": {arguments}}}\n</tool_call>'


def parse_calls(text: str) -> list[Any] | None:
    """The calls that a text holds as JSON, one or a list of them; nothing where it holds none."""
    try:
        called = decode(text.encode())
    except NotJson:
        return None
    return called if isinstance(called, list) else [called]


def with_calls_as_text(message: Message) -> Message:
    """The message with its calls behind its words, as text."""
    words, calls = message["content"], "\n".join(map(call_text, message["tool_calls"]))
    apart = "" if not words or words.endswith("\n") else "\n"
    return {**_without(message, "tool_calls"), "content": f"{words}{apart}{calls}"}


def _without(message: Message, *keys: str) -> Message:
    return {key: value for key, value in message.items() if key not in keys}


def _with_objects(message: Message) -> Message:
    calls = message.get("tool_calls")
    if not calls:
        return message
    return {**message, "tool_calls": [_with_arguments(call, _object) for call in calls]}


def _with_arguments(call: dict[str, Any], form: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    return {**call, "function": {**call["function"], "arguments": form(call)}}


def _object(call: dict[str, Any]) -> Any:
    return _parsed(_arguments(call))


def have_object_arguments(calls: list[dict[str, Any]]) -> bool:
    """Whether the arguments of all calls are objects."""
    return all(isinstance(_object(call), dict) for call in calls)


def _arguments(call: dict[str, Any]) -> str:
    """The arguments as the model wrote them; of a tool that takes none it may write nothing."""
    arguments: str = call["function"]["arguments"]
    return arguments if arguments.strip() else "{}"


def _parsed(arguments: str) -> Any:
    """The arguments of a call as the value they are, or nothing where they are no JSON."""
    try:
        return decode(arguments.encode())
    except NotJson:
        return None


def _turns(messages: Iterable[tuple[Message, str]]) -> list[Message]:
    """The messages, those of one speaker in a row as one; each comes with who spoke at first."""
    turns: list[list[tuple[Message, str]]] = []
    before = ""
    for message, speaker in messages:
        apart = "\n\n" if speaker != before else "\n"
        if turns and _goes_on(turns[-1][0][0], message):
            turns[-1].append((message, apart))
        else:
            turns.append([(message, apart)])
        before = speaker
    return [_joined(turn) if len(turn) > 1 else turn[0][0] for turn in turns]


def _goes_on(last: Message, said: Message) -> bool:
    """Whether a message continues the turn of the one before it."""
    same = last["role"] == said["role"] and last.get("name") == said.get("name")
    return bool(same and said["role"] != "tool")


def _joined(turn: list[tuple[Message, str]]) -> Message:
    """The messages of one turn as one, each with what stands before it."""
    said: list[str] = []
    for message, apart in turn:
        if message["content"]:
            said += [apart, message["content"]] if said else [message["content"]]
    joined = {**turn[0][0], "content": "".join(said)}
    thoughts = [message.get("reasoning_content") for message, _ in turn]
    if any(thoughts):
        joined["reasoning_content"] = "\n".join(filter(None, thoughts))
    if calls := [call for message, _ in turn for call in message.get("tool_calls", [])]:
        joined["tool_calls"] = calls
    return joined
