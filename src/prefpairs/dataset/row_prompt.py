"""The prompt of a trainer's row: its own column, several columns, or the start of both answers."""

from typing import Any

from prefpairs.errors import BadField, TwoReadings
from prefpairs.model.candidate import read_text, read_tools
from prefpairs.model.common_prefix import back_to_turn, in_common
from prefpairs.model.content import MEDIA as CONTENT
from prefpairs.model.content import parts_of
from prefpairs.model.json_codec import encode_sorted
from prefpairs.model.media import with_media
from prefpairs.model.message import Text
from prefpairs.model.question_columns import (
    HISTORY,
    INPUT,
    MEDIA,
    PROMPTS,
    SYSTEM,
    TOOLS,
    UNCERTAIN,
    asks_in,
    holds_something,
    is_told_in,
    tools_in,
    with_history,
    with_system,
)
from prefpairs.targets.base import Row, role_of


def split_prompt(row: Row, *, whole: bool = False) -> Row:
    """The row with a prompt of its own, where both answers begin with the conversation.

    With `whole` they always do; else only where they do not begin with the model's words.
    """
    chosen, rejected = row.get("chosen"), row.get("rejected")
    if isinstance(chosen, str) and isinstance(rejected, str) and row.get("prompt") is None:
        return {**row, **_parted_texts(chosen, rejected)}
    if not (isinstance(chosen, list) and isinstance(rejected, list)):
        return row
    if not whole and not (starts_with_other_role(chosen) and starts_with_other_role(rejected)):
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


def starts_with_other_role(answer: Any) -> bool:
    """Whether an answer begins with what somebody else said, such as the conversation before."""
    speaker = role_of(answer[0]) if isinstance(answer, list) and answer else None
    return speaker not in (None, "assistant")


def _content(message: Any) -> Any:
    return message.get("content") if isinstance(message, dict) else None


_MEDIA = {**{name: name for name in CONTENT}, **MEDIA}
_UNCERTAIN = frozenset({INPUT, *UNCERTAIN}.difference(CONTENT))
_JOINING = frozenset({*SYSTEM, *HISTORY, *TOOLS[1:], *_MEDIA, *_UNCERTAIN})


def with_prompt_column(row: Row, name: str) -> Row:
    """The row with the prompt that stands in another column, where answers stand alone.

    >>> with_prompt_column({"question": "Q", "chosen": "a", "rejected": "b"}, "a-format")
    {'prompt': 'Q', 'chosen': 'a', 'rejected': 'b'}
    """
    asking = [key for key in PROMPTS[1:] if holds_something(row.get(key))]
    if row.get("prompt") is not None or not asking:
        return row
    if len(asking) > 1:  # an input may be more of another one's question
        asking = [key for key in asking if key != INPUT]
    asked = row[asking[0]]
    if any(row[key] != asked for key in asking):
        raise _two(asking, name)
    if _is_in_both(asked, row.get("chosen"), row.get("rejected")):
        return row  # they are whole conversations
    return {"prompt": asked, **{key: row[key] for key in row if key not in (*asking, "prompt")}}


def _is_in_both(asked: Any, chosen: Any, rejected: Any) -> bool:
    """Whether what two texts begin with holds what was asked."""
    if not all(isinstance(text, str) for text in (asked, chosen, rejected)):
        return False
    return asked in chosen[: in_common(chosen, rejected)]


def with_question_columns(row: Row, name: str) -> Row:
    """The row with every column of the question in its prompt and tools; `name` is its format."""
    there = {key for key in _JOINING.intersection(row) if asks_in(key, row[key])}
    if not there or not isinstance(row.get("prompt"), (str, list)):
        return row
    prompt = read_text(row["prompt"], "prompt")
    there -= {key for key in there & _UNCERTAIN if is_told_in(prompt, row[key])}
    if uncertain := sorted(there & _UNCERTAIN):
        raise _two(uncertain, name)
    for key in (*HISTORY, *SYSTEM):
        if key in there:
            told = _with_told(prompt, key, row[key])
            if told is None:
                raise _two([key], name)
            prompt = told
    tools = read_tools(row.get("tools"), "tools")
    for key in TOOLS[1:]:
        if key in there:
            found = tools_in(row[key])
            if found is None or tools not in (None, found):
                raise _two([key], name)
            tools = found
    parts = [part for key in _MEDIA if key in there for part in parts_of(_MEDIA[key], row[key])]
    others = {key: value for key, value in row.items() if key not in there}
    return {**others, "prompt": with_media(prompt, parts), **({"tools": tools} if tools else {})}


def _with_told(prompt: Text, key: str, value: Any) -> Text | None:
    if key in HISTORY:
        return with_history(prompt, value)
    return with_system(prompt, value) if isinstance(value, str) else None


def _two(columns: list[str], name: str) -> TwoReadings:
    """That columns may be part of the question; as a row of its format, a row has none of them."""
    listed = ", ".join(f'"{column}"' for column in columns)
    verb = "stands" if len(columns) == 1 else "stand"
    problem = f"is {listed} part of the question? It {verb} beside the prompt of a pair"
    return TwoReadings(problem, [("--from", name)])
