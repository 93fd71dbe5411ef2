"""Where two conversations diverge, and where the assistant's turn begins."""

from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from prefpairs.model.identity import canonical
from prefpairs.model.message import Message


def shared_length(one: list[Message], other: list[Message]) -> int:
    """How many messages two conversations have in common at the beginning."""
    # Both sides often share the objects of a prompt: not comparing those saves 10 us a pair.
    pairs = zip(one, other, strict=False)
    same = (mine is theirs or _identity(mine) == _identity(theirs) for mine, theirs in pairs)
    return sum(1 for _ in takewhile(bool, same))


def in_common(one: Iterable[Any], other: Iterable[Any]) -> int:
    """How many items two sequences have in common at the beginning.

    >>> in_common("I am", "I ate")
    3
    """
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def back_to_turn(one: list[Any], other: list[Any], place: int) -> int:
    """Where the assistant's turn begins in both, at or before `place`; 0 if it does not."""
    while place and not (_begins_turn(one, place) and _begins_turn(other, place)):
        place -= 1
    return place


def is_model(message: Any) -> bool:
    """Whether a message is the assistant's."""
    return isinstance(message, dict) and message.get("role") == "assistant"


def _identity(message: Message) -> tuple[bytes, str]:
    """The content of a message, and the call it answers."""
    return canonical([message], "")[0], message.get("tool_call_id", "")


def _begins_turn(messages: list[Any], place: int) -> bool:
    """Whether an assistant's turn begins there."""
    if place >= len(messages) or not is_model(messages[place]):
        return False
    return not is_model(messages[place - 1])
