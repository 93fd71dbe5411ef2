"""Rows of other files (--join), whose columns are added to the rows of a run by a key (--on)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from prefpairs.errors import BadField
from prefpairs.model.json_codec import decode, decode_object, encode
from prefpairs.model.path import MISSING, look_up

Row = dict[str, Any]


class Place(NamedTuple):
    """A row of a joined file: where it is, and its bytes."""

    number: int
    record: bytes


class JoinTable:
    """The rows of one file by their keys. They are held in memory."""

    def __init__(self, label: str, on: Sequence[str]) -> None:
        self.label = label
        self._on = on
        self._rows: dict[str, Place] = {}
        self._used: set[str] = set()
        self._asked = False

    def add(self, number: int, record: bytes) -> int:
        """Add a row, unless an earlier one has its key; the number of the row with this key."""
        row = decode(record)
        key = self._key_of(row)
        if key is None:
            raise BadField(", ".join(self._on), row, "the key of a row")
        return self._rows.setdefault(key, Place(number, record)).number

    def of(self, row: Row) -> Row | None:
        """The row with the same key, if there is one."""
        self._asked = True
        key = self._key_of(row)
        place = None if key is None else self._rows.get(key)
        if key is None or place is None:
            return None
        self._used.add(key)
        other: Row = decode(place.record)
        return other

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    @property
    def unused(self) -> int:
        """How many rows were joined to no row, if this process has read the inputs."""
        return len(self._rows) - len(self._used) if self._asked else 0

    def _key_of(self, row: Any) -> str | None:
        values = [look_up(row, path) for path in self._on]
        if any(value is MISSING or value is None for value in values):
            return None
        # Tables have only texts, so numbers and texts are the same key.
        return encode([_as_text(value) for value in values]).decode()


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def with_joined(record: bytes, tables: Sequence[JoinTable]) -> tuple[bytes, list[str]]:
    """A record with the columns of the rows that are joined to it, and what has to be noticed.

    Raises BadField where both rows have a column, and its values differ.
    """
    row = decode_object(record) if tables else None
    if row is None:
        return record, []
    noticed = []
    for table in tables:
        other = table.of(row)
        if other is None:
            noticed.append("not_joined")
            continue
        for name, value in other.items():
            own = row.get(name)
            if own is None:
                row[name] = value
            elif value is not None and _as_text(value) != _as_text(own):
                raise BadField(name, own, f"what the row of {table.label} has")
    return encode(row), noticed
