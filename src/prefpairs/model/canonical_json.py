"""Canonical JSON: one text for each value, from which digests of structures are computed.

Specified in docs/concepts.md. orjson writes nearly all values this way. Its releases disagree about
numbers with an exponent, and it rejects integers above 64 bits.
"""

from math import isfinite
from typing import Any

import orjson

from prefpairs.model.memory_guard import dumps

_PLAIN_FROM, _PLAIN_BELOW = 1e-4, 1e16
"""Numbers whose absolute value is between these are written without an exponent."""


def canonical_json(value: Any) -> bytes:
    """A value as JSON: no whitespace, keys sorted by code point, shortest numbers.

    NaN and the infinities are null.

    >>> canonical_json({"b": [1e22, 2**70], "a": 1.50})
    b'{"a":1.5,"b":[1e22,1180591620717411303424]}'
    """
    if not _needs_exponent(value):
        try:
            return dumps(value, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # a large integer, or deep nesting
            pass
    return _written(value).encode()


def is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested more than `levels` deep.

    >>> is_deeper([[{}]], 3), is_deeper([[{}]], 2)
    (False, True)
    """
    level = [value]
    for _ in range(levels + 1):
        nested = [one for one in level if isinstance(one, (dict, list))]
        if not nested:
            return False
        level = [child for one in nested for child in _children(one)]
    return True


def _children(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def _needs_exponent(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return any(map(_needs_exponent, value.values()))
    if kind is list:
        return any(map(_needs_exponent, value))
    return kind is float and value != 0 and not _PLAIN_FROM <= abs(value) < _PLAIN_BELOW


def _written(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{_written(key)}:{_written(value[key])}" for key in sorted(value))
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, float) and isfinite(value):
        digits, exponent, power = repr(value).partition("e")
        return f"{digits}e{int(power)}" if exponent else digits
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return dumps(value).decode()
