"""Every exception of prefpairs. They carry facts; the command line makes sentences of them.

PrefpairsError
├── DataError              the input holds something that cannot be read (exit 1)
│   ├── BadRecord          one record of an input, seen alone
│   │   ├── NotJson        its bytes are not JSON
│   │   └── BadField       a field has the wrong type
│   │       └── NotOneEach a row with several answers has no value for each of them
│   ├── BadRecords         how many records of a run were bad, with the first few
│   ├── BadInput           a whole file cannot be read as what it claims to be
│   ├── OtherRows          the rows are not what the command takes, or do not show it
│   │   └── ArePairs       they are pairs, where rollouts are read
│   ├── InputChanged       a file is not what it was when it was indexed
│   ├── CannotHold         a pair does not fit into a trainer's format, and must not be bent
│   ├── ReadsAsDates       all texts of a column look like dates, and would be loaded as such
│   └── FilesDiffer        files are not what a manifest says
├── UsageError             the words of the command do not fit (exit 2)
│   ├── UnknownWord        a word that is not in the list, with the nearest one
│   ├── NoSuchPath         a dotted path that no record has
│   ├── MeansNothing       options that mean nothing for such rows
│   ├── TwoReadings        rows can be read in two ways, which lead to different pairs
│   └── TooManyPairs       more pairs than anyone wants by accident
├── NothingCameOut         all went well, and no record was left (exit 3)
│   ├── SideLeaks          every pair of a side had its prompt on another side, too
│   └── NotThere           there is nothing to show, or nothing of the name that was asked for
├── GateNotMet             a count is not what --require asks for (exit 4)
├── WouldBeLost            a trainer would lose rows of its dataset (exit 4)
├── DoesNotTrain           a trainer was tried on its dataset, and did not learn it (exit 4)
└── FileError              the file system reported an error (exit 5)
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Self


class PrefpairsError(Exception):
    """The root of all errors that prefpairs raises on purpose."""

    exit_code = 70


class DataError(PrefpairsError):
    """The input holds something that cannot be read."""

    exit_code = 1


class BadRecord(DataError):
    """One record of an input that cannot be read; `code` is its stable name."""

    code = "bad_record"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    @property
    def kind(self) -> str:
        """What it has in common with others like it."""
        return self.code


class NotJson(BadRecord):
    """The bytes of a record are not JSON; `code` tells a torn line from plain text."""

    def __init__(self, problem: str, code: str = "not_json") -> None:
        super().__init__(problem)
        self.code = code


_SHOWN = 60
_MOST_NUMBERS = 4


def _shown(value: Any) -> str:
    """A value as JSON, cut short: no more of it is ever needed. ASCII only."""
    if isinstance(value, str):
        value = value[: _SHOWN + 1]
    shown = ""
    # Looking for circles would keep the value alive until the garbage collector comes by.
    for piece in json.JSONEncoder(default=str, check_circular=False).iterencode(value):
        shown += piece[: _SHOWN + 1]
        if len(shown) > _SHOWN:
            return f"{shown[:_SHOWN]}..."
    return shown


def _keys_of_numbers(value: Any) -> list[str]:
    """The first keys of an object that hold numbers: one of them is often what was meant."""
    members = value.items() if isinstance(value, dict) else ()
    numbers = (key for key, member in members if type(member) in (int, float))
    return list(islice(numbers, _MOST_NUMBERS))


class BadField(BadRecord):
    """A field of a record has the wrong type."""

    code = "bad_field"

    def __init__(self, field: str, value: Any, expected: str) -> None:
        super().__init__(f"{field}: expected {expected}")
        self.field = field
        self.shown = _shown(value)
        # The first few are kept to the end of a run, and a row may have 64 MB.
        small = isinstance(value, (int, float)) or len(self.shown) <= _SHOWN
        self.value = value if small else self.shown
        self.expected = expected
        self.numbers = _keys_of_numbers(value)

    @property
    def kind(self) -> str:
        """Its name without the numbers in it, and what was expected."""
        return f"{re.sub('[0-9]+', '', self.field)}: {self.expected}"


class NotOneEach(BadField):
    """A row holds several answers, and not a value for each of them.

    `instead` holds what may be meant: an option, its path that does not fit, and one that does.
    """

    def __init__(
        self, field: str, value: Any, expected: str, instead: Sequence[tuple[str, str, str]] = ()
    ) -> None:
        super().__init__(field, value, f"{expected}, one for each answer")
        self.instead = instead


class BadRecords(DataError):
    """The bad records of a run: how many of its rows, by kind, and the first as (place, error)."""

    def __init__(
        self,
        count: int,
        first: Sequence[tuple[str, BadRecord]],
        kinds: Mapping[str, int] | None = None,
        allowed: str | None = None,
        rows: int | None = None,
    ) -> None:
        super().__init__(count)
        self.count = count
        self.of_all_rows = count == rows
        self.first = first
        self.kinds = kinds or {}
        self.allowed = allowed
        self.partly_written = False


class BadInput(DataError):
    """A whole file cannot be read as what it claims to be."""

    def __init__(self, path: str, problem: str, hint: str | None = None) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem
        self.hint = hint


class OtherRows(DataError):
    """Rows that are not of the kind that a command takes, or do not show that they are.

    Each choice is options that would read some of them.
    """

    def __init__(self, problem: str, hint: str, choices: Sequence[Sequence[str]] = ()) -> None:
        super().__init__(problem, hint)
        self.problem = problem
        self.hint = hint
        self.choices = choices


class ArePairs(OtherRows):
    """Rows of these files are pairs already, and the command makes pairs of rollouts."""

    def __init__(self, files: Sequence[str]) -> None:
        super().__init__("these are preference pairs already", "a recipe for them has no [pair]")
        self.files = files


class InputChanged(DataError):
    """A file is not what it was when it was indexed."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class FilesDiffer(DataError):
    """Files are not what a manifest says; a sentence for each."""

    def __init__(self, path: str, differences: Sequence[str]) -> None:
        super().__init__(path, differences)
        self.path = path
        self.differences = differences


