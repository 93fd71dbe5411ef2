"""Tool calls, and which call each result answers."""

import re
from collections import OrderedDict, defaultdict, deque
from collections.abc import Sequence
from typing import Any

from prefpairs.errors import BadField, NotJson
from prefpairs.model.json_codec import decode, encode

_FUNCTION = "function"
_OF_FUNCTIONS = frozenset({_FUNCTION, "tool_call", "function_call", "tool_use"})
_ARGUMENTS = ("arguments", "args", "input", "parameters")
"""Names that programs give the arguments; the first one a call has is used."""

_CALL_PART, _ANSWERED_BY_PART = "tool_use", "tool_use_id"
"""How the type of a part ends that is a call, and the key for the call that a part answers."""
_Text = str | list[dict[str, Any]]

_NUMBERED = re.compile("call_[1-9][0-9]{0,5}")
"""The ids that renumber_calls gives."""


def tool_call(
    name: str, arguments: str, call_id: str = "", kind: str = _FUNCTION
) -> dict[str, Any]:
    """One tool call, as assistant messages have it."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": kind, "function": function}


def read_calls(calls: Any, field: str) -> list[dict[str, Any]]:
    """The calls of a message. Calls of other types, such as `custom`, keep their type.

    The list, or each call, may be the text of its JSON, as some programs store it.

    >>> read_calls(['{"id": "x", "name": "f", "arguments": "{}"}'], "tool_calls")
    [{'id': 'x', 'type': 'function', 'function': {'name': 'f', 'arguments': '{}'}}]
    """
    calls = _from_text(calls, field)
    if not isinstance(calls, list):
        raise BadField(field, calls, "a list of tool calls")
    return [_read_call(call, f"{field}.{place}") for place, call in enumerate(calls)]


def _from_text(value: Any, field: str) -> Any:
    """A value, or what its text says if it is JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return decode(value.encode())
    except (NotJson, UnicodeEncodeError):
        raise BadField(field, value, "a tool call with a name") from None


def _read_call(call: Any, field: str) -> dict[str, Any]:
    call = _from_text(call, field)
    kind = call.get("type") or _FUNCTION if isinstance(call, dict) else None
    if not isinstance(kind, str):
        raise BadField(field, call, "a tool call with a name")
    kind = _FUNCTION if kind in _OF_FUNCTIONS else kind
    called = call.get(kind) or call.get(_FUNCTION) or call
    if not isinstance(called, dict) or not isinstance(called.get("name"), str):
        raise BadField(field, call, "a tool call with a name")
    given: Any = next((called[key] for key in _ARGUMENTS if called.get(key) is not None), {})
    arguments = given if isinstance(given, str) else encode(given).decode()
    return tool_call(called["name"], arguments, str(call.get("id") or ""), kind)


def answered_calls(
    messages: Sequence[dict[str, Any]], *, keep_numbered: bool = False
) -> list[int | str]:
    """For each message the number of the call that it answers, from 1; 0 if it answers none.

    A result answers the oldest open call with its id. Without an id, it answers the oldest open
    call of the function that it names, or else the oldest open call: some sources use an id twice,
    or omit it. With `keep_numbered`, an id that renumber_calls gave to a call of an earlier text is
    returned as it is.

    >>> called = [tool_call("f", "{}", "x"), tool_call("f", "{}", "y")]
    >>> answered_calls([{"role": "assistant", "tool_calls": called},
    ...                 {"role": "tool", "tool_call_id": "y"}, {"role": "tool"}])
    [0, 2, 1]
    """
    if (plainly := _answered_plainly(messages)) is not None:
        return plainly
    calls = _Calls()
    answered: list[int | str] = []
    for message in messages:
        answers: int | str = 0
        if message.get("tool_calls"):
            calls.open(message["tool_calls"])
        elif message["role"] == "tool":
            answers = calls.answered_by(message, keep_numbered=keep_numbered)
        answered.append(answers)
    return answered


def _answered_plainly(messages: Sequence[dict[str, Any]]) -> list[int | str] | None:
    """The same where each call has an id of its own and each result names one; else None."""
    numbers: dict[str, int] = {}
    answered: list[int | str] = []
    count = 0
    for message in messages:
        number = 0
        if calls := message.get("tool_calls"):
            for call in calls:
                count += 1
                numbers[call["id"]] = count
        elif message["role"] == "tool":
            number = numbers.get(message.get("tool_call_id") or "", 0)
            if not number:
                return None
        answered.append(number)
    return None if "" in numbers or len(numbers) < count else answered


