"""Checks that the values of a pickle are not too long as JSON: a decompression bomb otherwise.

A few bytes may refer to a value a million times, and a list may contain itself. Each value is
measured once.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from prefpairs.files.pickle_values import Damaged, NotRead

_DEEPEST, _MOST_OPEN = 240, 1000
_WORD, _FLOAT, _BITS_A_DIGIT = 5, 25, 3
"""The length of a constant, and of a float at most; an integer takes a digit for every 3 bits."""

_ENDLESS = NotRead(0, "it repeats itself too often, or is longer than a line may be")
_DEEP = NotRead(0, "nested too deeply")


class _Open(NamedTuple):
    """A container that is being measured."""

    value: Any
    inner: Iterator[Any]


class SizeCheck:
    """The sizes of values, none of which may be longer than `room`.

    `shared` are the values that occur more than once, by their ids.
    """

    def __init__(self, shared: dict[int, Any], room: int) -> None:
        self._shared = shared
        self._room = room
        self._known: dict[int, tuple[int, int] | NotRead] = {}
        self._rows: dict[int, NotRead] = {}

    def check(self, item: dict[str, Any], row: dict[str, Any]) -> None:
        """Raise Damaged if the row of an item is not plain, contains itself, or is too long."""
        if isinstance(known := self._rows.get(id(item)), NotRead):
            raise known.damage
        try:
            self._measure(row)
        except Damaged as damage:
            if id(item) in self._shared:
                self._rows[id(item)] = NotRead(damage.place, damage.problem)
            raise

    def _measure(self, value: Any) -> None:
        """Find the size of a value, or raise Damaged."""
        path: list[_Open] = []
        sizes = [(0, 0)]  # length and depth of everything, and of each container on the path
        try:
            self._enter(value, path, sizes)
            while path:
                for inner in path[-1].inner:
                    if self._enter(inner, path, sizes):
                        break
                else:
                    done = path.pop()
                    size, height = sizes.pop()
                    self._keep(done.value, (size, height + 1))
                    self._add(sizes, size, height + 1)
        except Damaged as damage:
            for one in path:  # containers of it are not plain, either
                self._keep(one.value, NotRead(damage.place, damage.problem))
            raise

    def _enter(self, value: Any, path: list[_Open], sizes: list[tuple[int, int]]) -> bool:
        """Count a value, or begin to measure a container."""
        inner = _inner(value)
        if inner is None:
            self._add(sizes, _size_of(value), 0)
            return False
        known = self._known.get(id(value))
        if isinstance(known, NotRead):
            raise known.damage
        if known is not None:
            self._add(sizes, *known)
            return False
        if len(path) >= _MOST_OPEN:
            raise _DEEP.damage
        self._keep(value, _ENDLESS)  # in case it contains itself
        path.append(_Open(value, inner))
        sizes.append((1, 0))
        return True

    def _add(self, sizes: list[tuple[int, int]], size: int, height: int) -> None:
        before, highest = sizes[-1]
        sizes[-1] = before + size + 1, max(highest, height)
        if before + size >= self._room:
            raise _ENDLESS.damage
        if height > _DEEPEST:
            raise _DEEP.damage

    def _keep(self, value: Any, found: tuple[int, int] | NotRead) -> None:
        if id(value) in self._shared:
            self._known[id(value)] = found


def _inner(value: Any) -> Iterator[Any] | None:
    """The values in a container; None if it is not one."""
    if type(value) is dict:
        return (one for member in value.items() for one in member)
    return iter(value) if type(value) in (list, tuple) else None


def _size_of(value: Any) -> int:
    """How long a single value is at most; the number of characters of a text."""
    if type(value) in (str, bytes):
        return len(value)
    if value is None or type(value) is bool:
        return _WORD
    if type(value) is int:
        return 2 + value.bit_length() // _BITS_A_DIGIT
    if type(value) is float:
        return _FLOAT
    if type(value) is NotRead:
        raise value.damage
    raise Damaged(0, "a type of numpy where a value should be")
