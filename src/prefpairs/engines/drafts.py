"""Rows of a dataset that wait until all of them are known.

Two things hang on rows that are yet to come: which columns there are, for every row has the same,
and which rows stand first, for loaders type a column by the first 10 MiB.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from prefpairs.files.shelf import Shelves, Spool
from prefpairs.records.wire import decode, encode
from prefpairs.targets.columns import FIRST_BLOCK, Columns
from prefpairs.targets.shape import shape_of

_ROOM = FIRST_BLOCK // 2
"""Rows that are longer than this together do not stand first as they came."""


class Drafts:
    """The rows of one side, put aside."""

    def __init__(self, columns: Mapping[str, Any], temp_dir: str | None) -> None:
        self._columns = columns
        self._bits = {name: 1 << place for place, name in enumerate(columns)}
        self._spool = Spool(temp_dir)
        self._shelves = Shelves()
        self._shelves.add(self._spool)
        self._offsets = array("Q")
        self._lengths = array("Q")
        self._present = array("Q")
        self.shape: set[str] = set()
        self._first: list[int] = []
        self._shortest: dict[frozenset[str], tuple[int, int]] = {}
        self._order: Sequence[int] | None = None

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self._offsets) if self._order is None else len(self._order)

    def add(self, row: dict[str, Any]) -> None:
        """Put a row aside."""
        line = encode(row) + b"\n"
        self._see(len(self._offsets), row, len(line))
        self._offsets.append(self._spool.append(line))
        self._lengths.append(len(line))
        self._present.append(sum(map(self._bits.__getitem__, row)))

    @property
    def columns(self) -> int:
        """The columns that some row has, a bit each."""
        present = 0
        for bits in set(self._present):
            present |= bits
        return present

    def arrange(self, numbers: Sequence[int]) -> None:
        """Keep these rows alone, in this order."""
        self._order = numbers
        self._first, self._shortest = [], {}
        self.shape = set()
        for number in numbers:
            self._see(number, decode(self._line(number)), self._lengths[number])

    @property
    def first(self) -> list[int]:
        """The rows that tell the types: as they came, or the shortest ones if those are long."""
        if sum(self._lengths[number] for number in self._first) <= _ROOM:
            return self._first
        chosen: list[int] = []
        known: set[str] = set()
        for shape, (_, number) in sorted(self._shortest.items(), key=lambda item: item[1]):
            if not shape <= known:
                known |= shape
                chosen.append(number)
        return chosen

    @property
    def fits(self) -> bool:
        """Whether the rows that tell the types stand in the block that fixes them."""
        return sum(self._lengths[number] for number in self.first) <= FIRST_BLOCK

    def mixed(self) -> set[str]:
        """The columns whose objects differ in their keys, so that loaders take them for JSON."""
        columns = Columns()
        for number in range(len(self._offsets)):
            columns.learn(decode(self._line(number)))
        return columns.mixed

    def lines(self, columns: int) -> Iterator[bytes]:
        """All rows with the same columns: first those that brought something new."""
        names = [name for name, bit in self._bits.items() if columns & bit]
        first = self.first
        others = set(first)
        order = range(len(self._offsets)) if self._order is None else self._order
        for number in chain(first, (number for number in order if number not in others)):
            line = self._line(number)
            if self._present[number] != columns:
                row = decode(line)
                line = encode({name: row.get(name, self._columns[name]) for name in names}) + b"\n"
            yield line

    def _see(self, number: int, row: dict[str, Any], length: int) -> None:
        """Take in the shape of a row."""
        shape = shape_of(row)
        if not shape <= self.shape:
            self.shape |= shape
            self._first.append(number)
        shortest = self._shortest.get(shape)
        if shortest is None or length < shortest[0]:
            self._shortest[shape] = length, number

    def _line(self, number: int) -> bytes:
        return self._shelves.fetch(0, self._offsets[number], self._lengths[number])

    def close(self) -> None:
        """Let the rows go."""
        self._shelves.close()
