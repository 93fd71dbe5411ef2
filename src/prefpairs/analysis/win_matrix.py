"""Who wins against whom: the files, models or steps that the two answers of a pair come from."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from prefpairs.model.pair import Pair

_NAMES = frozenset({"model", "model_name", "policy", "checkpoint", "step", "global_step"})
"""Fields of meta, by the last word of their path, that say what an answer comes from."""

_MOST = 30
"""More than so many would be a table that nobody reads."""

_LONGEST_NUMBER = 20


class Matrix(NamedTuple):
    """How often each name's answer was chosen over each other's."""

    of: str
    names: list[str]
    wins: list[list[int]]

    def summary(self) -> dict[str, Any]:
        """The matrix as data: a row for each chosen one."""
        return {"names": self.names, "wins": self.wins}


class Wins:
    """Counts who wins against whom, for each thing that tells answers apart."""

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
        """A matrix for each thing of which several, but not too many, met each other."""
        return [
            self._matrix(of)
            for of, names in sorted(self._names.items())
            if len(names) <= _MOST and any(one != other for one, other in self._counts[of])
        ]

    def too_many(self) -> list[str]:
        """The things of which there are too many for a table."""
        return sorted(of for of, names in self._names.items() if len(names) > _MOST)

    def _matrix(self, of: str) -> Matrix:
        counts = self._counts[of]
        names = sorted(self._names[of], key=_natural)
        return Matrix(of, names, [[counts[one, other] for other in names] for one in names])


def rivals(pair: Pair) -> Iterator[tuple[str, str, str]]:
    """What tells the two answers of a pair apart, with the chosen one's name and the other's."""
    if pair.chosen_origin and pair.rejected_origin:
        yield "file", _file(pair.chosen_origin), _file(pair.rejected_origin)
    for key, value in (pair.meta or {}).items():
        of, theirs = key, value
        if key.startswith("chosen_"):
            of = key.removeprefix("chosen_")
            theirs = (pair.meta or {}).get(f"rejected_{of}")
        if _says_whose(of) and _is_name(value) and _is_name(theirs):
            yield of, str(value), str(theirs)


def _says_whose(path: str) -> bool:
    """Whether a field of meta says what an answer comes from.

    >>> _says_whose("completions[].model"), _says_whose("models[]"), _says_whose("completions[]")
    (True, True, False)
    """
    name = path.rpartition(".")[2]
    return name in _NAMES or (name.endswith("s[]") and name.removesuffix("s[]") in _NAMES)


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _file(origin: str) -> str:
    return origin.rpartition(":")[0]


def _natural(name: str) -> tuple[bool, int, str]:
    """Numbers by size, then words by letters."""
    number = name.isdecimal() and len(name) < _LONGEST_NUMBER
    return not number, int(name) if number else 0, name
