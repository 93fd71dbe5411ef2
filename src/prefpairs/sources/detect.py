"""Of which source a row is, whatever its neighbours are: each is read by the one that knows it."""

from collections.abc import Iterable
from functools import partial
from operator import is_

import msgspec
from msgspec import Raw

from prefpairs.fields.answer import ReadOptions
from prefpairs.sources import source_named

GENERIC = "generic"
_NOTHING = Raw(b"")


class _Signs(msgspec.Struct, gc=False):
    """The fields of which a source other than generic must see at least one."""

    origin: Raw = _NOTHING
    responses_create_params: Raw = _NOTHING
    intermediate_steps: Raw = _NOTHING
    trajectory: Raw = _NOTHING
    payload: Raw = _NOTHING
    event_type: Raw = _NOTHING
    turns: Raw = _NOTHING
    eid: Raw = _NOTHING


_KNOWN_BY = {
    "nemo-gym": ("responses_create_params",),
    "candidates": ("origin",),
    "nat": ("intermediate_steps", "trajectory", "payload", "event_type"),
    "traces": ("turns",),
    "trinity": ("eid",),
}
SIGNS = tuple(_Signs.__struct_fields__)
"""Columns of which a row of a shortcut of another source has none."""

_IS_NOTHING = partial(is_, _NOTHING)
_signs_of = msgspec.json.Decoder(_Signs).decode


def source_of(record: bytes) -> str:
    """The first source that knows a record: generic, if no other one does.

    >>> source_of(b'{"responses_create_params": {}, "reward": 1.0}')
    'nemo-gym'
    >>> source_of(b'{"question": "Q", "answer": "A", "score": 1}')
    'generic'
    """
    names: Iterable[str] = _KNOWN_BY
    try:
        signs = _signs_of(record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    else:
        if all(map(_IS_NOTHING, msgspec.structs.astuple(signs))):
            return GENERIC
        names = [
            name
            for name, fields in _KNOWN_BY.items()
            if any(getattr(signs, field) is not _NOTHING for field in fields)
        ]
    return next((name for name in names if source_named(name).looks_like(record)), GENERIC)


def named_paths(options: ReadOptions) -> list[tuple[str, str]]:
    """The paths into rows that options name, each with its option."""
    named = [("--score", path) for path, _ in options.scores]
    named += [("--prompt", options.prompt)] if options.prompt else []
    named += [("--response", options.response)] if options.response else []
    named += [("--context", path) for path in options.context]
    if isinstance(options.group_by, tuple):
        named += [("--group-by", path) for path in options.group_by]
    named += [("--keep", path) for path in options.keep]
    return named + [("--ignore", path) for path in options.ignore]
