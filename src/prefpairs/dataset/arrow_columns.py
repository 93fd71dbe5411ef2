"""What loaders that rest on Arrow make of the columns of a file, row by row.

The first 10 MiB fix the type of every column. Where messages differ in their keys there, datasets
4.7 and newer take the column for JSON, and let anything follow; older releases do not.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator
from typing import Any

from prefpairs.dataset.findings import Effect, Finding
from prefpairs.dataset.row_shape import column_of, dates_alone, form_of, shape_of
from prefpairs.targets.base import Row

FIRST_BLOCK = 10 << 20

_WIDER = {"int": "float", "date": "string"}
"""Types that fit where another one is known."""


class Columns:
    """The columns of one file, as its loader knows them so far."""

    def __init__(self) -> None:
        self.shape: set[str] = set()
        self._kinds: defaultdict[str, set[str]] = defaultdict(set)
        """The same by field."""
        self._forms: set[Hashable] = set()
        """Of these rows everything was said."""
        self._keys: dict[str, frozenset[str]] = {}
        self.mixed: set[str] = set()
        """The columns that newer releases take for JSON."""
        self._told: set[str] = set()

    def see(self, row: Row, offset: int) -> Iterator[Finding]:
        """What the loader says of a row that begins at this byte."""
        form = form_of(row)
        if form in self._forms:
            return
        self._forms.add(form)
        shape = shape_of(row)
        fresh = shape - self.shape
        for path in fresh:
            place, _, kind = path.rpartition(": ")
            self._kinds[place].add(kind)
        new = [path for path in fresh if not self._fits(path)]
        if offset < FIRST_BLOCK:
            self.learn(row)
            yield from self._conflicts(new)
        else:
            yield from self._late(new)
        self.shape |= shape

    def settle(self, trained: Collection[str]) -> Iterator[Finding]:
        """What can be said once the file is over; other columns than these are not trained on."""
        for path in dates_alone(self.shape):
            column = column_of(path)
            lost = column in trained and column not in self.mixed
            yield Finding(Effect.NOTHING if lost else Effect.WARNING, "reads_as_date", path)

    def _fits(self, path: str) -> bool:
        place, _, kind = path.rpartition(": ")
        return kind in _WIDER and f"{place}: {_WIDER[kind]}" in self.shape

    def learn(self, row: Row) -> None:
        """Take in which keys the objects of a column have."""
        for path, keys in _objects(row, ""):
            if self._keys.setdefault(path, keys) != keys:
                self.mixed.add(column_of(path))

    def _conflicts(self, new: list[str]) -> Iterator[Finding]:
        """Fields of several types, each told once."""
        places = {path.rpartition(": ")[0] for path in new}
        for place in sorted(place for place in places if len(self._kinds[place]) > 1):
            kinds = self._kinds[place]
            kinds = kinds - {narrow for narrow, wide in _WIDER.items() if wide in kinds}
            if len(kinds) > 1:
                self.mixed.add(column_of(place))
                if place not in self._told:
                    self._told.add(place)
                    yield Finding(Effect.WARNING, "types_differ", place)

    def _late(self, new: list[str]) -> Iterator[Finding]:
        """Fields that come too late; where a column is JSON, old releases alone refuse them."""
        for place in _outermost({path.rpartition(": ")[0] for path in new}):
            column = column_of(place)
            if column in self.mixed:
                if column not in self._told:
                    self._told.add(column)
                    yield Finding(Effect.WARNING, "types_differ", place)
            else:
                yield Finding(Effect.NO_LOAD, "late_field", place)


def _outermost(places: Collection[str]) -> list[str]:
    """The fields that stand in none of the others.

    >>> _outermost({"a.b", "a", "a-b", "c[].d"})
    ['a', 'a-b', 'c[].d']
    """
    outermost: list[str] = []
    last = "."
    for place in sorted(places, key=_inner_ones_next):
        if not place.startswith((f"{last}.", f"{last}[")):
            outermost.append(place)
            last = place
    return sorted(outermost)


def _inner_ones_next(place: str) -> str:
    """A key by which what stands in a field comes right behind it."""
    return place.replace(".", "\0").replace("[", "\0") + "\0"


def _objects(value: Any, path: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Every object below a value, with its keys."""
    if isinstance(value, dict):
        if path:
            yield path, frozenset(value)
        for key, item in value.items():
            yield from _objects(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item, f"{path}[]")
