"""Marks of an answer: columns that say it was cut off, or that something failed.

Marks are kept in the meta of candidates and pairs, under names of their own.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal, NamedTuple

_CUT_OFF = frozenset(
    {
        "length",
        "max_length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
        "incomplete",
        "truncated",
    }
)


def says_cut_off(value: Any) -> bool:
    """Whether a finish reason, or a similar value, says that an answer was cut off.

    >>> says_cut_off("length"), says_cut_off({"reason": "max_output_tokens"}), says_cut_off("stop")
    (True, True, False)
    """
    if isinstance(value, dict):
        return any(map(says_cut_off, value.values()))
    return value is True or (isinstance(value, str) and value.lower() in _CUT_OFF)


_DONE = frozenset(
    {
        *("stop", "eos", "eos_token", "stop_sequence", "stop_token", "end_turn", "tool_calls"),
        *("tool_use", "function_call", "completed", "complete", "done"),
    }
)
_FAILED = frozenset({"error", "abort", "aborted", "cancelled", "content_filter", "failed"})

End = Literal["done", "incomplete", "failed", "unknown_end"]


def end_of(reason: Any) -> End | None:
    """How an answer ended, by its finish reason; None if that is not recorded.

    >>> end_of("stop"), end_of("length"), end_of("abort"), end_of("new_limit"), end_of(None)
    ('done', 'incomplete', 'failed', 'unknown_end', None)
    """
    if reason is None or reason == "":
        return None
    if says_cut_off(reason):
        return "incomplete"
    known = reason.lower() if isinstance(reason, str) else ""
    return "failed" if known in _FAILED else "done" if known in _DONE else "unknown_end"


_NO_ERROR = frozenset({"", "none", "null", "nan", "false", "no error"})
"""The texts that programs write if there was no error."""


def says_error(value: Any) -> bool:
    """Whether a value is an error. Empty values are not, nor are numbers, which measure something.

    >>> says_error("timeout"), says_error(""), says_error("None"), says_error(None), says_error(0.5)
    (True, False, False, False, False)
    """
    if isinstance(value, str):
        return value.strip().lower() not in _NO_ERROR
    return bool(value) and (value is True or isinstance(value, (list, dict)))


class Mark(NamedTuple):
    """One kind of mark: the names it has, and which values count."""

    names: Mapping[str, str]
    """The columns of rows, and the name of each in meta."""
    in_meta: re.Pattern[str]
    says: Callable[[Any], bool]


def _in_meta(*names: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|\.|^chosen_|^rejected_)(?:{'|'.join(names)})$")


MARKS = {
    "incomplete": Mark(
        {
            "finish_reason": "finish_reason",
            "finish_reasons": "finish_reason",
            "stop_reason": "stop_reason",
            "stop_reasons": "stop_reason",
            "status": "status",
            "incomplete_details": "incomplete_details",
            "truncated": "truncated",
            "is_truncated": "truncated",
        },
        _in_meta("finish_reason", "stop_reason", "status", "incomplete_details", "truncated"),
        says_cut_off,
    ),
    "failed": Mark(
        dict.fromkeys(
            (
                *("error", "errors", "error_message", "error_msg", "error_type", "is_error"),
                *("exception", "exception_info", "exception_type", "traceback", "timed_out"),
            ),
            "error",
        ),
        _in_meta("error", "exception"),
        says_error,
    ),
}
"""The kinds of marks, by the reason for which an answer may be dropped."""

COLUMNS = {name: reason for reason, mark in MARKS.items() for name in mark.names}
"""The columns that may hold a mark, and the kind of each."""

_ENDS = tuple({name for mark in MARKS.values() for name in (*mark.names.values(), "exception")})


def is_marked(reason: str, value: Any) -> bool:
    """Whether a column marks the only answer of its row."""
    return MARKS[reason].says(_of_one(value, 0, 1))


def _of_one(value: Any, place: int, of: int) -> Any:
    """The value for one of several answers, if there is a list of values."""
    return value[place] if isinstance(value, list) and len(value) == of else value


def marks_in(
    holder: Mapping[str, Any], place: int = 0, of: int = 1, unmarked: Collection[str] = ()
) -> dict[str, Any]:
    """The marks of an answer in the object that holds it, as they are written to meta.

    A list may have a value for each of several answers.

    >>> marks_in({"finish_reasons": ["stop", "length"], "error": None}, 1, 2)
    {'finish_reason': 'length'}
    """
    found: dict[str, Any] = {}
    for name in sorted((COLUMNS.keys() & holder.keys()).difference(unmarked)):
        reason, value = COLUMNS[name], _of_one(holder[name], place, of)
        mark = MARKS[reason]
        if mark.says(value):
            found[mark.names[name]] = True if reason == "failed" else value
    return found


def marked_sides(meta: Mapping[str, Any] | None, reason: str) -> tuple[bool, bool]:
    """Whether the meta of a pair marks its chosen answer, and its rejected one.

    >>> marked_sides({"rejected_finish_reason": "length", "error": None}, "incomplete")
    (False, True)
    """
    chosen = rejected = False
    mark = MARKS[reason]
    for name, value in (meta or {}).items():
        if name.endswith(_ENDS) and mark.in_meta.search(name) and mark.says(value):
            chosen = chosen or not name.startswith("rejected_")
            rejected = rejected or not name.startswith("chosen_")
    return chosen, rejected


def marks_of(meta: Mapping[str, Any]) -> Iterator[str]:
    """The marks in the meta of a pair, by side.

    >>> list(marks_of({"rejected_error": True, "chosen_error": None, "model": "m"}))
    ['rejected_failed']
    """
    if not any(name.endswith(_ENDS) for name in meta):
        return
    for reason in MARKS:
        for side, marked in zip(("chosen", "rejected"), marked_sides(meta, reason), strict=True):
            if marked:
                yield f"{side}_{reason}"
