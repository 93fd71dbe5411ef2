"""The right cut: what both answers share is prompt, and training sees what differs.

Trainers put all that follows the prompt into the loss, turns of tools and users included. So the
prompt goes as far as both sides agree, back to where the model's turn begins.
"""

from collections.abc import Iterable
from itertools import takewhile
from typing import Any, NamedTuple

from prefpairs.records.identity import canonical
from prefpairs.records.message import Message
from prefpairs.targets.protocol import Unfit, role_of


class Cut(NamedTuple):
    """A conversation, cut where its two endings part."""

    prompt: list[Message]
    chosen: list[Message]
    rejected: list[Message]


def cut(one: list[Message], other: list[Message]) -> Cut:
    """Two conversations with the longest prompt after which the model speaks on both sides.

    >>> ask, call, told = ({"role": role, "content": "."} for role in ("user", "assistant", "tool"))
    >>> yes, no = ({"role": "assistant", "content": text} for text in ("yes", "no"))
    >>> [len(part) for part in cut([ask, call, told, yes], [ask, call, told, no])]
    [3, 1, 1]
    """
    shared = shared_length(one, other)
    both_go_on = shared < min(len(one), len(other))
    if both_go_on and not (_is_model(one[shared]) and _is_model(other[shared])):
        raise Unfit("environment_differs")
    place = back_to_turn(one, other, shared)
    if not place:
        raise Unfit("prompt_is_answer")
    return Cut(one[:place], _until_model(one[place:]), _until_model(other[place:]))


def first_turn(messages: list[Message]) -> list[Message]:
    """The messages up to the first one that the model did not write."""
    return list(takewhile(_is_model, messages))


def shared_length(one: list[Message], other: list[Message]) -> int:
    """How many messages two conversations have in common from the beginning."""
    # A prompt is one object on both sides; to look no further takes 10 us off a long pair.
    pairs = zip(one, other, strict=False)
    same = (mine is theirs or _identity(mine) == _identity(theirs) for mine, theirs in pairs)
    return sum(1 for _ in takewhile(bool, same))


def in_common(one: Iterable[Any], other: Iterable[Any]) -> int:
    """How many items two have in common from the beginning.

    >>> in_common("I am", "I ate")
    3
    """
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def back_to_turn(one: list[Any], other: list[Any], place: int) -> int:
    """Where the model's turn begins in both, at this place or before it; 0 if it does nowhere."""
    while place and not (_begins_turn(one, place) and _begins_turn(other, place)):
        place -= 1
    return place


def _identity(message: Message) -> tuple[bytes, str]:
    """What a message says, and which call it answers."""
    return canonical([message], "")[0], message.get("tool_call_id", "")


def _begins_turn(messages: list[Any], place: int) -> bool:
    """Whether the model begins to speak there."""
    if place >= len(messages) or not _is_model(messages[place]):
        return False
    return not _is_model(messages[place - 1])


def _until_model(messages: list[Message]) -> list[Message]:
    """The messages without those after the model's last one."""
    last = max(place for place, message in enumerate(messages) if _is_model(message))
    return messages[: last + 1]


def _is_model(message: Any) -> bool:
    return bool(role_of(message) == "assistant")
