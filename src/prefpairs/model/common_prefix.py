"""Where two conversations part, and where the model's turn begins."""

from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from prefpairs.model.identity import canonical
from prefpairs.model.message import Message


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


def is_model(message: Any) -> bool:
    """Whether the model speaks, where that can be said."""
    return isinstance(message, dict) and message.get("role") == "assistant"


def _identity(message: Message) -> tuple[bytes, str]:
    """What a message says, and which call it answers."""
    return canonical([message], "")[0], message.get("tool_call_id", "")


def _begins_turn(messages: list[Any], place: int) -> bool:
    """Whether the model begins to speak there."""
    if place >= len(messages) or not is_model(messages[place]):
        return False
    return not is_model(messages[place - 1])
