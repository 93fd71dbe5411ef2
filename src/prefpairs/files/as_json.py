"""Rows that come as values, as lines of JSON."""

import json
from decimal import Decimal
from typing import Any


def json_line(row: Any) -> bytes:
    """A row as JSON, whatever stands in it."""
    try:
        return json.dumps(row, ensure_ascii=False, default=_plain).encode()
    except UnicodeEncodeError:  # half of an emoji, out of JSON; whoever reads the row mends it
        return json.dumps(row, default=_plain).encode()


def _plain(value: Any) -> Any:
    """What JSON has no form for, as number or text."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)
