"""The rows of a dataset, buffered in a spool until all of them are known.

Two things depend on rows to come: which columns there are, because every row has the same ones, and
which rows go first, because loaders infer the type of a column from the first 10 MiB.
"""

from array import array
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, NamedTuple

from prefpairs.dataset.column_types import InferredColumns, form_of, shape_of
from prefpairs.dataset.row_forms import RowForm, RowForms, RowPlace
from prefpairs.files.fetch_records import RecordFiles, Spool
from prefpairs.model.json_codec import decode, encode, encode_line

_BLOCK = 1 << 18
"""How many bytes are written to the spool, and read from it, at once."""


def with_columns(row: dict[str, Any], names: Sequence[str], columns: Mapping[str, Any]) -> bytes:
    """The line of a row that has all of these columns."""
    return encode_line({name: row.get(name, columns[name]) for name in names})


def names_of(columns: Mapping[str, Any], present: int) -> list[str]:
    """The names of the columns in a bit set."""
    return [name for place, name in enumerate(columns) if present >> place & 1]


class _Form(NamedTuple):
    """What the rows of one form have in common, and the number of the first one."""

    shape: frozenset[str]
    present: int
    """Their columns, as a bit set."""
    first: int


class RowBuffer:
    """The rows of one output file, in a spool."""

    def __init__(self, columns: Mapping[str, Any], temp_dir: str | None) -> None:
        self._columns = columns
        self._bits = {name: 1 << place for place, name in enumerate(columns)}
        self._spool = Spool(temp_dir)
        self._files = RecordFiles()
        self._files.add(self._spool)
        self._waiting: list[bytes] = []
        self._written = 0
        """How many bytes of the rows are in the spool; the rest is waiting."""
        self._ends = array("Q", [0])
        self._form_of = array("I")
        self._numbers: dict[Hashable, int] = {}
        self._forms: list[_Form] = []
        self._first: dict[int, int] = {}
        """For each form, the number of its first row."""
        self._shortest: dict[int, tuple[int, int]] = {}
        """For each form, the length and the number of its shortest row."""
        self._order: Sequence[int] | None = None

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self._form_of) if self._order is None else len(self._order)

    def add(self, row: dict[str, Any]) -> None:
        """Add a row."""
        line = encode(row)
        key = form_of(row)
        form = self._numbers.get(key)
        if form is None:
            form = self._learn(key, row)
        end = self._ends[-1] + len(line) + 1
        self._see(len(self._form_of), form, len(line) + 1)
        self._form_of.append(form)
        self._ends.append(end)
        self._waiting.append(line)
        if end - self._written > _BLOCK:
            self._write_waiting()

    @property
    def columns(self) -> int:
        """The columns that some row has, as a bit set."""
        present = 0
        for form in self._forms:
            present |= form.present
        return present

    def arrange(self, numbers: Sequence[int]) -> None:
        """Keep only these rows, in this order."""
        self._order = numbers
        self._first, self._shortest = {}, {}
        for number in numbers:
            self._see(number, self._form_of[number], self._length(number))

    @property
    def shape(self) -> AbstractSet[str]:
        """The path and type of every field."""
        return self._known.shape

    @property
    def first(self) -> list[int]:
        """The rows that determine the types: the first of each shape, or the shortest if long."""
        return [bisect_right(self._ends, place.offset) - 1 for place in self._known.first]

    @property
    def fits(self) -> bool:
        """Whether the rows that determine the types fit into the block that loaders look at."""
        return self._known.fits

    @property
    def _known(self) -> RowForms:
        return RowForms(self.forms(0, 0))

    def mixed(self) -> set[str]:
        """The columns whose objects differ in their keys, which loaders read as JSON."""
        columns = InferredColumns()
        for form in self._forms:
            columns.learn(decode(self._line(form.first)))
        return columns.mixed

    def lines(self, columns: int) -> Iterator[bytes]:
        """All rows, each with the same columns; those that determine the types go first."""
        names = names_of(self._columns, columns)
        whole = [form.present == columns for form in self._forms]
        first = self.first
        begun = ((number, self._line(number)) for number in first)
        for number, line in chain(begun, self._others({*first})):
            if whole[self._form_of[number]]:
                yield line
            else:
                yield with_columns(decode(line), names, self._columns)

    def _others(self, first: set[int]) -> Iterator[tuple[int, bytes]]:
        """The rows that do not go first, each with its number.

        In order of arrival they are read a block at a time; one by one each takes 2 us more.
        """
        if self._order is not None:
            yield from ((at, self._line(at)) for at in self._order if at not in first)
            return
        self._write_waiting()
        ends, start = self._ends, 0
        while start < len(self._form_of):
            begin = ends[start]
            stop = max(bisect_right(ends, begin + _BLOCK) - 1, start + 1)
            block = self._files.read(0, begin, ends[stop] - begin)
            for number in range(start, stop):
                if number not in first:
                    yield number, block[ends[number] - begin : ends[number + 1] - begin]
            start = stop

    def _learn(self, key: Hashable, row: dict[str, Any]) -> int:
        """Add a new form and return its number."""
        present = sum(map(self._bits.__getitem__, row))
        self._forms.append(_Form(shape_of(row), present, len(self._form_of)))
        return self._numbers.setdefault(key, len(self._numbers))

    def _see(self, number: int, form: int, length: int) -> None:
        """Note the shape and the length of a row."""
        shortest = self._shortest.get(form)
        if shortest is None:
            self._first[form] = number
        if shortest is None or length < shortest[0]:
            self._shortest[form] = length, number

    def _length(self, number: int) -> int:
        return self._ends[number + 1] - self._ends[number]

    def _line(self, number: int) -> bytes:
        self._write_waiting()
        return self._files.read(0, self._ends[number], self._length(number))

    def _write_waiting(self) -> None:
        """Write the waiting rows to the spool, many at once."""
        if self._waiting:
            self._waiting.append(b"")
            self._spool.append(b"\n".join(self._waiting))
            self._waiting.clear()
            self._written = self._ends[-1]

    def forms(self, file: int, offset: int) -> list[RowForm]:
        """What is known of the rows, if they are in this file from this byte on."""

        def place(number: int) -> RowPlace:
            return RowPlace(file, offset + self._ends[number], self._length(number))

        return [
            RowForm(
                sorted(self._forms[form].shape),
                self._forms[form].present,
                place(first),
                place(self._shortest[form][1]),
            )
            for form, first in self._first.items()
        ]

    @property
    def size(self) -> int:
        """The bytes of all rows."""
        return self._ends[-1]

    def as_they_came(self) -> Iterator[bytes]:
        """All rows in the order of their arrival, each with its own columns."""
        for _, line in self._others(set()):
            yield line

    def close(self) -> None:
        """Delete the rows."""
        self._files.close()
