"""What rows say of an answer besides its words: that it was cut off, or that something failed.

Meta carries such marks to the pairs, each under a name that says what it is.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

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
    """Whether a finish reason, or whatever stands in its place, says that an answer has no end.

    >>> says_cut_off("length"), says_cut_off({"reason": "max_output_tokens"}), says_cut_off("stop")
    (True, True, False)
    """
    if isinstance(value, dict):
        return any(map(says_cut_off, value.values()))
    return value is True or (isinstance(value, str) and value.lower() in _CUT_OFF)


_NO_ERROR = frozenset({"", "none", "null", "nan", "false", "no error"})
"""What programs write as text where there was no error."""


def says_error(value: Any) -> bool:
    """Whether a value is an error; nothing is none, and a number is a measure of something.

    >>> says_error("timeout"), says_error(""), says_error("None"), says_error(None), says_error(0.5)
    (True, False, False, False, False)
    """
    if isinstance(value, str):
        return value.strip().lower() not in _NO_ERROR
    return bool(value) and (value is True or isinstance(value, (list, dict)))


class Mark(NamedTuple):
    """One thing that rows say of answers: under which names, and which values of them say it."""

    names: Mapping[str, str]
    """The keys of rows, each with its name in meta."""
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
"""What can be said of an answer, by the reason for which it may be dropped."""

COLUMNS = {name: reason for reason, mark in MARKS.items() for name in mark.names}
"""The keys of objects that hold a mark, each with the reason that it may be."""

_ENDS = tuple({name for mark in MARKS.values() for name in (*mark.names.values(), "exception")})


def is_marked(reason: str, value: Any) -> bool:
    """Whether a column says something of the one answer of its row."""
    return MARKS[reason].says(_of_one(value, 0, 1))


def _of_one(value: Any, place: int, of: int) -> Any:
    """The value for one of several answers, where a list holds one for each."""
    return value[place] if isinstance(value, list) and len(value) == of else value


def marks_in(
    holder: Mapping[str, Any], place: int = 0, of: int = 1, unmarked: Collection[str] = ()
) -> dict[str, Any]:
    """The marks of an answer in an object that holds it, as meta has them.

    A list with a value for each of several answers holds that of this one in its place.

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
    """Whether the meta of a pair marks its chosen answer, and whether its rejected one.

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
    """What the meta of a pair says of its answers.

    >>> list(marks_of({"rejected_error": True, "chosen_error": None, "model": "m"}))
    ['rejected_failed']
    """
    if not any(name.endswith(_ENDS) for name in meta):
        return
    for reason in MARKS:
        for side, marked in zip(("chosen", "rejected"), marked_sides(meta, reason), strict=True):
            if marked:
                yield f"{side}_{reason}"
