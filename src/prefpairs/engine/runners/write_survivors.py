"""Steps that write the pairs of a step that survived `dedupe`, and passed the stages after it."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import compress

import msgspec

from prefpairs.engine.pairs.pair_io import Lines, open_pairs
from prefpairs.engine.pairs.pairs_from_files import PairsFromFiles
from prefpairs.engine.pairs.stage_runner import put_through_stages
from prefpairs.engine.runners.decide_bucket import SURVIVORS, DecideReceipt
from prefpairs.engine.runners.index_pairs import IndexReceipt
from prefpairs.engine.runners.pair_pieces import piece_plan, pieces_of_step
from prefpairs.engine.runners.phases import Phase, step_name
from prefpairs.engine.runners.step_output import StepOutput, Wrote, write_output
from prefpairs.engine.runners.step_plan import Work
from prefpairs.ledger import Ledger
from prefpairs.model.pair import Pair
from prefpairs.stages.base import IndexedPair
from prefpairs.stages.pair_columns import PairColumns


class SurvivorsReceipt(msgspec.Struct, array_like=True):
    """How many pairs survived, and what became of them."""

    found: int
    wrote: Wrote


class _Survivors:
    """The pairs of a piece that survive, of which so many rows come before."""

    def __init__(self, pairs: PairsFromFiles, survives: bytearray, before: int) -> None:
        self._pairs = pairs
        self._survives = survives
        self._before = before
        self.found = 0

    def blocks(self) -> Iterator[PairColumns]:
        """The pairs, some at a time."""
        for block in self._pairs.blocks():
            numbers = map(self._before.__add__, block.numbers)
            slots = [*compress(range(len(block)), map(self._survives.__getitem__, numbers))]
            self.found += len(slots)
            yield block if len(slots) == len(block) else block.of(slots)

    def pair(self, entry: IndexedPair) -> Pair:
        """The pair of an entry."""
        return self._pairs.pair(entry)

    def pair_in(self, pairs: PairColumns, slot: int) -> Pair:
        """The pair in a slot."""
        return self._pairs.pair_in(pairs, slot)

    def lines(self, pairs: PairColumns) -> Iterator[tuple[Sequence[int], Lines]]:
        """All slots in order, some at a time, with their lines if these can be copied."""
        return self._pairs.lines(pairs)


def write_survivors(work: Work, phase: Phase, step: int) -> None:
    """Write what survived of the pieces of a step; the receipt comes last."""
    rows = work.needed(phase, 0, step, IndexReceipt).rows
    survives = _survivors(work, phase, step, rows)
    found = 0

    def put(out: StepOutput) -> None:
        nonlocal found
        before = 0
        for piece in pieces_of_step(work, phase, step):
            ledger = Ledger()
            with piece_plan(work, phase, piece) as plan, open_pairs(plan, ledger) as pairs:
                assert isinstance(pairs, PairsFromFiles)
                survivors = _Survivors(pairs, survives, before)
                then = out.leaving(plan)
                put_through_stages(then, survivors, out.outputs, ledger, out.facts)
            out.ledger.lines_written.update(ledger.lines_written)
            found += survivors.found
            before += ledger.rows_read
            out.add(ledger)

    wrote = write_output(work, phase, step, put)
    work.write_receipt(step_name(phase.last, step), SurvivorsReceipt(found, wrote))


def _survivors(work: Work, phase: Phase, step: int, rows: int) -> bytearray:
    """For each row of a step whether its pair survives; rows are counted from 1."""
    survives = bytearray(rows + 1)
    for bucket, receipt in enumerate(work.receipts(phase, 1, DecideReceipt)):
        place = receipt.survivors.get(step)
        if place is not None:
            name = f"{step_name(phase.first + 1, bucket)}/{SURVIVORS}"
            for number in array("I", work.folder.read_at(name, place.offset, place.length)):
                survives[number] = 1
    return survives
