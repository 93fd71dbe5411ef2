"""Where the records of a format are, if a record is more than one line or row of a file."""

import re
from collections.abc import Sequence
from typing import NamedTuple


class RecordLayout(NamedTuple):
    """An archive or a directory in which each record is a file, and part of it in another file.

    That part is added to the record, under `key`.
    """

    title: str
    records: re.Pattern[str]
    """What the paths of records end with."""
    key: str
    beside: Sequence[str]
    """Where the other file may be, as seen from the record: the first one that exists counts."""
    marker: str = ""
    """A file of the directory above that is no record, although it is called like one."""


class TableLayout(NamedTuple):
    """A table in which several rows in a row are one record, as they have one value in common."""

    columns: frozenset[str]
    """The columns that all such tables have."""
    by: str
    """The column of that value."""
    key: str
    """What holds the rows in the record."""


def joined(record: bytes, key: str, beside: bytes) -> bytes:
    """The JSON of an object, with another value added under a key.

    >>> joined(b' {"a": 1}', "b", b"[2]")
    b'{"b":[2],"a": 1}'
    """
    begin, brace, rest = record.partition(b"{")
    if begin.strip() or not brace:
        return record
    comma = b"" if rest.lstrip().startswith(b"}") else b","
    return b'{"%b":%b%b%b' % (key.encode(), beside.strip() or b"null", comma, rest)
