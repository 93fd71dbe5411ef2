"""An answer and what its row says of it: thinking beside its words, and marks of its fate."""

from collections.abc import Collection
from typing import Any

from prefpairs.errors import BadField
from prefpairs.records.candidate import read_text
from prefpairs.records.marks import COLUMNS, marks_in
from prefpairs.records.message import REASONING_KEYS, Text, read_message
from prefpairs.records.path import MISSING, holders_at, items_at, look_up

WORDS = "content"
THINKING = "reasoning_content"


def said_at(row: dict[str, Any], path: str, mends: list[str]) -> Text:
    """The answer at a path: text, messages or one message.

    The words of a message bring its thinking along; its tool calls are left out, and counted.
    """
    value = look_up(row, path)
    if isinstance(value, dict) and ("role" in value or WORDS in value):
        return [read_message({"role": "assistant", **value}, path)]
    *_, holder = holders_at(row, path)
    if is_of_message(row, path):
        if holder.get("tool_calls"):
            mends.append("calls_left_out")
        thinking = {key: holder[key] for key in REASONING_KEYS if holder.get(key)}
        if thinking or not isinstance(value, str):
            turn = {"role": "assistant", WORDS: value, **thinking}
            return [read_message(turn, path.removesuffix(f".{WORDS}"))]
    elif isinstance(holder, dict) and isinstance(value, str) and holder.get(THINKING):
        mends.append("thinking_left_out")
    return read_text(value, path)


def only_answer_at(row: Any, path: str, mends: list[str]) -> Text | None:
    """The answer at a path of the user's; rows of one score have no room for alternatives."""
    given = look_up(row, path)
    if given is MISSING or given is None:
        return None
    items = items_at(row, path)
    if items is not None and len(items) != 1:
        raise BadField(path, given, "one answer, for the row has one score")
    return said_at(row, path if items is None else items[0].path, mends)


def is_of_message(row: Any, path: str) -> bool:
    """Whether a path names the words of a message of the model; the row is one if it says so."""
    if path.rpartition(".")[2] != WORDS:
        return False
    *_, holder = holders_at(row, path)
    usual = None if holder is row else "assistant"
    return isinstance(holder, dict) and bool(holder.get("role", usual) == "assistant")


def marks_at(
    row: dict[str, Any], path: str, unmarked: Collection[str], place: int = 0, of: int = 1
) -> dict[str, Any] | None:
    """What an answer's row says of its fate, in any of the objects that hold it.

    Columns of the row that were named as something else are no marks.
    """
    found: dict[str, Any] = {}
    value = look_up(row, path)
    last = value[-1] if isinstance(value, list) and value else value
    for holder in (*holders_at(row, path), last):
        if isinstance(holder, dict) and not COLUMNS.keys().isdisjoint(holder):
            named = unmarked if holder is row else ()
            found |= marks_in(holder, place, of, named)
    return found or None
