"""Conversations in the rows of trainers: where the prompt ends, and what a text holds."""

from typing import Any

from prefpairs.errors import BadField, NotJson
from prefpairs.model.common_prefix import back_to_turn, in_common
from prefpairs.model.json_codec import decode, encode_sorted
from prefpairs.targets.base import Row, role_of


def parted(row: Row, *, whole: bool = False) -> Row:
    """The row with a prompt of its own, where both answers begin with the conversation.

    With `whole` they always do; else only where they do not begin with the model's words.
    """
    chosen, rejected = row.get("chosen"), row.get("rejected")
    if isinstance(chosen, str) and isinstance(rejected, str) and row.get("prompt") is None:
        return {**row, **_parted_texts(chosen, rejected)}
    if not (isinstance(chosen, list) and isinstance(rejected, list)):
        return row
    if not whole and not (begins_otherwise(chosen) and begins_otherwise(rejected)):
        return row
    shared = chosen[: _parting(chosen, rejected)]
    told: Any = row.get("prompt")
    split = {**row, "chosen": chosen[len(shared) :], "rejected": rejected[len(shared) :]}
    if isinstance(told, list) and shared[: len(told)] != told:
        return {**split, "prompt": [*told, *shared]}
    if isinstance(told, str) and told not in map(_content, shared):
        split["source_prompt"] = told
    return {**split, "prompt": shared}


def _parted_texts(chosen: str, rejected: str) -> Row:
    """The common beginning of two texts as their prompt, in whole words.

    The space before a word belongs to it, as trainers that put both together have it.
    """
    place = in_common(chosen, rejected)
    while place and not chosen[place - 1].isspace():
        place -= 1
    place -= chosen[:place].endswith(" ")
    return {"prompt": chosen[:place], "chosen": chosen[place:], "rejected": rejected[place:]}


def _parting(chosen: list[Any], rejected: list[Any]) -> int:
    """Where two conversations part, back to where the model begins to speak."""
    shared = in_common(map(encode_sorted, chosen), map(encode_sorted, rejected))
    place = back_to_turn(chosen, rejected, shared)
    if not place:
        raise BadField("chosen", chosen, "a conversation that begins as rejected does")
    return place


def begins_otherwise(answer: Any) -> bool:
    """Whether an answer begins with what somebody else said, such as the conversation before."""
    speaker = role_of(answer[0]) if isinstance(answer, list) and answer else None
    return speaker not in (None, "assistant")


def calls_in(text: str) -> list[Any] | None:
    """The calls that a text holds as JSON, one or a list of them; nothing where it holds none."""
    try:
        called = decode(text.encode())
    except NotJson:
        return None
    return called if isinstance(called, list) else [called]


def _content(message: Any) -> Any:
    return message.get("content") if isinstance(message, dict) else None
