"""Which source reads a row, and whether it is a pair instead of a rollout.

Each row is classified by itself, so their order does not matter. A run reads pairs or rollouts, not
both.
"""

from collections.abc import Iterable
from functools import partial
from operator import is_
from typing import Any

import msgspec
from msgspec import Raw

from prefpairs.errors import TwoReadings
from prefpairs.model.json_codec import decode_object
from prefpairs.model.pair import holds_pair
from prefpairs.sources import GENERIC, KEY_COLUMNS, KEY_NAMES, source_named

_MISSING = Raw(b"")

SOURCE_COLUMNS = tuple(column for columns in KEY_COLUMNS.values() for column in columns)
"""A row with none of these columns is read by the generic source."""

_KEY_TEXTS = {
    source: [f'"{name}"'.encode() for name in names] for source, names in KEY_NAMES.items()
}
_KeyColumns: Any = msgspec.defstruct(
    "_KeyColumns", [(column, Raw, _MISSING) for column in SOURCE_COLUMNS], gc=False
)
_key_columns_of = msgspec.json.Decoder(_KeyColumns).decode
_is_missing = partial(is_, _MISSING)


def source_of(record: bytes) -> str:
    """The name of the first source that recognises a record: generic, if no other one does.

    >>> source_of(b'{"question": "Q", "answer": "A", "score": 1}')
    'generic'
    """
    named = [name for name, texts in _KEY_TEXTS.items() if any(text in record for text in texts)]
    names: Iterable[str] = (*KEY_COLUMNS, *named)
    try:
        row = _key_columns_of(record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    else:
        if all(map(_is_missing, msgspec.structs.astuple(row))):
            names = named
        else:
            names = [
                name
                for name, columns in KEY_COLUMNS.items()
                if any(getattr(row, column) is not _MISSING for column in columns)
            ]
            names += named
    return next((name for name in names if source_named(name).looks_like(record)), GENERIC)


PAIRS = "pairs"


def kind_of(record: bytes) -> str | None:
    """`pairs`, or the source of a rollout; None if a row is neither, such as half a pair.

    Rows of rollouts that already contain a pair count as rollouts, like their neighbours.

    >>> kind_of(b'{"chosen": "a", "rejected": "b"}'), kind_of(b'{"prompt": "Q", "response": "A"}')
    ('pairs', 'generic')
    >>> kind_of(b'{"prompt": "Q", "chosen": "A"}'), kind_of(b'"text"')
    (None, None)
    """
    if (source := source_of(record)) != GENERIC:
        return source
    row = decode_object(record)
    if row is None:
        return None
    if holds_pair(row):
        return PAIRS
    return None if "chosen" in row else GENERIC


def check_kind(record: bytes, expected: str | None) -> None:
    """Raise if a row is not of the expected kind."""
    kind = None if expected is None else kind_of(record)
    if kind is None or (kind == PAIRS) == (expected == PAIRS):
        return
    problem = "some rows are pairs, and others are rollouts: which of them are meant?"
    source = expected if kind == PAIRS else kind
    raise TwoReadings(problem, [("--from", PAIRS), ("--from", str(source))])
