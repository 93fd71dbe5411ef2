"""The exceptions of prefpairs. They carry facts; the command line puts them into words.

PrefpairsError
├── DataError              the input has something that cannot be read (exit 1)
│   ├── BadRecord          one record of an input, on its own
│   │   ├── NotJson        its bytes are not JSON
│   │   └── BadField       a field has the wrong type
│   │       └── NotOneEach a row with several answers does not have a value for each
│   ├── BadRecords         how many records of a run were bad, with the first few
│   ├── BadInput           a whole file cannot be read as what it claims to be
│   ├── OtherRows          rows of a kind that the command does not read, or of none it knows
│   │   └── ArePairs       they are pairs, but rollouts are expected
│   ├── InputChanged       a file changed since it was indexed
│   ├── CannotHold         a pair does not fit into a trainer's format
│   ├── ReadsAsDates       all texts of a column look like dates, and would be read as such
│   └── FilesDiffer        files do not match a manifest
├── UsageError             the command is wrong (exit 2)
│   ├── UnknownWord        a word that is not in a list of words
│   ├── OptionsConflict    options that exclude each other
│   ├── OptionNeeds        an option that is useless without another one
│   ├── OptionsBothNeeded  two options of which only one is given
│   ├── EmptyName          a name or a list without anything in it
│   ├── NoSuchPath         a dotted path that no record has
│   ├── MeansNothing       options that have no meaning for such rows
│   ├── TwoReadings        rows can be read in two ways that give different pairs
│   └── TooManyPairs       so many pairs that it may be a mistake
├── NothingCameOut         nothing went wrong, but no record was left (exit 3)
│   ├── SideLeaks          every prompt of a side is also on another side
│   └── NotThere           there is nothing to show, or nothing with the given name
├── GateNotMet             a count does not meet --require (exit 4)
├── WouldBeLost            a trainer would lose rows of its dataset (exit 4)
├── DoesNotTrain           a trial training on the dataset failed (exit 4)
├── FileError              the file system reported an error (exit 5)
├── StepFailed             a step of a run failed in another process (its exit)
└── ServiceError           a training service, and the step it was asked for
    ├── ServiceRefused     it said no (exit 1)
    ├── ServiceUnreachable it cannot be reached, or does not answer as it should (exit 5)
    ├── JobFailed          the training or the deployment failed there (exit 1)
    ├── JobCancelled       the training was cancelled (exit 6)
    └── NotReadyInTime     the model was not deployed in time (exit 7)
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Self


class PrefpairsError(Exception):
    """The base class of all errors that prefpairs raises on purpose."""

    exit_code = 70


class DataError(PrefpairsError):
    """The input has something that cannot be read."""

    exit_code = 1


class BadRecord(DataError):
    """One record of an input that cannot be read. `code` is the stable reason code."""

    code = "bad_record"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    @property
    def kind(self) -> str:
        """What similar errors have in common."""
        return self.code


class NotJson(BadRecord):
    """The bytes of a record are not JSON. `code` distinguishes torn lines, plain text and so on."""

    def __init__(self, problem: str, code: str = "not_json") -> None:
        super().__init__(problem)
        self.code = code


_SHOWN = 60
_MOST_NUMBERS = 4


def _shown(value: Any) -> str:
    """A value as JSON, truncated, in ASCII."""
    if isinstance(value, str):
        value = value[: _SHOWN + 1]
    shown = ""
    # A check for cycles would keep the value in memory until the next garbage collection.
    for piece in json.JSONEncoder(default=str, check_circular=False).iterencode(value):
        shown += piece[: _SHOWN + 1]
        if len(shown) > _SHOWN:
            return f"{shown[:_SHOWN]}..."
    return shown


def _keys_of_numbers(value: Any) -> list[str]:
    """The first keys of an object that have numbers, one of which may have been meant."""
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
        # The first few errors are kept for the whole run, and a row may have 64 MB.
        small = isinstance(value, (int, float)) or len(self.shown) <= _SHOWN
        self.value = value if small else self.shown
        self.expected = expected
        self.numbers = _keys_of_numbers(value)

    @property
    def kind(self) -> str:
        """The field without numbers, and what was expected."""
        return f"{re.sub('[0-9]+', '', self.field)}: {self.expected}"


class NotOneEach(BadField):
    """A row has several answers, but not a value for each of them.

    `instead` is what may have been meant: an option, its path that does not fit, and one that does.
    """

    def __init__(
        self, field: str, value: Any, expected: str, instead: Sequence[tuple[str, str, str]] = ()
    ) -> None:
        super().__init__(field, value, f"{expected}, one for each answer")
        self.instead = instead


class BadRecords(DataError):
    """The bad records of a run: how many, by kind, and the first few as (place, error)."""

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
    """Rows of a kind that a command does not read, or of no known kind.

    Each choice is a list of options with which some of them can be read.
    """

    def __init__(self, problem: str, hint: str, choices: Sequence[Sequence[str]] = ()) -> None:
        super().__init__(problem, hint)
        self.problem = problem
        self.hint = hint
        self.choices = choices


class ArePairs(OtherRows):
    """The rows of these files are pairs already, but the command makes pairs of rollouts."""

    def __init__(self, files: Sequence[str]) -> None:
        super().__init__("these are preference pairs already", "a recipe for them has no [pair]")
        self.files = files


class InputChanged(DataError):
    """A file changed since it was indexed."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class FilesDiffer(DataError):
    """Files do not match a manifest; a sentence for each."""

    def __init__(self, path: str, differences: Sequence[str]) -> None:
        super().__init__(path, differences)
        self.path = path
        self.differences = differences


