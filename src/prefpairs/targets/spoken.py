"""What the messages of a target cannot say, said as text; each such step is noticed.

Calls of tools are written as Hermes and Qwen models write them, for these forms are documented
and most open models have seen them.
"""

from dataclasses import dataclass, field
from typing import Any

from prefpairs.errors import NotJson
from prefpairs.records.message import Message, drop_reasoning
from prefpairs.records.wire import decode, encode
from prefpairs.targets.protocol import ExportOptions, Speech, Unfit

_TOOLS = (
    "You may call these tools:\n<tools>\n{tools}\n</tools>\n"
    "To call one, write its name and arguments as JSON:\n"
    '<tool_call>\n{{"name": ..., "arguments": ...}}\n</tool_call>'
)
_OF_CALLS = ("name", "tool_call_id")


@dataclass(frozen=True, slots=True)
class Speaker:
    """Says messages as a target can say them, and remembers what it had to change."""

    speech: Speech
    options: ExportOptions
    noticed: set[str] = field(default_factory=set)

    def say(self, messages: list[Message], *, trained: bool) -> list[Message]:
        """The messages, a turn each. `trained` tells answers from prompts."""
        spoken: list[Message] = []
        for message in messages:
            said = self._say(message, trained=trained)
            if spoken and _goes_on(spoken[-1], said):
                spoken[-1] = _joined(spoken[-1], said)
                if message["role"] != "tool":
                    self.noticed.add("turns_joined")
            else:
                spoken.append(said)
        keeps_system = self.speech.system and self.options.system == "keep"
        if spoken and spoken[0]["role"] == "system" and not keeps_system:
            self.noticed.add("system_as_text")
            return _without_system(spoken)
        return spoken

    def tell_tools(self, prompt: list[Message], tools: list[Any]) -> list[Message]:
        """The prompt with the tools told in its system message."""
        self.noticed.add("tools_as_text")
        told = _TOOLS.format(tools="\n".join(encode(tool).decode() for tool in tools))
        if prompt and prompt[0]["role"] == "system" and isinstance(prompt[0]["content"], str):
            first = {"role": "system", "content": _paragraphs(prompt[0]["content"], told)}
            return [first, *prompt[1:]]
        return [{"role": "system", "content": told}, *prompt]

    def settle_calls(self, messages: list[Message]) -> list[Message]:
        """The messages with the arguments of calls in the form that is wanted."""
        return [self._settle_calls(message) for message in messages]

    def _say(self, message: Message, *, trained: bool) -> Message:
        if not isinstance(message["content"], str):
            raise Unfit("not_text")
        said = self._with_reasoning(message, trained=trained)
        return said if self.speech.calls else self._without_calls(said)

    def _with_reasoning(self, message: Message, *, trained: bool) -> Message:
        """The message with its thinking where the target looks for it."""
        earlier = message["role"] == "assistant" and not trained
        if earlier and not self.speech.earlier_reasoning:
            bare = drop_reasoning(message)
            if bare != message:
                self.noticed.add("earlier_reasoning_left_out")
            return bare
        reasoning = message.get("reasoning_content")
        if not reasoning or (self.options.reasoning_as == "field" and self.speech.reasoning):
            return message
        bare = {key: value for key, value in message.items() if key != "reasoning_content"}
        if self.options.reasoning_as == "nothing":
            self.noticed.add("reasoning_left_out")
            return bare
        self.noticed.add("reasoning_as_text")
        content = bare["content"].lstrip("\n")
        thought = f"<think>\n{reasoning.strip()}\n</think>\n\n{content}"
        return {**bare, "content": thought}

    def _settle_calls(self, message: Message) -> Message:
        calls = message.get("tool_calls")
        if not calls or self.speech.broken_calls:
            return message
        parsed = [_parsed(call["function"]["arguments"]) for call in calls]
        if not all(isinstance(arguments, dict) for arguments in parsed):
            self.noticed.add("broken_arguments_as_text")
            return in_text(message)
        if self.options.tool_args == "string":
            return message
        taken = zip(calls, parsed, strict=True)
        return {**message, "tool_calls": [_with_object(*each) for each in taken]}

    def _without_calls(self, message: Message) -> Message:
        """The message with calls of tools, and their results, as text."""
        if message["role"] == "tool":
            self.noticed.add("results_as_text")
            told = f"<tool_response>\n{message['content']}\n</tool_response>"
            return {"role": "user", "content": told}
        if message.get("tool_calls"):
            self.noticed.add("calls_as_text")
            message = in_text(message)
        return {key: value for key, value in message.items() if key not in _OF_CALLS}


def called(call: dict[str, Any]) -> str:
    r"""A call of a tool as text.

    >>> called({"function": {"name": "add", "arguments": '{"a":1}'}})
    '<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call>'
    """
    function = call["function"]
    name = encode(function["name"]).decode()
    arguments = function["arguments"]
    if _parsed(arguments) is None:
        arguments = encode(arguments).decode()
    return f'<tool_call>\n{{"name": {name}, "arguments": {arguments}}}\n</tool_call>'


def in_text(message: Message) -> Message:
    """The message with its calls behind its words, as text."""
    told = [message["content"], *map(called, message["tool_calls"])]
    bare = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**bare, "content": "\n".join(filter(None, told))}


def _with_object(call: dict[str, Any], arguments: Any) -> dict[str, Any]:
    return {**call, "function": {**call["function"], "arguments": arguments}}


def _parsed(arguments: str) -> Any:
    """The arguments of a call as the value they are, or nothing where they are no JSON."""
    try:
        return decode(arguments.encode())
    except NotJson:
        return None


def _goes_on(last: Message, said: Message) -> bool:
    """Whether a message continues the turn of the one before it."""
    return bool(last["role"] == said["role"] != "tool")


def _joined(last: Message, said: Message) -> Message:
    """Two messages of one turn as one."""
    joined = {**last, "content": "\n".join(filter(None, (last["content"], said["content"])))}
    thoughts = [last.get("reasoning_content"), said.get("reasoning_content")]
    if any(thoughts):
        joined["reasoning_content"] = "\n".join(filter(None, thoughts))
    if calls := [*last.get("tool_calls", []), *said.get("tool_calls", [])]:
        joined["tool_calls"] = calls
    return joined


def _without_system(messages: list[Message]) -> list[Message]:
    """The messages with the system message at the head of the user's first one."""
    told, *rest = messages
    if rest and rest[0]["role"] == "user":
        first = {**rest[0], "content": _paragraphs(told["content"], rest[0]["content"])}
        return [first, *rest[1:]]
    return [{"role": "user", "content": told["content"]}, *rest]


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))
