"""Rows that come as values, as lines of JSON."""

import json
from base64 import b64encode
from decimal import Decimal
from typing import Any


def json_line(row: Any) -> bytes:
    """A row as JSON, whatever stands in it. What differs in the row differs in the JSON."""
    try:
        return json.dumps(row, ensure_ascii=False, default=_plain).encode()
    except UnicodeEncodeError:  # half of an emoji, out of JSON; whoever reads the row mends it
        return json.dumps(row, default=_plain).encode()


def _plain(value: Any) -> Any:
    """What JSON has no form for, as a number or text.

    Bytes that are no UTF-8 become an object: no text, so that a prompt or an answer of such bytes
    is a bad row. With U+FFFD in them, different ones would be equal.
    """
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"raw_base64": b64encode(value).decode()}
    return str(value)


def _number(value: Decimal) -> int | float:
    """A float; but a whole number that no float is equal to, such as a long id, stays whole."""
    near, whole = float(value), int(value)
    return whole if whole == value != near else near
