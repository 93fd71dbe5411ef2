"""The shape of a row: which fields it has, and of which types.

Loaders that rest on Arrow type every column by the first 10 MiB of a file, so a field that comes
later for the first time breaks the load, at whatever line it stands. Texts that all look like
dates they even turn into timestamps.
"""

import re
from collections.abc import Collection, Hashable
from typing import Any

_TYPES = {
    bool: "bool",
    int: "int",
    float: "float",
}
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d(:?\d\d(:?\d\d)?)?([.,]\d{1,9})?(Z|[+-]\d\d(:?\d\d)?)?)?"
)
_INTS = frozenset({int})
_LONGEST_DATE = len("2026-01-01T00:00:00.000000000+00:00")


def shape_of(row: dict[str, Any]) -> frozenset[str]:
    """The path of every field, with its type; the items of a list share one path.

    >>> sorted(shape_of({"a": [{"b": 1.0}, {"c": None}]}))
    ['a: list', 'a[].b: float', 'a[]: object']
    """
    paths: set[str] = set()
    for name, value in row.items():
        _collect(value, name, paths)
    return frozenset(paths)


def form_of(row: dict[str, Any]) -> Hashable:
    """Something that only rows of one shape share, as nearly all of them do.

    It takes 2 us where the shape takes 3.3, so that shapes are best looked up by it.

    >>> row, other = {"a": [{"b": "x"}], "c": 1.0}, {"a": [{"b": "y"}, {"b": "z"}], "c": 2.0}
    >>> form_of(row) == form_of(other) != form_of({**row, "c": None})
    True
    """
    form: list[Any] = [*row]
    for value in row.values():
        kind = type(value)
        if kind is str:
            form.append(value[4:5] == "-" and is_date(value))
        elif kind is list and value and type(value[0]) is int and {*map(type, value)} == {int}:
            form.append(_INTS)  # token ids come in thousands
        elif kind is list:
            items = set()
            for item in value:
                items.add(form_of(item) if type(item) is dict else _form_of_item(item))
            form.append(frozenset(items))
        else:
            form.append(form_of(value) if kind is dict else kind)
    return tuple(form)


def _form_of_item(item: Any) -> Hashable:
    """The form of an item of a list."""
    if isinstance(item, list):
        return frozenset(map(_form_of_item, item))
    if isinstance(item, dict):
        return form_of(item)
    kind: Any = type(item)
    return is_date(item) if isinstance(item, str) else kind


def is_date(text: str) -> bool:
    """Whether Arrow takes a text for a date or a time, if it sees nothing else there.

    >>> is_date("2026-01-01"), is_date("2026")
    (True, False)
    """
    # The dash tells nearly all other texts apart, in a tenth of the time.
    return text[4:5] == "-" and len(text) <= _LONGEST_DATE and _DATE.fullmatch(text) is not None


def dates_alone(shape: Collection[str]) -> list[str]:
    """The paths at which all texts look like dates.

    >>> dates_alone({"a: date", "b[].c: date", "b[].c: string"})
    ['a']
    """
    paths = (path.removesuffix(": date") for path in shape if path.endswith(": date"))
    return sorted(path for path in paths if f"{path}: string" not in shape)


def column_of(path: str) -> str:
    """The column in which a path begins.

    >>> column_of("chosen[].role: string")
    'chosen'
    """
    return path.partition(":")[0].partition(".")[0].partition("[")[0]


def _collect(value: Any, path: str, paths: set[str]) -> None:
    """Add the paths of a value; a set that is handed down, for generators take twice the time."""
    if isinstance(value, str):
        paths.add(f"{path}: date" if is_date(value) else f"{path}: string")
    elif isinstance(value, dict):
        paths.add(f"{path}: object")
        for key, item in value.items():
            _collect(item, f"{path}.{key}", paths)
    elif isinstance(value, list):
        paths.add(f"{path}: list")
        for item in value:
            _collect(item, f"{path}[]", paths)
    elif value is not None:
        paths.add(f"{path}: {_TYPES[type(value)]}")
