"""What was measured, as `.bench/results.json` holds it. No host names, no paths."""

from functools import reduce
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

GROWTH = "growth"
"""The case under which the main job at all scales is kept, beside its own tables."""


class Strict(BaseModel):
    """Frozen, and nothing besides what is named."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Cost(Strict):
    """What a run cost: seconds, seconds of the whole process tree, bytes of its largest process.

    >>> Cost(wall=2, cpu=3, peak=4).least(Cost(wall=1, cpu=5, peak=6))
    Cost(wall=1.0, cpu=3.0, peak=4)
    """

    wall: float
    cpu: float
    peak: int

    def least(self, other: "Cost") -> "Cost":
        """The better of both, each figure by itself."""
        return Cost(
            wall=min(self.wall, other.wall),
            cpu=min(self.cpu, other.cpu),
            peak=min(self.peak, other.peak),
        )


class Claim(Strict):
    """A figure, and the bound that it is to keep.

    >>> Claim(what="CPU against a loop", value=1.4, bound=1.5, unit="x").met
    True
    """

    what: str
    value: float
    bound: float
    unit: str
    least: bool = False
    """Whether the bound is the least the figure may be, instead of the most."""

    @property
    def met(self) -> bool:
        """Whether it keeps it."""
        return self.value >= self.bound if self.least else self.value <= self.bound


class Finding(Strict):
    """One case at one scale."""

    case: str
    title: str
    rollouts: int
    input_bytes: int
    rounds: int
    baseline: str
    """Whose cost is 1 where the table shows ratios."""
    costs: dict[str, Cost]
    claims: list[Claim]
    notes: list[str] = Field(default_factory=list)

    @property
    def key(self) -> tuple[str, int]:
        """A later finding replaces the one of the same key."""
        return self.case, self.rollouts


class Machine(Strict):
    """Where it was measured."""

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
        """The same, with this finding in its place."""
        others = [other for other in self.findings if other.key != finding.key]
        ordered = sorted([*others, finding], key=lambda one: one.rollouts)
        return Results(machine=self.machine, findings=ordered)

    def of(self, case: str) -> list[Finding]:
        """The findings of one case, small to large."""
        return [finding for finding in self.findings if finding.case == case]


def least(costs: list[Cost]) -> Cost:
    """The best of several rounds."""
    return reduce(Cost.least, costs)


def load(path: Path, machine: Machine) -> Results:
    """What is known of this machine so far."""
    if path.exists():
        known = Results.model_validate_json(path.read_bytes())
        if known.machine == machine:
            return known
    return Results(machine=machine)


def save(results: Results, path: Path) -> None:
    """Write it, readable."""
    path.write_text(results.model_dump_json(indent=2) + "\n", encoding="utf-8")
