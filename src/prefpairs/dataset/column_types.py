"""The types of columns, as loaders built on Arrow infer them from the rows of a file.

The first 10 MiB of a file fix the type of every column, so a field that first appears later breaks
the load, on whatever line it is. Where messages differ in their keys within that block, datasets
4.7 and newer treat the column as JSON and accept anything later; older releases do not. Texts that
all look like dates are loaded as timestamps.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator
from typing import Any

from prefpairs.dataset.row_rules import Effect, Finding, Row

_TYPES = {
    bool: "bool",
    int: "int",
    float: "float",
}
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d(:?\d\d(:?\d\d)?)?([.,]\d{1,9})?(Z|[+-]\d\d(:?\d\d)?)?)?"
)
_INTS = frozenset({int})
_LONGEST_DATE = len("2026-01-01T00:00:00.000000000+00:00")


def shape_of(row: dict[str, Any]) -> frozenset[str]:
    """The path of every field, with its type; the items of a list share one path.

    >>> sorted(shape_of({"a": [{"b": 1.0}, {"c": None}]}))
    ['a: list', 'a[].b: float', 'a[]: object']
    """
    paths: set[str] = set()
    for name, value in row.items():
        _collect(value, name, paths)
    return frozenset(paths)


def form_of(row: dict[str, Any]) -> Hashable:
    """A key that only rows of one shape share; rows of one shape nearly always share it.

    It takes 2 us where the shape takes 3.3, so it is used to look up shapes.

    >>> row, other = {"a": [{"b": "x"}], "c": 1.0}, {"a": [{"b": "y"}, {"b": "z"}], "c": 2.0}
    >>> form_of(row) == form_of(other) != form_of({**row, "c": None})
    True
    """
    form: list[Any] = [*row]
    for value in row.values():
        kind = type(value)
        if kind is str:
            form.append(value[4:5] == "-" and is_date(value))
        elif kind is list and value and type(value[0]) is int and {*map(type, value)} == {int}:
            form.append(_INTS)  # a fast path for token ids, which come in thousands
        elif kind is list:
            items = set()
            for item in value:
                items.add(form_of(item) if type(item) is dict else _form_of_item(item))
            form.append(frozenset(items))
        else:
            form.append(form_of(value) if kind is dict else kind)
    return tuple(form)


def _form_of_item(item: Any) -> Hashable:
    """The form of an item of a list."""
    if isinstance(item, list):
        return frozenset(map(_form_of_item, item))
    if isinstance(item, dict):
        return form_of(item)
    kind: Any = type(item)
    return is_date(item) if isinstance(item, str) else kind


def is_date(text: str) -> bool:
    """Whether Arrow loads a text as a date or a time, if all texts of the field are like it.

    >>> is_date("2026-01-01"), is_date("2026")
    (True, False)
    """
    # The dash alone rules out nearly all other texts, in a tenth of the time.
    return text[4:5] == "-" and len(text) <= _LONGEST_DATE and _DATE.fullmatch(text) is not None


def dates_alone(shape: Collection[str]) -> list[str]:
    """The paths at which all texts look like dates.

    >>> dates_alone({"a: date", "b[].c: date", "b[].c: string"})
    ['a']
    """
    paths = (path.removesuffix(": date") for path in shape if path.endswith(": date"))
    return sorted(path for path in paths if f"{path}: string" not in shape)


def column_of(path: str) -> str:
    """The column that a path is in.

    >>> column_of("chosen[].role: string")
    'chosen'
    """
    return path.partition(":")[0].partition(".")[0].partition("[")[0]


def _collect(value: Any, path: str, paths: set[str]) -> None:
    """Add the paths of a value to a set; generators would take twice the time."""
    if isinstance(value, str):
        paths.add(f"{path}: date" if is_date(value) else f"{path}: string")
    elif isinstance(value, dict):
        paths.add(f"{path}: object")
        for key, item in value.items():
            _collect(item, f"{path}.{key}", paths)
    elif isinstance(value, list):
        paths.add(f"{path}: list")
        for item in value:
            _collect(item, f"{path}[]", paths)
    elif value is not None:
        paths.add(f"{path}: {_TYPES[type(value)]}")


FIRST_BLOCK = 10 << 20

_WIDER = {"int": "float", "date": "string"}
"""Types that are accepted where the wider type is known."""


class InferredColumns:
    """The columns of one file, as its loader has inferred them so far."""

    def __init__(self) -> None:
        self.shape: set[str] = set()
        self._kinds: defaultdict[str, set[str]] = defaultdict(set)
        """The types of each field."""
        self._forms: set[Hashable] = set()
        """The forms of rows that have been checked."""
        self._keys: dict[str, frozenset[str]] = {}
        self.mixed: set[str] = set()
        """The columns that newer releases treat as JSON."""
        self._reported: set[str] = set()

    def see(self, row: Row, offset: int) -> Iterator[Finding]:
        """The problems of the loader with a row that begins at this byte."""
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
        """The problems that are known at the end of the file; `trained` columns are trained on."""
        for path in dates_alone(self.shape):
            column = column_of(path)
            lost = column in trained and column not in self.mixed
            yield Finding(Effect.NOTHING if lost else Effect.WARNING, "reads_as_date", path)

    def _fits(self, path: str) -> bool:
        place, _, kind = path.rpartition(": ")
        return kind in _WIDER and f"{place}: {_WIDER[kind]}" in self.shape

    def learn(self, row: Row) -> None:
        """Record the keys that the objects of each column have."""
        for path, keys in _objects(row, ""):
            if self._keys.setdefault(path, keys) != keys:
                self.mixed.add(column_of(path))

    def _conflicts(self, new: list[str]) -> Iterator[Finding]:
        """Fields of several types, each reported once."""
        places = {path.rpartition(": ")[0] for path in new}
        for place in sorted(place for place in places if len(self._kinds[place]) > 1):
            kinds = self._kinds[place]
            kinds = kinds - {narrow for narrow, wide in _WIDER.items() if wide in kinds}
            if len(kinds) > 1:
                self.mixed.add(column_of(place))
                if place not in self._reported:
                    self._reported.add(place)
                    yield Finding(Effect.WARNING, "types_differ", place)

    def _late(self, new: list[str]) -> Iterator[Finding]:
        """Fields that first appear too late; if the column is JSON, only old releases fail."""
        for place in _outermost({path.rpartition(": ")[0] for path in new}):
            column = column_of(place)
            if column in self.mixed:
                if column not in self._reported:
                    self._reported.add(column)
                    yield Finding(Effect.WARNING, "types_differ", place)
            else:
                yield Finding(Effect.NO_LOAD, "late_field", place)


def _outermost(places: Collection[str]) -> list[str]:
    """The fields that are not inside another one of them.

    >>> _outermost({"a.b", "a", "a-b", "c[].d"})
    ['a', 'a-b', 'c[].d']
    """
    outermost: list[str] = []
    last = "."
    for place in sorted(places, key=_inner_fields_next):
        if not place.startswith((f"{last}.", f"{last}[")):
            outermost.append(place)
            last = place
    return sorted(outermost)


def _inner_fields_next(place: str) -> str:
    """A sort key that puts the fields inside a field right after it."""
    return place.replace(".", "\0").replace("[", "\0") + "\0"


def _objects(value: Any, path: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Every object inside a value, with its keys."""
    if isinstance(value, dict):
        if path:
            yield path, frozenset(value)
        for key, item in value.items():
            yield from _objects(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item, f"{path}[]")
