"""The text of an answer, its reasoning, and marks that say it was cut off or failed."""

from collections.abc import Collection, Iterator
from typing import Any

from prefpairs.errors import BadField
from prefpairs.fields.names import CALLS, THOUGHTS
from prefpairs.model.candidate import read_text
from prefpairs.model.marks import COLUMNS, marks_in
from prefpairs.model.message import REASONING_KEYS, Text, is_messages, read_message
from prefpairs.model.path import MISSING, holders_at, items_at, look_up

WORDS = "content"


def said_at(row: dict[str, Any], path: str, mends: list[str]) -> Text:
    """The answer at a path: text, messages or one message.

    A path to the content of a message includes its reasoning; its tool calls are left out and
    counted. So are reasoning and tool calls in other columns, where the answer is plain text.
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
    elif isinstance(value, str):
        mends += _left_out(row, path, value)
    return read_text(value, path)


def _left_out(row: dict[str, Any], path: str, words: str) -> Iterator[str]:
    """What other columns say the model did, and which no pair will contain."""
    *_, holder = holders_at(row, path)
    parent, _, place = path.rpartition(".")
    if isinstance(holder, dict):
        beside = {name: holder.get(name) for name in (*THOUGHTS, *CALLS)}
    else:  # a list of answers, with other lists parallel to it
        *_, outer = holders_at(row, parent)
        lists = _lists_beside(outer, len(holder)) if isinstance(outer, dict) else {}
        beside = {name: value[int(place)] for name, value in lists.items()}
    if any(_says_more(beside.get(name), words) for name in THOUGHTS):
        yield "thinking_left_out"
    if any(beside.get(name) and isinstance(beside[name], (list, dict)) for name in CALLS):
        yield "calls_left_out"


def _says_more(thought: Any, words: str) -> bool:
    """Whether there is reasoning that the answer does not already contain."""
    if isinstance(thought, str):
        return bool(thought.strip()) and thought.strip() not in words
    return isinstance(thought, list) and bool(thought)


def _lists_beside(holder: dict[str, Any], count: int) -> dict[str, list[Any]]:
    """The columns of reasoning and tool calls that hold one value per answer."""
    named = {name: holder.get(name) or holder.get(f"{name}s") for name in (*THOUGHTS, *CALLS)}
    return {
        name: value
        for name, value in named.items()
        if isinstance(value, list) and len(value) == count
    }


def only_answer_at(row: Any, path: str, mends: list[str]) -> Text | None:
    """The answer at a path that the user named; a row with one score has one answer."""
    given = look_up(row, path)
    if given is MISSING or given is None:
        return None
    items = items_at(row, path)
    if items is not None and len(items) != 1:
        raise BadField(path, given, "one answer, for the row has one score")
    if items is not None:
        return said_at(row, items[0].path, mends)
    return numbered_at(row, path, mends)


def numbered_at(row: dict[str, Any], path: str, mends: list[str]) -> Text:
    """The answer at a path that may select list items by number; unselected items are counted."""
    lists = [holder for holder in holders_at(row, path) if isinstance(holder, list)]
    if any(len(items) > 1 and not is_messages(items) for items in lists):
        mends.append("items_left_out")
    return said_at(row, path, mends)


def is_of_message(row: Any, path: str) -> bool:
    """Whether a path names the content of a message of the model, which may be the row itself."""
    if path.rpartition(".")[2] != WORDS:
        return False
    *_, holder = holders_at(row, path)
    usual = None if holder is row else "assistant"
    return isinstance(holder, dict) and bool(holder.get("role", usual) == "assistant")


def marks_at(
    row: dict[str, Any], path: str, unmarked: Collection[str], place: int = 0, of: int = 1
) -> dict[str, Any] | None:
    """The marks of an answer (cut off, failed), from all objects that contain it.

    Columns that the user named as something else are not marks.
    """
    found: dict[str, Any] = {}
    value = look_up(row, path)
    last = value[-1] if isinstance(value, list) and value else value
    for holder in (*holders_at(row, path), last):
        if isinstance(holder, dict) and not COLUMNS.keys().isdisjoint(holder):
            named = unmarked if holder is row else ()
            found |= marks_in(holder, place, of, named)
    return found or None
