"""Rows with values that cannot be decoded: nested too deeply, or a number that is too long.

Such a row is bad only if what is read from it depends on that value. Fast readers skip such
values without looking at them, so general readers must come to the same result.
"""

import re
from collections.abc import Callable

from prefpairs.errors import BadRecord, NotJson
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.json_codec import DEEPEST

_TOO_MUCH = frozenset({"too_deep", "number_too_long"})

_STAND_INS = b"null", b"7"
"""An empty and a non-empty value: a row that reads the same with both does not depend on it."""

_SIGN = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]|(?<![0-9.eE+-])-?[0-9]{4301,}+(?![0-9.eE])', re.DOTALL
)
"""Strings, brackets, and integers that Python refuses to read."""


def read_around(read: Callable[[bytes], RowOutcome], record: bytes, error: NotJson) -> RowOutcome:
    """The outcome of a row with such a value, if it does not depend on it; else the error."""
    if error.code not in _TOO_MUCH:
        raise error
    try:
        one, other = (read(bounded(record, stand_in)) for stand_in in _STAND_INS)
    except BadRecord:
        raise error from None
    if one != other:
        raise error
    return one


def bounded(record: bytes, stand_in: bytes = b"null") -> bytes:
    """The record with every value that is too deep or too long replaced.

    >>> bounded(b'{"a": "[", "b": ' + b"[" * 250 + b"]" * 250 + b"}").count(b"null")
    1
    """
    parts, kept, depth = [], 0, 0
    for found in _SIGN.finditer(record):
        start, end = found.span()
        sign = record[start : start + 1]
        if sign in b"[{":
            depth += 1
            if depth == DEEPEST + 1:
                parts += [record[kept:start], stand_in]
        elif sign in b"]}":
            if depth == DEEPEST + 1:
                kept = end
            depth -= 1
        elif sign != b'"' and depth <= DEEPEST:
            parts += [record[kept:start], stand_in]
            kept = end
    return b"".join([*parts, record[kept:]])
