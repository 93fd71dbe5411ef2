"""Rows of pairs in nobody's format: all that they have of the question joins the prompt.

Trainers pass over columns that their format does not have, so `--from trl` reads a row without
them. Where no format is named, nothing that was asked may be lost unseen, as with rollouts.
"""

from typing import Any

from prefpairs.errors import TwoReadings
from prefpairs.model.candidate import read_text, read_tools
from prefpairs.model.common_prefix import in_common
from prefpairs.model.content import MEDIA as CONTENT
from prefpairs.model.content import parts_of
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
from prefpairs.targets.base import Row

_MEDIA = {**{name: name for name in CONTENT}, **MEDIA}
_UNCERTAIN = frozenset({INPUT, *UNCERTAIN}.difference(CONTENT))
_JOINING = frozenset({*SYSTEM, *HISTORY, *TOOLS[1:], *_MEDIA, *_UNCERTAIN})


def with_own_prompt(row: Row, name: str) -> Row:
    """The row with the prompt that stands in another column, where answers stand alone.

    >>> with_own_prompt({"question": "Q", "chosen": "a", "rejected": "b"}, "trl")
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


def with_all_asked(row: Row, name: str) -> Row:
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
