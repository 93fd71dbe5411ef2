"""The phases of a run in steps, and the rounds of each.

The steps of a round may be done at the same time, in any order; a round needs all steps of the one
before. A phase ends with pairs: those in the files of its last round are what the next phase reads,
or the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prefpairs.plan import Plan
from prefpairs.stages.base import Stage
from prefpairs.stages.dedupe import Dedupe

PAIR, ROWS, DEDUPE, DATASET = "pair", "rows", "dedupe", "dataset"


@dataclass(frozen=True)
class Phase:
    """Rounds that begin with the inputs, or with the pairs of an earlier phase."""

    kind: str
    """`pair`: candidates are divided into buckets by their groups, each of which is then paired.
    `rows`: what becomes of a row depends on nothing but the row.
    `dedupe`: pairs are divided into buckets by their prompts, in each of which it is decided which
    pairs survive, and those are written in the order of the input.
    `dataset`: rows of a trainer are arranged, each step those of a step before."""
    first: int
    """The number of its first round."""
    sizes: tuple[int, ...]
    """How many steps each of its rounds has."""
    plan: Plan
    """What its last round does with pairs: all stages that they pass, and the split."""
    dedupe: Dedupe | None = None
    before: Sequence[Stage] = ()
    """The stages that pairs pass before that."""
    reads: int | None = None
    """The round whose files it reads; without one, the inputs of the run."""
    is_last: bool = True
    """Whether it writes the results; if not, there is another phase that reads what it writes."""

    @property
    def last(self) -> int:
        """The number of its last round."""
        return self.first + len(self.sizes) - 1


def phases_of(plan: Plan, reading: int, parts: int) -> Sequence[Phase]:
    """The phases of a plan: so many steps read its inputs, and `pair` has so many buckets.

    A stage that treats every pair alike is part of the phase before it.
    """
    head: list[Stage] = []
    compared: list[tuple[Dedupe, list[Stage]]] = []
    for stage in plan.stages:
        if isinstance(stage, Dedupe):
            compared.append((stage, []))
        else:
            (compared[-1][1] if compared else head).append(stage)
    phases: list[Phase] = []
    if plan.pair is not None:
        phases.append(Phase(PAIR, 1, (reading, parts), replace(plan, pair=None, stages=head)))
    elif not compared:
        phases.append(Phase(ROWS, 1, (reading, reading), plan))
    for dedupe, after in compared:
        sizes = (phases[-1].sizes[-1] if phases else reading,) * 3
        reads = phases[-1].last if phases else None
        before = [] if phases else head
        own = replace(plan, pair=None, stages=after)
        phases.append(Phase(DEDUPE, (reads or 0) + 1, sizes, own, dedupe, before, reads))
    between = [
        replace(phase, plan=replace(phase.plan, split=None, export=None), is_last=False)
        for phase in phases[:-1]
    ]
    last = phases[-1]
    if plan.export is None or not plan.export.target.typed:
        return [*between, last]
    return [*between, last, Phase(DATASET, last.last + 1, last.sizes[-1:], last.plan)]


def step_name(number: int, step: int) -> str:
    """The folder of a step of a round."""
    return f"{number}/{step:05}"
