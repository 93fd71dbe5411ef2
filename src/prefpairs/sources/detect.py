"""Which source a file is of, and what its rows look like, told from its first records."""

from collections.abc import Mapping, Sequence
from typing import Any

from prefpairs.errors import NoSuchPath, NotJson
from prefpairs.records.path import MISSING, look_up, paths_of
from prefpairs.records.wire import decode, encode
from prefpairs.sources import SOURCES, source_named
from prefpairs.sources.answer import ReadOptions

Shapes = Mapping[bytes, int]
"""How many rows of a sample have which shape."""

_DEPTH = 6
_WIDTH = 8


def detect(sample: Sequence[bytes]) -> str:
    """The name of the first source that knows one of the records.

    >>> detect([b'{"responses_create_params": {}, "reward": 1.0}'])
    'nemo-gym'
    >>> detect([b'{"question": "Q", "answer": "A", "score": 1}'])
    'generic'
    """
    for name in SOURCES:
        if any(map(source_named(name).looks_like, sample)):
            return name
    return "generic"


def shape_of(record: bytes) -> bytes | None:
    """A row without its text and its numbers, or nothing where it is no JSON object.

    >>> shape_of(b'{"prompt": "Why?", "scores": [0.5, 1]}')
    b'{"prompt":"","scores":[0.0,0]}'
    """
    try:
        row = decode(record)
    except NotJson:
        return None
    return encode(_shape(row, _DEPTH)) if isinstance(row, dict) else None


def _shape(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return {key: _shape(item, depth - 1) for key, item in value.items()} if depth else {}
    if isinstance(value, list):
        return [_shape(item, depth - 1) for item in value[:_WIDTH]] if depth else []
    return None if value is None else type(value)()


def doubtful_paths(shapes: Shapes, options: ReadOptions) -> list[NoSuchPath]:
    """The paths of the options that no row of a sample has: mistyped, or only rare."""
    rows = [decode(shape) for shape in shapes]
    known = list({path: None for row in rows for path in paths_of(row)})
    return [
        NoSuchPath(option, path, known)
        for option, path in _named_paths(options)
        if rows and all(look_up(row, path) is MISSING for row in rows)
    ]


def _named_paths(options: ReadOptions) -> list[tuple[str, str]]:
    named = [("--score", path) for path, _ in options.scores]
    named += [("--prompt", options.prompt)] if options.prompt else []
    named += [("--response", options.response)] if options.response else []
    if isinstance(options.group_by, tuple):
        named += [("--group-by", path) for path in options.group_by]
    return named + [("--keep", path) for path in options.keep]
