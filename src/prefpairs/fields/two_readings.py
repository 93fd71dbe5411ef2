"""Chooses one of several fields that could be meant; they must agree, or the run stops."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from prefpairs.errors import TwoReadings
from prefpairs.fields.question import same_text
from prefpairs.model.message import is_messages
from prefpairs.model.number import read_score, round_score
from prefpairs.model.path import look_up
from prefpairs.model.question_columns import holds_something

Row = dict[str, Any]
Fact = tuple[str, ...]


def present_in(row: Row, names: Iterable[str]) -> list[str]:
    """Those names that a row has, in the given order."""
    return [name for name in names if name in row]


def says(value: Any) -> bool:
    """Whether a value is text, a message or a list, and not empty."""
    if isinstance(value, dict):
        return is_messages([value]) or holds_something(value.get("content"))
    return isinstance(value, (str, list)) and holds_something(value)


def chosen(
    row: Row, what: str, present: Sequence[str], told: Sequence[str], shown: list[Fact]
) -> str | None:
    """The field that has content, or else the first one present; adds the facts it shows."""
    name = only(row, what, told) or next(iter(present), None)
    show(what, name, present, told, shown)
    return name


def show(
    what: str, name: str | None, present: Sequence[str], told: Sequence[str], shown: list[Fact]
) -> None:
    """Add facts: which field is guessed, and which others are empty in this row."""
    if name is None:
        return
    shown.append(("guessed", what, name))
    if told and len(present) > 1:
        columns = {*map(column_of, (name, *told))}
        silent = (path for path in present if column_of(path) not in columns)
        shown += [("silent beside", what, path, name) for path in silent]
    if what != "prompt":
        shown += [("says the same", what, path) for path in told if path != name]


def column_of(path: str) -> str:
    """The column in which a path starts.

    >>> column_of("samples[].text"), column_of("completion.choices[].message")
    ('samples', 'completion')
    """
    return path.partition(".")[0].removesuffix("[]")


def only(row: Row, what: str, names: Sequence[str]) -> str | None:
    """The first of the names; raises TwoReadings if another one differs from it."""
    if not names:
        return None
    first, *others = names
    same = _SAME[what]
    value = look_up(row, first)
    differing = [name for name in others if not same(value, look_up(row, name))]
    if differing:
        raise two_readings(what, (first, *differing))
    return first


def _same_score(one: Any, other: Any) -> bool:
    return bool(_rounded(one) == _rounded(other))


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round_score(read_score(value, "")) if isinstance(value, (int, float)) else value


_SAME: dict[str, Callable[[Any, Any], bool]] = {
    "prompt": lambda one, other: same_text(one, other, "user"),
    "response": lambda one, other: same_text(one, other, "assistant"),
    "score": _same_score,
}


def two_readings(what: str, names: Sequence[str], listed: Sequence[str] = ()) -> TwoReadings:
    """The error that several fields could be meant and differ; each name is a choice."""
    choices: list[tuple[str, ...]] = [(f"--{what}", name) for name in names]
    if what == "prompt" and "input" in names:  # it may continue the question of another column
        others = [name for name in names if name != "input"]
        choices = [
            ("--prompt", name, option, "input")
            for name in others
            for option in ("--context", "--ignore")
        ]
        choices.append(("--prompt", "input"))
    quoted = " and ".join(f'"{name}"' for name in listed or names)
    return TwoReadings(f"the {what} could be {quoted}, which differ", choices)
