"""Input rows, and an output in memory, as engines get them."""

import json
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


class Lines:
    """An output in memory."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, lines: bytes, /) -> object:
        """Take one line or several."""
        self.lines += lines.splitlines(keepends=True)
        return None

    def rows(self) -> list[Row]:
        """The pairs."""
        return [json.loads(line) for line in self.lines]


def data_of(rows: Sequence[Any]) -> bytes:
    """Rows as lines of JSON."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
