"""The prompt of a trainer's row: its own column, several columns, or the start of both answers.

Trainers ignore columns that their format does not have, so `--from FORMAT` reads a row without
them. If no format is named, no part of the question may be lost silently, so all of it joins the
prompt.
"""

from typing import Any

from prefpairs.dataset.row_rules import Row, role_of
from prefpairs.errors import BadField, TwoReadings
from prefpairs.model.candidate import read_text, read_tools
from prefpairs.model.common_prefix import back_to_turn, in_common
from prefpairs.model.content import MEDIA as CONTENT
from prefpairs.model.content import parts_of
from prefpairs.model.json_codec import encode_sorted
from prefpairs.model.message import Text, with_media
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

_MEDIA = {**{name: name for name in CONTENT}, **MEDIA}
_UNCERTAIN = frozenset({INPUT, *UNCERTAIN}.difference(CONTENT))
_QUESTION = frozenset({*SYSTEM, *HISTORY, *TOOLS[1:], *_MEDIA, *_UNCERTAIN})


def split_prompt(row: Row, *, whole: bool = False) -> Row:
    """The row with a prompt of its own, if both answers begin with the conversation.

    With `whole` they always do; otherwise only if they do not begin with a turn of the model.
    """
    chosen, rejected = row.get("chosen"), row.get("rejected")
    if isinstance(chosen, str) and isinstance(rejected, str) and row.get("prompt") is None:
        return {**row, **_split_texts(chosen, rejected)}
    if not (isinstance(chosen, list) and isinstance(rejected, list)):
        return row
    if not whole and not (starts_with_other_role(chosen) and starts_with_other_role(rejected)):
        return row
    shared = chosen[: _prompt_length(chosen, rejected)]
    given: Any = row.get("prompt")
    split = {**row, "chosen": chosen[len(shared) :], "rejected": rejected[len(shared) :]}
    if isinstance(given, list) and shared[: len(given)] != given:
        return {**split, "prompt": [*given, *shared]}
    if isinstance(given, str) and given not in map(_content, shared):
        split["source_prompt"] = given
    return {**split, "prompt": shared}


def _split_texts(chosen: str, rejected: str) -> Row:
    """Two texts without their common beginning, which becomes the prompt, in whole words.

    The space before a word belongs to the word, as trainers concatenate prompt and answer.
    """
    place = in_common(chosen, rejected)
    while place and not chosen[place - 1].isspace():
        place -= 1
    place -= chosen[:place].endswith(" ")
    return {"prompt": chosen[:place], "chosen": chosen[place:], "rejected": rejected[place:]}


def _prompt_length(chosen: list[Any], rejected: list[Any]) -> int:
    """How many messages two conversations share, up to the turn of the model where they diverge."""
    shared = in_common(map(encode_sorted, chosen), map(encode_sorted, rejected))
    place = back_to_turn(chosen, rejected, shared)
    if not place:
        raise BadField("chosen", chosen, "a conversation that begins as rejected does")
    return place


def starts_with_other_role(answer: Any) -> bool:
    """Whether an answer starts with a message that is not the model's: a whole conversation."""
    role = role_of(answer[0]) if isinstance(answer, list) and answer else None
    return role not in (None, "assistant")


def _content(message: Any) -> Any:
    return message.get("content") if isinstance(message, dict) else None


def with_prompt_column(row: Row, name: str) -> Row:
    """The row with the prompt from another column, unless its answers are whole conversations.

    `name` is the format of the row.

    >>> with_prompt_column({"question": "Q", "chosen": "a", "rejected": "b"}, "a-format")
    {'prompt': 'Q', 'chosen': 'a', 'rejected': 'b'}
    """
    columns = [key for key in PROMPTS[1:] if holds_something(row.get(key))]
    if row.get("prompt") is not None or not columns:
        return row
    if len(columns) > 1:  # an input may be a part of another column's question
        columns = [key for key in columns if key != INPUT]
    question = row[columns[0]]
    if any(row[key] != question for key in columns):
        raise _two_readings(columns, name)
    if _is_in_both(question, row.get("chosen"), row.get("rejected")):
        return row
    return {"prompt": question, **{key: row[key] for key in row if key not in (*columns, "prompt")}}


def _is_in_both(question: Any, chosen: Any, rejected: Any) -> bool:
    """Whether the common beginning of two texts contains the question."""
    if not all(isinstance(text, str) for text in (question, chosen, rejected)):
        return False
    return question in chosen[: in_common(chosen, rejected)]


def with_question_columns(row: Row, name: str) -> Row:
    """The row with every column of the question in its prompt and tools; `name` is its format."""
    present = {key for key in _QUESTION.intersection(row) if asks_in(key, row[key])}
    if not present or not isinstance(row.get("prompt"), (str, list)):
        return row
    prompt = read_text(row["prompt"], "prompt")
    present -= {key for key in present & _UNCERTAIN if is_told_in(prompt, row[key])}
    if uncertain := sorted(present & _UNCERTAIN):
        raise _two_readings(uncertain, name)
    for key in (*HISTORY, *SYSTEM):
        if key in present:
            joined = _with_column(prompt, key, row[key])
            if joined is None:
                raise _two_readings([key], name)
            prompt = joined
    tools = read_tools(row.get("tools"), "tools")
    for key in TOOLS[1:]:
        if key in present:
            found = tools_in(row[key])
            if found is None or tools not in (None, found):
                raise _two_readings([key], name)
            tools = found
    parts = [part for key in _MEDIA if key in present for part in parts_of(_MEDIA[key], row[key])]
    others = {key: value for key, value in row.items() if key not in present}
    return {**others, "prompt": with_media(prompt, parts), **({"tools": tools} if tools else {})}


def _with_column(prompt: Text, key: str, value: Any) -> Text | None:
    if key in HISTORY:
        return with_history(prompt, value)
    return with_system(prompt, value) if isinstance(value, str) else None


def _two_readings(columns: list[str], name: str) -> TwoReadings:
    """The error that columns may be part of the question; read as `name`, the row has none."""
    listed = ", ".join(f'"{column}"' for column in columns)
    verb = "is" if len(columns) == 1 else "are"
    problem = f"{verb} {listed} part of the question? The pair has a prompt too"
    return TwoReadings(problem, [("--from", name)])
