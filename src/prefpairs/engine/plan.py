"""What a run is to do: made once from the words of the command line, then only read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, NamedTuple

from prefpairs.fields.answer import ReadOptions
from prefpairs.files.inputs import Input
from prefpairs.stages.base import Stage
from prefpairs.stages.split import Split
from prefpairs.strategies.options import PairOptions
from prefpairs.targets.base import ExportOptions, Target

MOST_PAIRS = 10_000_000
"""More than this many pairs nobody wants by accident."""


class Tolerated(NamedTuple):
    """How many rows may be bad before a run is lost: a number of them, or a share."""

    word: str
    number: int | None = None
    percent: Decimal = Decimal(0)

    def exceeded(self, bad: int, read: int | None) -> bool:
        """Whether so many are too many. A share is known only once all rows were read."""
        if self.number is not None:
            return bad > self.number
        return read is not None and bad * 100 > self.percent * read


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPlan:
    """Which inputs are read, and what is done about rows that cannot be."""

    inputs: Sequence[Input]
    on_error: Literal["fail", "skip", "quarantine"] = "fail"
    quarantine: str | None = None
    tolerated: Tolerated | None = None
    limit: int | None = None
    dialect: str = "auto"
    """The format of rows that are pairs."""
    one_kind: str | None = None
    """What the first row is, where it had to tell: `pairs`, or the source of a rollout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan(InputPlan):
    """Which inputs are read, and how candidates are made of their rows."""

    source: str = "auto"
    options: ReadOptions = field(default_factory=ReadOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPlan:
    """Which pairs are made of what was read, and in which order they are written."""

    read: ReadPlan
    options: PairOptions = field(default_factory=PairOptions)
    temp_dir: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """For which trainer pairs are written, and how."""

    target: Target
    options: ExportOptions
    temp_dir: str | None = None
    references: Sequence[Input] = ()
    """The files that the form of examples rests on."""
    typed: Sequence[str] = ()
    """The words of the command line that ask for this form, without the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPlan:
    """Which pairs are read, to which sides they belong, and for which trainer they are written."""

    read: InputPlan
    sides: Mapping[Input, str]
    export: ExportPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class SievePlan:
    """Which pairs are read or made, through which sieves they pass, and to which sides they go."""

    read: InputPlan
    pair: PairPlan | None = None
    sieves: Sequence[Stage] = ()
    parting: Split | None = None
    export: ExportPlan | None = None
    temp_dir: str | None = None