class CannotHold(DataError):
    """A pair that does not fit into a target's format without losing something."""

    def __init__(self, pair: str, target: str, codes: Sequence[str]) -> None:
        super().__init__(pair, target, codes)
        self.pair = pair
        self.target = target
        self.codes = codes


class ReadsAsDates(DataError):
    """All texts at a path look like dates, which a loader would turn into timestamps."""

    def __init__(self, file: str, path: str) -> None:
        super().__init__(file, path)
        self.file = file
        self.path = path


class UsageError(PrefpairsError):
    """The command is wrong."""

    exit_code = 2

    place: str | None = None
    """The line of a recipe that is wrong."""

    def __init__(self, problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint

    def at(self, place: str | None) -> Self:
        """The error, with the line of a recipe."""
        self.place = place
        return self


class UnknownWord(UsageError):
    """A word that is not in a list. `otherwise` is the hint if no known word is similar."""

    option: str | None = None
    """The option it was given for, if `what` does not say it."""

    def __init__(
        self, what: str, word: str, known: Sequence[str], otherwise: str | None = None
    ) -> None:
        super().__init__(f"unknown {what}: {word}", otherwise)
        self.what = what
        self.word = word
        self.known = known


class OptionsConflict(UsageError):
    """Options that exclude each other; `reason` says why, if that is not obvious."""

    def __init__(self, *options: str, reason: str | None = None, hint: str | None = None) -> None:
        super().__init__(", ".join(options), hint)
        self.options = options
        self.reason = reason


class OptionNeeds(UsageError):
    """An option that is useless without another one."""

    def __init__(self, option: str, other: str, hint: str | None = None) -> None:
        super().__init__(f"{option}, {other}", hint)
        self.option = option
        self.other = other


class OptionsBothNeeded(UsageError):
    """Two options that are useless without each other, of which one is given."""

    def __init__(self, option: str, other: str) -> None:
        super().__init__(f"{option}, {other}")
        self.option = option
        self.other = other


class EmptyName(UsageError):
    """A name, or a list, without anything in it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class NoSuchPath(UsageError):
    """A dotted path that none of the first records has."""

    def __init__(self, option: str, path: str, known: Sequence[str]) -> None:
        super().__init__(f"{option} {path}")
        self.option = option
        self.path = path
        self.known = known


class TwoReadings(UsageError):
    """Rows can be read in several ways. Each choice is a list of options that decides."""

    def __init__(self, problem: str, choices: Sequence[Sequence[str]]) -> None:
        super().__init__(problem)
        self.choices = choices


class MeansNothing(UsageError):
    """Options without a meaning for these rows. Without them, this or another command works."""

    def __init__(self, problem: str, options: Sequence[str], command: str | None = None) -> None:
        super().__init__(problem)
        self.options = options
        self.command = command


class TooManyPairs(UsageError):
    """So many pairs that it may be a mistake."""

    def __init__(self, pairs: int, limit: int) -> None:
        super().__init__(f"{pairs} pairs")
        self.pairs = pairs
        self.limit = limit


class NothingCameOut(PrefpairsError):
    """Nothing went wrong, but no record was left. Each choice is a list of options that help."""

    exit_code = 3

    def __init__(
        self, what: str, hint: str | None = None, choices: Sequence[Sequence[str]] = ()
    ) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.choices = choices


class NotThere(NothingCameOut):
    """Nothing of the kind exists, or nothing with these names."""

    def __init__(self, what: str, names: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__(what, hint)
        self.names = names


class SideLeaks(NothingCameOut):
    """No pair is left in a side of a dataset: all its prompts are also on another side."""

    def __init__(self, side: str, target: str) -> None:
        super().__init__(
            f"{side} pair", "its prompts are also on another side, as the trainer sees them"
        )
        self.target = target


class GateNotMet(PrefpairsError):
    """A count of the summary does not meet a requirement. `actual` is its value."""

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
    """A trial training on a dataset failed."""

    exit_code = 4

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(problems)
        self.problems = problems


class FileError(PrefpairsError):
    """The file system reported an error, or a file is not what it should be."""

    exit_code = 5

    def __init__(self, path: str, problem: str, *, missing: bool = False) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem
        self.missing = missing
        """Whether the file does not exist."""

    @classmethod
    def of(cls, path: str, error: OSError) -> Self:
        """The error of the operating system, with the name of the file."""
        missing = isinstance(error, FileNotFoundError)
        return cls(path, error.strerror or str(error), missing=missing)


class StepFailed(PrefpairsError):
    """A step of a run failed in another process, which has put its error into words."""

    def __init__(self, words: str, exit_code: int) -> None:
        super().__init__(words, exit_code)
        self.words = words
        self.exit_code = exit_code


class ServiceError(PrefpairsError):
    """Something about a training service; `step` is what it was asked for."""

    def __init__(self, step: str, problem: str, hint: str | None = None) -> None:
        super().__init__(step, problem)
        self.step = step
        self.problem = problem
        self.hint = hint


class ServiceRefused(ServiceError):
    """The service refused a request; asking again would change nothing."""

    exit_code = 1
    did_nothing = False
    """Whether it is certain that the service did nothing of what was asked."""


class ServiceUnreachable(ServiceError):
    """The service cannot be reached, or its answers make no sense."""

    exit_code = 5


class JobFailed(ServiceError):
    """The training or the deployment failed at the service."""

    exit_code = 1


class JobCancelled(ServiceError):
    """The training was cancelled."""

    exit_code = 6


class NotReadyInTime(ServiceError):
    """The model was not deployed in time."""

    exit_code = 7
