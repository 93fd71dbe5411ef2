"""The shape of a row: which fields it has, and of which types.

Loaders that rest on Arrow type every column by the first 10 MiB of a file, so a field that comes
later for the first time breaks the load, at whatever line it stands.
"""

from collections.abc import Iterator
from typing import Any

_TYPES = {
    str: "string",
    bool: "bool",
    int: "int",
    float: "float",
    type(None): "null",
}


def shape_of(row: dict[str, Any]) -> frozenset[str]:
    """The path of every field, with its type; the items of a list share one path.

    >>> sorted(shape_of({"a": [{"b": 1.0}, {"c": None}]}))
    ['a: list', 'a[].b: float', 'a[]: object']
    """
    return frozenset(_paths(row))


def column_of(path: str) -> str:
    """The column in which a path begins.

    >>> column_of("chosen[].role: string")
    'chosen'
    """
    return path.partition(":")[0].partition(".")[0].partition("[")[0]


def _paths(row: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in row.items():
        yield from _of_value(value, f"{prefix}{key}")


def _of_value(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield f"{path}: object"
        yield from _paths(value, f"{path}.")
    elif isinstance(value, list):
        yield f"{path}: list"
        for item in value:
            yield from _of_value(item, f"{path}[]")
    elif value is not None:
        yield f"{path}: {_TYPES[type(value)]}"
