"""Dotted paths into a record: `response.model`, `choices.0.message.content`, `samples[].text`."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple


class Missing:
    """The type of MISSING, the result of a path that leads nowhere. JSON null is a value."""

    def __repr__(self) -> str:
        """Show the name of the constant."""
        return "MISSING"


MISSING = Missing()

_EACH = "[]"
_LONGEST_PLACE = 20
"""Longer numbers cannot be the index of a list."""


def look_up(record: Any, path: str) -> Any:
    """The value at a path, or MISSING. Keys that contain dots are found, too.

    `[]` means each item of a list; for items that lack the rest of the path, there is a null.

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


def without(record: Any, path: str) -> Any:
    """The record without the value at a path.

    >>> without({"request": {"model": "m", "system": "S"}}, "request.system")
    {'request': {'model': 'm'}}
    """
    if not isinstance(record, dict):
        return record
    if path in record:
        return {key: value for key, value in record.items() if key != path}
    step, _, rest = path.partition(".")
    return {**record, step: without(record[step], rest)} if rest and step in record else record


class Item(NamedTuple):
    """One of the values of a path through lists: its own path, and its indexes in the lists."""

    path: str
    places: tuple[int, ...]


def items_at(record: Any, path: str) -> list[Item] | None:
    """The items of a path through lists, or None if the path means one value.

    >>> items_at({"samples": [{"text": "a"}, {"text": "b"}]}, "samples[].text")
    [Item(path='samples.0.text', places=(0,)), Item(path='samples.1.text', places=(1,))]
    """
    before, each, rest = path.partition(_EACH)
    if not each or (isinstance(record, dict) and path in record):
        return None
    items = look_up(record, before)
    if not isinstance(items, list):
        return None
    found: list[Item] = []
    rest = rest.removeprefix(".")
    for place, item in enumerate(items):
        own = f"{before}.{place}"
        within = items_at(item, rest)
        if within is None:
            found.append(Item(f"{own}.{rest}" if rest else own, (place,)))
        else:
            found += [Item(f"{own}.{one.path}", (place, *one.places)) for one in within]
    return found


def path_beside(path: str, through: str, places: Sequence[int]) -> str:
    """A path that uses the same items of lists as another path does.

    >>> path_beside("samples[].model", "samples[].texts[].words", (3, 1))
    'samples.3.model'
    >>> path_beside("models[]", "samples[].text", (3,))
    'models[]'
    """
    steps, own = path.split(_EACH), through.split(_EACH)
    shared = 0
    while shared < min(len(steps), len(own)) - 1 and steps[shared] == own[shared]:
        shared += 1
    begun = "".join(f"{step}.{place}" for step, place in zip(steps[:shared], places, strict=False))
    return begun + _EACH.join(steps[shared:])


def holders_at(record: Any, path: str) -> Iterator[Any]:
    """The values that a path goes through, from the record to the one before its end.

    >>> list(holders_at({"choices": [{"text": "hi"}]}, "choices.0.text"))
    [{'choices': [{'text': 'hi'}]}, [{'text': 'hi'}], {'text': 'hi'}]
    """
    value = record
    while value is not MISSING:
        yield value
        if isinstance(value, dict) and path in value:
            return
        step, dot, path = path.partition(".")
        if not dot:
            return
        value = _step(value, step)


def paths_of(record: Any, depth: int = 4) -> Iterator[str]:
    """Every path of a record down to a depth, as suggestions for a mistyped one.

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
