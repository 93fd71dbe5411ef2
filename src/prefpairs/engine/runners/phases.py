"""The phases of a run in steps, and the rounds of each.

The steps of a round may be done at the same time, in any order; a round needs all steps of the one
before. A phase ends with pairs: those in the files of its last round are what the next phase reads,
or the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prefpairs.plan import Plan

PAIR, ROWS = "pair", "rows"


@dataclass(frozen=True)
class Phase:
    """Rounds that begin with the inputs, or with the pairs of an earlier phase."""

    kind: str
    """`pair`: candidates are divided into buckets by their groups, each of which is then paired.
    `rows`: what becomes of a row depends on nothing but the row."""
    first: int
    """The number of its first round."""
    sizes: tuple[int, ...]
    """How many steps each of its rounds has."""
    plan: Plan
    """What its last round does with pairs: all stages that they pass, and the split."""

    @property
    def last(self) -> int:
        """The number of its last round."""
        return self.first + len(self.sizes) - 1


def phases_of(plan: Plan, reading: int, parts: int) -> Sequence[Phase]:
    """The phases of a plan: so many steps read its inputs, and `pair` has so many buckets."""
    if plan.pair is not None:
        return [Phase(PAIR, 1, (reading, parts), replace(plan, pair=None))]
    return [Phase(ROWS, 1, (reading, reading), plan)]


def step_name(number: int, step: int) -> str:
    """The folder of a step of a round."""
    return f"{number}/{step:05}"
