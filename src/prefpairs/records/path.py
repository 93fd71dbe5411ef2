"""Dotted paths into a record: `response.model`, `choices.0.message.content`, `samples[].text`."""

from collections.abc import Iterator
from typing import Any


class Missing:
    """The type of MISSING: what a path finds where there is nothing. JSON null is a value."""

    def __repr__(self) -> str:
        """Say what it stands for."""
        return "MISSING"


MISSING = Missing()

_EACH = "[]"
_LONGEST_PLACE = 20
"""No list has more items than so many digits can count."""


def look_up(record: Any, path: str) -> Any:
    """What stands at a path, or MISSING. A key that holds dots is found whole, too.

    `[]` stands for each item of a list; where one of several lacks the rest, there is a null.

    >>> look_up({"choices": [{"text": "hi"}]}, "choices.0.text")
    'hi'
    >>> look_up({"response.model": "m"}, "response.model")
    'm'
    >>> look_up({"samples": [{"text": "a"}, {"text": "b"}]}, "samples[].text")
    ['a', 'b']
    >>> look_up({}, "reward")
    MISSING
    """
    value = record
    while True:
        if isinstance(value, dict) and path in value:
            return value[path]
        step, dot, path = path.partition(".")
        if step.endswith(_EACH) and not (isinstance(value, dict) and step in value):
            return _of_each(_step(value, step.removesuffix(_EACH)), path)
        value = _step(value, step)
        if value is MISSING or not dot:
            return value


def paths_of(record: Any, depth: int = 4) -> Iterator[str]:
    """Every path that a record has, down to a depth: what a mistyped one is held against.

    >>> list(paths_of({"a": {"b": 1}, "c": [2], "d": [{"e": 3}]}))
    ['a', 'a.b', 'c', 'c.0', 'd', 'd.0', 'd.0.e', 'd[].e']
    """
    if isinstance(record, dict):
        members = list(record.items())
    elif isinstance(record, list):
        members = [(str(place), item) for place, item in enumerate(record[:3])]
    else:
        return
    for key, value in members:
        yield key
        if depth > 1:
            yield from (f"{key}.{rest}" for rest in paths_of(value, depth - 1))
        if depth > 1 and isinstance(value, list) and value and isinstance(value[0], dict):
            yield from (f"{key}{_EACH}.{rest}" for rest in paths_of(value[0], depth - 1))


def _of_each(items: Any, path: str) -> Any:
    if not isinstance(items, list):
        return MISSING
    found = [look_up(item, path) if path else item for item in items]
    if found and all(value is MISSING for value in found):
        return MISSING
    return [None if value is MISSING else value for value in found]


def _step(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step, MISSING)
    if isinstance(value, list) and step.isdecimal() and len(step) <= _LONGEST_PLACE:
        return value[int(step)] if int(step) < len(value) else MISSING
    return MISSING
