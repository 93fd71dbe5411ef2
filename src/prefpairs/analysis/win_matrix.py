"""Wins by origin: the files, models or steps that the two answers of a pair come from."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from prefpairs.model.pair import Pair

_NAMES = frozenset({"model", "model_name", "policy", "checkpoint", "step", "global_step"})
"""Fields of meta, by the last part of their path, that say where an answer comes from."""

_MOST = 30
"""With more names than this, a table would be unreadable."""

_LONGEST_NUMBER = 20


class Matrix(NamedTuple):
    """How often each name's answer was chosen over each other name's."""

    of: str
    names: list[str]
    wins: list[list[int]]

    def summary(self) -> dict[str, Any]:
        """The matrix as data: one row for each chosen name."""
        return {"names": self.names, "wins": self.wins}


class Wins:
    """Counts wins between names, for each field by which answers differ."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[tuple[str, str]]] = {}
        self._names: dict[str, set[str]] = {}

    def add(self, pair: Pair) -> None:
        """Count one pair."""
        for of, chosen, rejected in rivals(pair):
            self._add(of, chosen, rejected)

    def _add(self, of: str, chosen: str, rejected: str) -> None:
        names = self._names.setdefault(of, set())
        if len(names) <= _MOST:
            names.update((chosen, rejected))
            self._counts.setdefault(of, Counter())[chosen, rejected] += 1

    def matrices(self) -> list[Matrix]:
        """A matrix for each field with several names, but not too many, that were paired."""
        return [
            self._matrix(of)
            for of, names in sorted(self._names.items())
            if len(names) <= _MOST and any(one != other for one, other in self._counts[of])
        ]

    def too_many(self) -> list[str]:
        """The fields with too many names for a table."""
        return sorted(of for of, names in self._names.items() if len(names) > _MOST)

    def _matrix(self, of: str) -> Matrix:
        counts = self._counts[of]
        names = sorted(self._names[of], key=_natural)
        return Matrix(of, names, [[counts[one, other] for other in names] for one in names])


def rivals(pair: Pair) -> Iterator[tuple[str, str, str]]:
    """The fields by which the two answers of a pair differ, with both names, chosen first."""
    if pair.chosen_origin and pair.rejected_origin:
        yield "file", _file(pair.chosen_origin), _file(pair.rejected_origin)
    for key, value in (pair.meta or {}).items():
        of, theirs = key, value
        if key.startswith("chosen_"):
            of = key.removeprefix("chosen_")
            theirs = (pair.meta or {}).get(f"rejected_{of}")
        if _names_origin(of) and _is_name(value) and _is_name(theirs):
            yield of, str(value), str(theirs)


def _names_origin(path: str) -> bool:
    """Whether a field of meta says where an answer comes from.

    >>> [_names_origin(path) for path in ("completions[].model", "models[]", "completions[]")]
    [True, True, False]
    """
    name = path.rpartition(".")[2]
    return name in _NAMES or (name.endswith("s[]") and name.removesuffix("s[]") in _NAMES)


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _file(origin: str) -> str:
    return origin.rpartition(":")[0]


def _natural(name: str) -> tuple[bool, int, str]:
    """A sort key: numbers by size, then words alphabetically."""
    number = name.isdecimal() and len(name) < _LONGEST_NUMBER
    return not number, int(name) if number else 0, name
