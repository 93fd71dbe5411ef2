"""Dotted paths into a record: `response.model`, `choices.0.message.content`."""

from collections.abc import Iterator
from typing import Any


class Missing:
    """The type of MISSING: what a path finds where there is nothing. JSON null is a value."""

    def __repr__(self) -> str:
        """Say what it stands for."""
        return "MISSING"


MISSING = Missing()

_LONGEST_PLACE = 20
"""No list has more items than so many digits can count."""


def look_up(record: Any, path: str) -> Any:
    """What stands at a path, or MISSING. A key that holds dots is found whole, too.

    >>> look_up({"choices": [{"text": "hi"}]}, "choices.0.text")
    'hi'
    >>> look_up({"response.model": "m"}, "response.model")
    'm'
    >>> look_up({}, "reward")
    MISSING
    """
    value = record
    while True:
        if isinstance(value, dict) and path in value:
            return value[path]
        step, dot, path = path.partition(".")
        value = _step(value, step)
        if value is MISSING or not dot:
            return value


def paths_of(record: Any, depth: int = 4) -> Iterator[str]:
    """Every path that a record has, down to a depth: what a mistyped one is held against.

    >>> list(paths_of({"a": {"b": 1}, "c": [2]}))
    ['a', 'a.b', 'c', 'c.0']
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


def _step(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step, MISSING)
    if isinstance(value, list) and step.isdecimal() and len(step) <= _LONGEST_PLACE:
        return value[int(step)] if int(step) < len(value) else MISSING
    return MISSING
