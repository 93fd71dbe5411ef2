"""The rows of a CSV or TSV file, as objects of texts.

A cell says nothing of its type: whether it is a number is known where a field is named as a score.
An empty cell is null. A chat is the only value that a cell holds as JSON.
"""

import csv
from collections.abc import Iterator
from typing import BinaryIO

from prefpairs.errors import BadInput
from prefpairs.files.input_file import Input
from prefpairs.files.lines import Record, lines_of, record_of, what_allows
from prefpairs.model.candidate import chat_in
from prefpairs.model.json_codec import encode

_PYTHON_LIST = "[{'"
"""How a list of objects begins that Python printed, as pandas writes it."""


def delimited_records(stream: BinaryIO, start: int, source: Input) -> Iterator[Record]:
    """The rows below the header, each with the number of its first line.

    A row with too many or too few cells is refused; a file without a sound header is, too.
    """
    lines = _Lines(stream, start, source)
    longest = source.limits.line
    csv.field_size_limit(longest)
    cells_of = csv.reader(lines, delimiter=source.delimiter or ",", strict=True)
    names: list[str] | None = None
    while (cells := _next_of(cells_of, lines, source)) is not None:
        number, lines.first = lines.first, 0
        if not cells:  # a blank line
            continue
        if names is None:
            names = _header(cells, number, source)
        elif len(cells) != len(names):
            problem = f"the row has {len(cells)} cells, and the header {len(names)}"
            yield Record(number, 0, b"", refused=problem)
        else:
            yield _record(number, dict(zip(names, cells, strict=True)), longest)


class _Lines:
    """The lines of a stream as text, with the number of the first one of a row."""

    def __init__(self, stream: BinaryIO, start: int, source: Input) -> None:
        self._records = lines_of(stream, start, source.limits.line)
        self._source = source
        self._taken = 0
        self.first = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        record = next(self._records)
        if not self.first:
            self.first, self._taken = record.number, 0
        self._taken += len(record.data)
        if not record.whole or self._taken > self._source.limits.line:
            place = f"{self._source.label}:{self.first}"
            raise BadInput(place, f"the row is longer than {what_allows()}, or a quote has no end")
        try:
            return record.data.decode()
        except UnicodeDecodeError:
            raise BadInput(f"{self._source.label}:{record.number}", "not UTF-8") from None


def _next_of(cells_of: Iterator[list[str]], lines: _Lines, source: Input) -> list[str] | None:
    try:
        return next(cells_of, None)
    except csv.Error as error:
        hint = "cells with quotes or line ends must be in quotes, with each quote doubled"
        raise BadInput(f"{source.label}:{lines.first}", f"not a table ({error})", hint) from None


def _header(cells: list[str], number: int, source: Input) -> list[str]:
    place = f"{source.label}:{number}"
    for name in cells:
        if not name.strip():
            raise BadInput(place, "a column has no name", "the first line must name all columns")
        if cells.count(name) > 1:
            raise BadInput(place, f"two columns have the name {name}", "rename one of them")
    return cells


def _record(number: int, row: dict[str, str], longest: int) -> Record:
    for name, cell in row.items():
        if cell.startswith(_PYTHON_LIST):
            problem = f"{name} is a list as Python prints it; json.dumps writes it as JSON"
            return Record(number, 0, b"", refused=problem)
    values = {name: chat_in(cell) or cell or None for name, cell in row.items()}
    return record_of(number, 0, encode(values), longest)