class CannotHold(DataError):
    """A pair that a target cannot hold as it is, where nothing may be lost."""

    def __init__(self, pair: str, target: str, codes: Sequence[str]) -> None:
        super().__init__(pair, target, codes)
        self.pair = pair
        self.target = target
        self.codes = codes


class ReadsAsDates(DataError):
    """All texts at a path look like dates, so a loader would make timestamps of them."""

    def __init__(self, file: str, path: str) -> None:
        super().__init__(file, path)
        self.file = file
        self.path = path


class UsageError(PrefpairsError):
    """The words of the command do not fit together."""

    exit_code = 2

    place: str | None = None
    """Where the words stand, if that is a line of a recipe."""

    def __init__(self, problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint

    def at(self, place: str | None) -> Self:
        """The error, with where its words stand."""
        self.place = place
        return self


class UnknownWord(UsageError):
    """A word that is not in a list of words; `otherwise` is the hint where none of them is near."""

    option: str | None = None
    """The option that it was typed for, if `what` does not say it."""

    def __init__(
        self, what: str, word: str, known: Sequence[str], otherwise: str | None = None
    ) -> None:
        super().__init__(f"unknown {what}: {word}", otherwise)
        self.what = what
        self.word = word
        self.known = known


class NoSuchPath(UsageError):
    """A dotted path that none of the records looked at has."""

    def __init__(self, option: str, path: str, known: Sequence[str]) -> None:
        super().__init__(f"{option} {path}")
        self.option = option
        self.path = path
        self.known = known


class TwoReadings(UsageError):
    """Rows can be read in more than one way; each choice is options that settle it."""

    def __init__(self, problem: str, choices: Sequence[Sequence[str]]) -> None:
        super().__init__(problem)
        self.choices = choices


class MeansNothing(UsageError):
    """Options that mean nothing for what is read; without them this command, or another, works."""

    def __init__(self, problem: str, options: Sequence[str], command: str | None = None) -> None:
        super().__init__(problem)
        self.options = options
        self.command = command


class TooManyPairs(UsageError):
    """More pairs than anyone wants by accident."""

    def __init__(self, pairs: int, limit: int) -> None:
        super().__init__(f"{pairs} pairs")
        self.pairs = pairs
        self.limit = limit


class NothingCameOut(PrefpairsError):
    """All went well, and no record was left to write; each choice is options that change that."""

    exit_code = 3

    def __init__(
        self, what: str, hint: str | None = None, choices: Sequence[Sequence[str]] = ()
    ) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.choices = choices


class NotThere(NothingCameOut):
    """What was asked for is not there: nothing of the kind at all, or nothing of these names."""

    def __init__(self, what: str, names: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__(what, hint)
        self.names = names


class SideLeaks(NothingCameOut):
    """A side of a dataset has no pair left: all its prompts are on another side, too."""

    def __init__(self, side: str, target: str) -> None:
        super().__init__(
            f"{side} pair", "its prompts are also on another side, as the trainer sees them"
        )
        self.target = target


class GateNotMet(PrefpairsError):
    """A count of the summary is not what was required; `actual` is what it is."""

    exit_code = 4

    def __init__(self, gate: str, actual: Any) -> None:
        super().__init__(gate, actual)
        self.gate = gate
        self.actual = actual


class WouldBeLost(PrefpairsError):
    """A trainer would lose rows of its dataset, or whole files."""

    exit_code = 4

    def __init__(
        self, rows: int, of: int, target: str, files: Sequence[str] = (), hint: str | None = None
    ) -> None:
        super().__init__(rows, of, target, files, hint)
        self.hint = hint
        self.rows = rows
        self.files = files
        self.of = of
        self.target = target


class DoesNotTrain(PrefpairsError):
    """A trainer was tried on its dataset, and something was not as it should be."""

    exit_code = 4

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(problems)
        self.problems = problems


class FileError(PrefpairsError):
    """The file system said no."""

    exit_code = 5

    def __init__(self, path: str, problem: str, *, missing: bool = False) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem
        self.missing = missing
        """Whether there is nothing of that name."""

    @classmethod
    def of(cls, path: str, error: OSError) -> Self:
        """What the system said, with the name of what it is about."""
        missing = isinstance(error, FileNotFoundError)
        return cls(path, error.strerror or str(error), missing=missing)