def without_ids(contents: Sequence[str | list[Any]]) -> list[str | list[Any]]:
    """The contents of messages, with numbers in place of the call ids in their parts.

    Parts are numbered separately, since they may repeat the `tool_calls` of a message.

    >>> without_ids([[{"type": "tool_use", "id": "x"}], [{"type": "a", "tool_use_id": "x"}]])
    [[{'type': 'tool_use'}], [{'type': 'a', 'tool_use_id': 1}]]
    """
    calls = _Calls()
    return [
        content if isinstance(content, str) else [_without_id(part, calls) for part in content]
        for content in contents
    ]


def _without_id(part: dict[str, Any], calls: "_Calls") -> dict[str, Any]:
    if part["type"].endswith(_CALL_PART):
        given = part.get("id")
        calls.open([tool_call("", "", given if isinstance(given, str) else "")])
        return {key: value for key, value in part.items() if key != "id"}
    given = part.get(_ANSWERED_BY_PART)
    if not given or not isinstance(given, str):
        return part
    number = calls.answered_by({"tool_call_id": given}, keep_numbered=False)
    rest = {key: value for key, value in part.items() if key != _ANSWERED_BY_PART}
    return {**rest, _ANSWERED_BY_PART: number} if number else rest


class _Calls:
    """The calls of a conversation so far, by number."""

    def __init__(self) -> None:
        self._count = 0
        self._open: OrderedDict[int, None] = OrderedDict()
        self._of_id: defaultdict[str, deque[int]] = defaultdict(deque)
        self._of_name: defaultdict[str, deque[int]] = defaultdict(deque)

    def open(self, calls: Sequence[dict[str, Any]]) -> None:
        """Add the calls of a message."""
        for call in calls:
            self._count += 1
            self._open[self._count] = None
            self._of_id[call["id"]].append(self._count)
            self._of_name[call["function"]["name"]].append(self._count)

    def answered_by(self, result: dict[str, Any], *, keep_numbered: bool) -> int | str:
        """The number of the call that a result answers, which is then closed."""
        given, name = result.get("tool_call_id") or "", result.get("name") or ""
        number = 0
        if not given and name in self._of_name:
            number = self._first_open(self._of_name[name])
        if not number and given in self._of_id:
            same = self._of_id[given]
            last = same[-1]
            number = self._first_open(same)
            if not number:
                same.append(last)
                number = last if given else 0
        elif not number and keep_numbered and _NUMBERED.fullmatch(given):
            return str(given)
        number = number or next(iter(self._open), 0)
        self._open.pop(number, None)
        return number

    def _first_open(self, numbers: deque[int]) -> int:
        """The first open one of some calls, or 0. Closed ones before it are removed."""
        while numbers:
            if numbers[0] in self._open:
                return numbers[0]
            numbers.popleft()
        return 0


def renumber_calls(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with their tool calls renamed `call_1`, `call_2`, ... in order.

    Sources give random ids, so equal answers would differ. A result that answers no call loses its
    id, which another call may have by now.

    >>> called = {"role": "assistant", "tool_calls": [tool_call("f", "{}", "x")]}
    >>> results = [{"role": "tool", "tool_call_id": name} for name in ("x", "call_1")]
    >>> [message.get("tool_call_id") for message in renumber_calls([called, *results])]
    [None, 'call_1', None]
    """
    renumbered = []
    count = 0
    for message, answers in zip(messages, answered_calls(messages), strict=True):
        if calls := message.get("tool_calls"):
            fresh = [{**call, "id": f"call_{count + at}"} for at, call in enumerate(calls, 1)]
            count += len(calls)
            renumbered.append({**message, "tool_calls": fresh})
        elif answers:
            renumbered.append(in_order({**message, "tool_call_id": f"call_{answers}"}))
        elif message["role"] == "tool" and "tool_call_id" in message:
            renumbered.append({key: message[key] for key in message if key != "tool_call_id"})
        else:
            renumbered.append(message)
    return renumbered


def number_calls(prompt: _Text, answer: _Text) -> tuple[_Text, _Text]:
    """A prompt and its answer, with their calls numbered as in one conversation.

    The ids in a prompt are then the same for all its answers. Plain text remains plain text.

    >>> prompt = [{"role": "assistant", "tool_calls": [tool_call("f", "{}", "x")]}]
    >>> number_calls(prompt, "Done.")[0][0]["tool_calls"][0]["id"]
    'call_1'
    """
    asked, said = ([] if isinstance(text, str) else text for text in (prompt, answer))
    for turn in (*asked, *said):
        if "tool_calls" in turn or turn["role"] == "tool":
            break
    else:
        return prompt, answer
    numbered = renumber_calls([*asked, *said])
    return (
        prompt if isinstance(prompt, str) else numbered[: len(asked)],
        answer if isinstance(answer, str) else numbered[len(asked) :],
    )


_KEYS = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name")
"""All keys that a message may have once it is read, in this order."""


def in_order(message: dict[str, Any]) -> dict[str, Any]:
    """The message with its keys in their usual order."""
    return {key: message[key] for key in _KEYS if key in message}
