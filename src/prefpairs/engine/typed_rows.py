"""Rows of a dataset that wait until all of them are known.

Two things hang on rows that are yet to come: which columns there are, for every row has the same,
and which rows stand first, for loaders type a column by the first 10 MiB.
"""

from array import array
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from prefpairs.dataset.column_types import FIRST_BLOCK, InferredColumns, form_of, shape_of
from prefpairs.files.record_files import RecordFiles, Spool
from prefpairs.model.json_codec import decode, encode, encode_line

_ROOM = FIRST_BLOCK // 2
"""Rows that are longer than this together do not stand first as they came."""

_BLOCK = 1 << 18
"""So many bytes go to the temporary file, and come back, at once."""


class _Form(NamedTuple):
    """What rows of one form share, and the number of the first of them."""

    shape: frozenset[str]
    present: int
    """The columns that they have, a bit each."""
    first: int


class TypedRowBuffer:
    """The rows of one side, put aside."""

    def __init__(self, columns: Mapping[str, Any], temp_dir: str | None) -> None:
        self._columns = columns
        self._bits = {name: 1 << place for place, name in enumerate(columns)}
        self._spool = Spool(temp_dir)
        self._shelves = RecordFiles()
        self._shelves.add(self._spool)
        self._waiting: list[bytes] = []
        self._begun = 0
        """Where the lines that wait will begin in the temporary file."""
        self._ends = array("Q", [0])
        self._form_of = array("I")
        self._numbers: dict[Hashable, int] = {}
        self._forms: list[_Form] = []
        self.shape: set[str] = set()
        self._first: list[int] = []
        self._shortest: dict[int, tuple[int, int]] = {}
        """Of each form the length and the number of its shortest row."""
        self._order: Sequence[int] | None = None

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self._form_of) if self._order is None else len(self._order)

    def add(self, row: dict[str, Any]) -> None:
        """Put a row aside."""
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
        if end - self._begun > _BLOCK:
            self._put_aside()

    @property
    def columns(self) -> int:
        """The columns that some row has, a bit each."""
        present = 0
        for form in self._forms:
            present |= form.present
        return present

    def arrange(self, numbers: Sequence[int]) -> None:
        """Keep these rows alone, in this order."""
        self._order = numbers
        self._first, self._shortest = [], {}
        self.shape = set()
        for number in numbers:
            self._see(number, self._form_of[number], self._length(number))

    @property
    def first(self) -> list[int]:
        """The rows that tell the types: as they came, or the shortest ones if those are long."""
        if sum(map(self._length, self._first)) <= _ROOM:
            return self._first
        chosen: list[int] = []
        known: set[str] = set()
        for form, (_, number) in sorted(self._shortest.items(), key=lambda item: item[1]):
            shape = self._forms[form].shape
            if not shape <= known:
                known |= shape
                chosen.append(number)
        return chosen

    @property
    def fits(self) -> bool:
        """Whether the rows that tell the types stand in the block that fixes them."""
        return sum(map(self._length, self.first)) <= FIRST_BLOCK

    def mixed(self) -> set[str]:
        """The columns whose objects differ in their keys, so that loaders take them for JSON."""
        columns = InferredColumns()
        for form in self._forms:
            columns.learn(decode(self._line(form.first)))
        return columns.mixed

    def lines(self, columns: int) -> Iterator[bytes]:
        """All rows with the same columns: first those that brought something new."""
        names = [name for name, bit in self._bits.items() if columns & bit]
        whole = [form.present == columns for form in self._forms]
        first = self.first
        begun = ((number, self._line(number)) for number in first)
        for number, line in chain(begun, self._others({*first})):
            if whole[self._form_of[number]]:
                yield line
            else:
                row = decode(line)
                yield encode_line({name: row.get(name, self._columns[name]) for name in names})

    def _others(self, first: set[int]) -> Iterator[tuple[int, bytes]]:
        """The lines that do not stand first, each with its number.

        As they came they are read a block at a time: one by one it takes 2 us more for each.
        """
        if self._order is not None:
            yield from ((at, self._line(at)) for at in self._order if at not in first)
            return
        self._put_aside()
        ends, start = self._ends, 0
        while start < len(self._form_of):
            begin = ends[start]
            stop = max(bisect_right(ends, begin + _BLOCK) - 1, start + 1)
            block = self._shelves.read(0, begin, ends[stop] - begin)
            for number in range(start, stop):
                if number not in first:
                    yield number, block[ends[number] - begin : ends[number + 1] - begin]
            start = stop

    def _learn(self, key: Hashable, row: dict[str, Any]) -> int:
        """Take in a new form, and give it a number."""
        present = sum(map(self._bits.__getitem__, row))
        self._forms.append(_Form(shape_of(row), present, len(self._form_of)))
        return self._numbers.setdefault(key, len(self._numbers))

    def _see(self, number: int, form: int, length: int) -> None:
        """Take in the shape and the length of a row."""
        shortest = self._shortest.get(form)
        if shortest is None:
            shape = self._forms[form].shape
            if not shape <= self.shape:
                self.shape |= shape
                self._first.append(number)
        if shortest is None or length < shortest[0]:
            self._shortest[form] = length, number

    def _length(self, number: int) -> int:
        return self._ends[number + 1] - self._ends[number]

    def _line(self, number: int) -> bytes:
        self._put_aside()
        return self._shelves.read(0, self._ends[number], self._length(number))

    def _put_aside(self) -> None:
        """Write the lines that wait to the temporary file, many at once."""
        if self._waiting:
            self._waiting.append(b"")
            self._spool.append(b"\n".join(self._waiting))
            self._waiting.clear()
            self._begun = self._ends[-1]

    def close(self) -> None:
        """Let the rows go."""
        self._shelves.close()
