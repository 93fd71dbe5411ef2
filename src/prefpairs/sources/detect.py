"""Which source a file is of, told from its first records."""

from collections.abc import Sequence

from prefpairs.errors import NoSuchPath, NotJson
from prefpairs.records.path import MISSING, look_up, paths_of
from prefpairs.records.wire import decode
from prefpairs.sources import SOURCES, source_named
from prefpairs.sources.answer import ReadOptions


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


def doubtful_paths(sample: Sequence[bytes], options: ReadOptions) -> list[NoSuchPath]:
    """The paths of the options that no record of a sample has: mistyped, or only rare."""
    rows = []
    for record in sample:
        try:
            rows.append(decode(record))
        except NotJson:
            continue
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
