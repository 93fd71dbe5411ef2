"""The measurements in `.bench/results.json`, without host names and paths."""

from functools import reduce
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

GROWTH = "growth"
"""The case name for the main job at all scales, separate from its own tables."""


class Strict(BaseModel):
    """Frozen, and without extra fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Cost(Strict):
    """The cost of a run: seconds, CPU seconds of the process tree, bytes of its largest process.

    >>> Cost(wall=2, cpu=3, peak=4).least(Cost(wall=1, cpu=5, peak=6))
    Cost(wall=1.0, cpu=3.0, peak=4)
    """

    wall: float
    cpu: float
    peak: int

    def least(self, other: "Cost") -> "Cost":
        """The minimum of each figure."""
        return Cost(
            wall=min(self.wall, other.wall),
            cpu=min(self.cpu, other.cpu),
            peak=min(self.peak, other.peak),
        )


class Claim(Strict):
    """A figure and its bound.

    >>> Claim(what="CPU against a loop", value=1.4, bound=1.5, unit="x").met
    True
    """

    what: str
    value: float
    bound: float
    unit: str
    least: bool = False
    """Whether the bound is a minimum instead of a maximum."""

    @property
    def met(self) -> bool:
        """Whether the bound is met."""
        return self.value >= self.bound if self.least else self.value <= self.bound


class Finding(Strict):
    """One case at one scale."""

    case: str
    title: str
    rollouts: int
    input_bytes: int
    rounds: int
    baseline: str
    """The contender whose cost is 1 where tables show ratios."""
    costs: dict[str, Cost]
    claims: list[Claim]
    notes: list[str] = Field(default_factory=list)

    @property
    def key(self) -> tuple[str, int]:
        """A later finding with the same key replaces an earlier one."""
        return self.case, self.rollouts


class Machine(Strict):
    """The machine of the measurements."""

    cpu: str
    cores: int
    memory_gb: float
    system: str
    python: str
    versions: dict[str, str]


class Results(Strict):
    """All findings of one machine."""

    schema_version: Literal[1] = 1
    machine: Machine
    findings: list[Finding] = Field(default_factory=list)

    def with_finding(self, finding: Finding) -> "Results":
        """The results with this finding added or replaced."""
        others = [other for other in self.findings if other.key != finding.key]
        ordered = sorted([*others, finding], key=lambda one: one.rollouts)
        return Results(machine=self.machine, findings=ordered)

    def of(self, case: str) -> list[Finding]:
        """The findings of one case, by scale."""
        return [finding for finding in self.findings if finding.case == case]


def least(costs: list[Cost]) -> Cost:
    """The best of several rounds."""
    return reduce(Cost.least, costs)


def load(path: Path, machine: Machine) -> Results:
    """Read the saved results of this machine."""
    if path.exists():
        known = Results.model_validate_json(path.read_bytes())
        if known.machine == machine:
            return known
    return Results(machine=machine)


def save(results: Results, path: Path) -> None:
    """Save them as readable JSON."""
    path.write_text(results.model_dump_json(indent=2) + "\n", encoding="utf-8")
