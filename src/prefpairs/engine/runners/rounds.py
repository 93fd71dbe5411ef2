"""The rounds of a run in steps, one after the other: what a step of each does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prefpairs.engine.runners.arrange_rows import arrange_rows
from prefpairs.engine.runners.decide_bucket import decide_bucket
from prefpairs.engine.runners.index_candidates import index_candidates
from prefpairs.engine.runners.index_pairs import index_pairs
from prefpairs.engine.runners.pair_bucket import pair_bucket
from prefpairs.engine.runners.phases import DATASET, DEDUPE, PAIR, ROWS, Phase, step_name
from prefpairs.engine.runners.step_plan import Work
from prefpairs.engine.runners.write_rows import count_rows, write_rows
from prefpairs.engine.runners.write_survivors import write_survivors
from prefpairs.ledger import Activity

Do = Callable[[Work, Phase, int], None]

_ROUNDS: Mapping[str, Sequence[tuple[str, Activity, Do]]] = {
    PAIR: (("index", "reading", index_candidates), ("pair", "writing", pair_bucket)),
    DEDUPE: (
        ("index", "reading", index_pairs),
        ("decide", "comparing", decide_bucket),
        ("write", "writing", write_survivors),
    ),
    ROWS: (("count", "reading", count_rows), ("write", "writing", write_rows)),
    DATASET: (("arrange", "writing", arrange_rows),),
}
"""The word for each round of a phase, what the progress bar calls it, and what a step does."""


@dataclass(frozen=True)
class Round:
    """Steps that may be done at the same time."""

    work: Work
    phase: Phase
    number: int
    """Rounds are counted from 1."""
    word: str
    activity: Activity
    steps: int
    _do: Do

    def is_done(self, step: int) -> bool:
        """Whether a step is done."""
        return self.work.is_done(step_name(self.number, step))

    def do(self, step: int) -> None:
        """Do a step."""
        self._do(self.work, self.phase, step)


def rounds_of(work: Work) -> list[Round]:
    """All rounds of a run."""
    return [
        Round(work, phase, phase.first + place, word, activity, steps, do)
        for phase in work.phases
        for place, (steps, (word, activity, do)) in enumerate(
            zip(phase.sizes, _ROUNDS[phase.kind], strict=True)
        )
    ]
