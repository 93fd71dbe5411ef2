"""The forms of the rows of a file, which tell its loader the types of all columns.

Loaders infer the type of a column from the first 10 MiB, so the rows in which a field or a type
first occurs are written first.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import NamedTuple

import msgspec

from prefpairs.dataset.column_types import FIRST_BLOCK

_ROOM = FIRST_BLOCK // 2
"""The first rows of each shape go first, unless they are longer than this together."""


class RowPlace(NamedTuple):
    """Where a row is: in which file, and where in it. Rows are in the order of their places."""

    file: int
    offset: int
    length: int


class RowForm(msgspec.Struct, array_like=True, frozen=True):
    """What the rows of one form have in common."""

    shape: list[str]
    columns: int
    """Their columns, as a bit set."""
    first: RowPlace
    shortest: RowPlace


class RowsLeft:
    """What a step of a run knows of the rows that it left in files, one for each side."""

    def __init__(self, file: int) -> None:
        """`file` is the number of the step."""
        self.file = file
        self.forms: dict[str, list[RowForm]] = {}
        self.sizes: dict[str, int] = {}
        self.leaked = Counter[str]()
        """How many pairs of each side were dropped because another side keeps their prompt."""

    def add(self, side: str, forms: Iterable[RowForm], size: int) -> None:
        """Add the forms of rows that begin where the last ones ended, and how long they are."""
        self.forms.setdefault(side, []).extend(forms)
        self.sizes[side] = self.sizes.get(side, 0) + size


class RowForms:
    """The forms of all rows of a file, in the order in which they first occur.

    >>> def form(name, first, shortest):
    ...     return RowForm([f"{name}: string"], 1, RowPlace(0, first, 9), RowPlace(0, shortest, 5))
    >>> [place.offset for place in RowForms([form("a", 0, 20), form("b", 10, 30)]).first]
    [0, 10]
    """

    def __init__(self, forms: Iterable[RowForm]) -> None:
        self.forms = [*forms]

    @cached_property
    def shape(self) -> frozenset[str]:
        """The path and type of every field."""
        return frozenset(path for form in self.forms for path in form.shape)

    @property
    def columns(self) -> int:
        """The columns that some row has, as a bit set."""
        present = 0
        for form in self.forms:
            present |= form.columns
        return present

    @cached_property
    def first(self) -> list[RowPlace]:
        """The rows that determine the types: the first of each shape, or the shortest if long."""
        first = _that_add_a_type((form.shape, form.first) for form in self.forms)
        if _size(first) <= _ROOM:
            return first
        shortest = sorted(self.forms, key=lambda form: (form.shortest.length, form.shortest))
        return _that_add_a_type((form.shape, form.shortest) for form in shortest)

    @property
    def fits(self) -> bool:
        """Whether the rows that determine the types fit into the block that loaders look at."""
        return _size(self.first) <= FIRST_BLOCK


def _size(places: Iterable[RowPlace]) -> int:
    return sum(place.length for place in places)


def _that_add_a_type(rows: Iterable[tuple[Collection[str], RowPlace]]) -> list[RowPlace]:
    """Those rows that have a field, or a type of one, that no earlier row has."""
    chosen: list[RowPlace] = []
    known: set[str] = set()
    for shape, place in rows:
        if not known.issuperset(shape):
            known.update(shape)
            chosen.append(place)
    return chosen
