"""diff: two sets of pairs, each read in one pass and held without its texts."""

from dataclasses import dataclass

from prefpairs.analysis.pair_set_diff import PairSet
from prefpairs.engine.inputs.row_reader import Rows, reading_rows
from prefpairs.engine.pairs.pairs_from_files import pair_readings
from prefpairs.ledger import Ledger
from prefpairs.model.pair import THEIR_ID
from prefpairs.plan import InputPlan

_MOST_NAMES = 5
_OTHER_IDS = (
    "most ids are not those of their pairs, which prefpairs 0.1 wrote (another version of "
    "identity) or someone edited; pairs are compared by their content"
)


@dataclass(frozen=True, slots=True)
class DiffPlan:
    """Which pairs are compared with which."""

    before: InputPlan
    after: InputPlan


def read_both(plan: DiffPlan, ledgers: tuple[Ledger, Ledger]) -> tuple[PairSet, PairSet]:
    """The pairs of both sides. Bad rows of both go to the one file that is named for them."""
    with reading_rows(plan.before, ledgers[0]) as rows:
        before = _read(rows, plan.before)
        return before, _read(Rows(plan.after, ledgers[1], rows.quarantine), plan.after)


def _read(rows: Rows, plan: InputPlan) -> PairSet:
    found, others = PairSet(), 0
    for _, readings in pair_readings(rows, rows.ledger):
        for _, reading in readings:
            found.add(reading.pair, reading.digests)
            others += "id_renewed" in reading.noticed and THEIR_ID not in (reading.pair.meta or {})
    if 2 * others > found.pairs:
        names = ", ".join(given.label for given in plan.inputs[:_MOST_NAMES])
        rows.ledger.notes.append(f"{names}: {_OTHER_IDS}")
    return found
