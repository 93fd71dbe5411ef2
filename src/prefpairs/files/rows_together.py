"""Rows of a table that are one record: those that follow each other with one value in a column."""

from collections.abc import Iterator
from functools import partial
from itertools import chain, groupby
from typing import Any

from prefpairs.errors import BadInput
from prefpairs.files.input_file import Input
from prefpairs.model.json_codec import decode, encode


def rows_together(rows: Iterator[bytes], source: Input) -> Iterator[bytes]:
    """The records of a table; its rows, if the columns are not those of a known layout."""
    first = next(rows, None)
    if first is None:
        return
    columns = decode(first).keys()
    rows = chain([first], rows)
    for layout in source.tables:
        if layout.columns <= columns:
            for _, group in groupby(rows, partial(_value, column=layout.by)):
                yield b'{"%b":[%b]}' % (layout.key.encode(), b",".join(_bounded(group, source)))
            return
    yield from rows


def _value(row: bytes, column: str) -> Any:
    """The value of a row in a column, so that values of different types differ."""
    return encode(decode(row).get(column))


def _bounded(rows: Iterator[bytes], source: Input) -> Iterator[bytes]:
    """The rows of one record, which all are in memory at once."""
    left = source.limits.item
    for row in rows:
        left -= len(row)
        if left < 0:
            problem = "its rows of one group are longer than a record may be"
            raise BadInput(source.label, problem, "--max-line SIZE allows longer ones")
        yield row
