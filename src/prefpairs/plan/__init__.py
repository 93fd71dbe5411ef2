"""What a run is to do: made once, by a command, a recipe or a program, and then only read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from prefpairs.errors import UsageError
from prefpairs.files.file_stamps import Stamp
from prefpairs.files.input_file import Input, side_of
from prefpairs.plan.export_plan import ExportPlan, TracePlan, references_of, trace_plan
from prefpairs.plan.input_plan import InputPlan, PairInputPlan, ReadPlan
from prefpairs.plan.runner_plan import RunnerPlan
from prefpairs.plan.write_plan import WritePlan
from prefpairs.sources import TRACES
from prefpairs.strategies.options import PairOptions
from prefpairs.targets.export_options import ExportOptions, TraceOptions

if TYPE_CHECKING:
    from prefpairs.stages.base import Stage
    from prefpairs.stages.split import Split


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPlan:
    """Which pairs are made of what was read, and in which order they are written."""

    read: ReadPlan
    options: PairOptions = field(default_factory=PairOptions)
    temp_dir: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPlan:
    """What a recipe writes in addition to its results."""

    path: str | None
    """The path of the manifest; None if the results go to a pipe."""
    recipe: str
    """The file of the recipe."""
    tables: Mapping[str, Mapping[str, Any]]
    """The options of each table, defaults included."""
    depfile: str | None = None
    """Where a rule for make goes."""
    noted: Mapping[str, Stamp] = field(default_factory=dict)
    """Files that were read while the plan was made, as they were then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a run does, in this order. What is not there is not done."""

    read: InputPlan
    """The inputs; a ReadPlan if they hold rollouts."""
    pair: PairPlan | None = None
    """Which pairs are made of rollouts; without it the inputs hold pairs."""
    stages: "Sequence[Stage]" = ()
    """What pairs pass through."""
    split: "Split | None" = None
    sides: Mapping[Input, str] = field(default_factory=dict)
    """The side that each input is, where a dataset keeps those of its inputs."""
    export: ExportPlan | None = None
    traces: TracePlan | None = None
    """How traces become rows of tokens, if the inputs hold traces."""
    write: WritePlan = field(default_factory=WritePlan)
    runner: RunnerPlan = field(default_factory=RunnerPlan)
    manifest: ManifestPlan | None = None
    references: Sequence[Input] = ()
    """The files that are read in addition to the inputs."""
    replaceable: Sequence[Input] = ()
    """Those that the results may replace."""
    temp_dir: str | None = None

    @property
    def makes(self) -> Literal["candidates", "pairs", "traces"]:
        """What comes out."""
        if self.traces is not None:
            return "traces"
        return "candidates" if isinstance(self.read, ReadPlan) and self.pair is None else "pairs"

    @property
    def may_leak(self) -> bool:
        """Whether pairs are split by something other than the prompt that the trainer will see."""
        return self.export is not None and self.split is not None and self.split.seen is None


def sides_by_name(inputs: Sequence[Input], write: WritePlan) -> dict[Input, str]:
    """The side of each input by its name, for the files of a dataset."""
    if write.out_dir is None:
        return {}
    sides = {given: side_of(given.path) for given in inputs}
    refuse_without_train(sides)
    return sides


def refuse_without_train(sides: Mapping[Input, str]) -> None:
    """Raise if there are inputs, but none of them is training data by its name."""
    if sides and "train" not in sides.values():
        first, side = next(iter(sides.items()))
        problem = f"{first.path} is {side} data by its name"
        raise UsageError(f"{problem}, and there is none to train on", "name a file train.jsonl")


def plan_of_traces(
    to: str,
    inputs: PairInputPlan,
    form: ExportOptions,
    options: TraceOptions,
    write: WritePlan,
) -> Plan:
    """The plan of a target whose rows are made of traces, not of pairs."""
    if inputs.dialect not in ("auto", TRACES):
        raise UsageError(f"--to {to} reads traces: no --from {inputs.dialect}")
    if write.out_dir is not None:
        raise UsageError(f"--to {to} writes one file", "-o FILE")
    return Plan(
        read=replace(inputs, dialect="auto").found(),
        traces=trace_plan(to, form, options),
        references=references_of(form),
        write=write,
    )


__all__ = [
    "ExportPlan",
    "InputPlan",
    "ManifestPlan",
    "PairPlan",
    "Plan",
    "ReadPlan",
    "TracePlan",
    "WritePlan",
]
