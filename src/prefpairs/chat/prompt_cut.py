"""Cuts the prompt of a conversation: what both answers share is prompt, what differs is trained.

Trainers compute the loss on everything after the prompt, including turns of tools and users. So the
prompt extends as far as both sides agree, back to the point where the model's turn begins.
"""

from itertools import takewhile
from typing import NamedTuple

from prefpairs.model.common_prefix import back_to_turn, is_model, shared_length
from prefpairs.model.message import Message
from prefpairs.targets.base import CannotExport


class Cut(NamedTuple):
    """A conversation whose prompt ends where its two answers diverge."""

    prompt: list[Message]
    chosen: list[Message]
    rejected: list[Message]


def cut(one: list[Message], other: list[Message]) -> Cut:
    """Cut two conversations after the longest common prompt that the model answers on both sides.

    >>> ask, call, result = ({"role": r, "content": "."} for r in ("user", "assistant", "tool"))
    >>> yes, no = ({"role": "assistant", "content": text} for text in ("yes", "no"))
    >>> [len(part) for part in cut([ask, call, result, yes], [ask, call, result, no])]
    [3, 1, 1]
    """
    shared = shared_length(one, other)
    both_go_on = shared < min(len(one), len(other))
    if both_go_on and not (is_model(one[shared]) and is_model(other[shared])):
        raise CannotExport("environment_differs")
    place = back_to_turn(one, other, shared)
    if not place:
        raise CannotExport("prompt_is_answer")
    return Cut(one[:place], _until_model(one[place:]), _until_model(other[place:]))


def first_turn(messages: list[Message]) -> list[Message]:
    """The messages before the first one that is not the model's."""
    return list(takewhile(is_model, messages))


def _until_model(messages: list[Message]) -> list[Message]:
    """The messages up to the model's last one."""
    last = max(place for place, message in enumerate(messages) if is_model(message))
    return messages[: last + 1]
