"""Steps that pair the candidates of a bucket, and write the pairs."""

import os
from collections.abc import Iterator
from dataclasses import replace

import msgspec

from prefpairs.engine.inputs.candidate_reader import PairReceiver
from prefpairs.engine.pairs.pair_io import open_sink
from prefpairs.engine.pairs.pairs_from_candidates import PairsFromCandidates
from prefpairs.engine.pairs.stage_runner import put_through_stages
from prefpairs.engine.runners.bucket_columns import RowsCompared, Slice, join_slice
from prefpairs.engine.runners.index_candidates import (
    COLUMNS,
    SPOOL,
    PieceReceipt,
    opened_piece,
)
from prefpairs.engine.runners.phases import Phase, step_name
from prefpairs.engine.runners.step_output import StepOutput, Wrote, write_output
from prefpairs.engine.runners.step_plan import Piece, Work
from prefpairs.engine.store.candidate_store import CandidateStore
from prefpairs.errors import BadInput
from prefpairs.fields.row_outcome import read_candidate
from prefpairs.files.fetch_records import RecordFile
from prefpairs.files.file_system import errors_named
from prefpairs.files.input_file import Input
from prefpairs.ledger import PAIRING, Ledger
from prefpairs.plan import PairPlan


class PairReceipt(msgspec.Struct, array_like=True):
    """What became of a bucket."""

    candidates: int
    pairs: int
    """How many were made; stages may drop some of them."""
    constant_groups: int
    mixed_references: dict[str, int]
    repeated_items: int
    groups_of_several_tasks: int
    wrote: Wrote


def pieces_of(work: Work, phase: Phase) -> Iterator[tuple[int, Piece, PieceReceipt]]:
    """Every piece of the input with its step and what was found in it; raises if one is missing."""
    receipts = work.receipts(phase, 0, list[PieceReceipt])
    for step, (pieces, found) in enumerate(zip(work.steps.pieces, receipts, strict=True)):
        for piece, receipt in zip(pieces, found, strict=True):
            yield step, piece, receipt


class BucketStore(CandidateStore):
    """The candidates of one bucket, as the steps before found them."""

    def __init__(self, work: Work, phase: Phase, plan: PairPlan, bucket: int) -> None:
        super().__init__(plan)
        self.compared = RowsCompared()
        self._work = work
        self._phase = phase
        self._bucket = bucket
        self._numbers: dict[tuple[str, int], int] = {}
        """The numbers of record files: of inputs, and of the spools of steps."""

    def index(self, _: Ledger, __: PairReceiver | None = None) -> None:
        """Read the columns of the bucket from all pieces, in the order of the input."""
        lines_before: dict[int, int] = {}
        for step, piece, receipt in pieces_of(self._work, self._phase):
            place = receipt.slices.get(self._bucket)
            if place is not None:
                name = f"{step_name(self._phase.first, step)}/{COLUMNS}"
                content = self._work.folder.read_at(name, place.offset, place.length)
                try:
                    found = msgspec.msgpack.decode(content, type=Slice)
                except msgspec.DecodeError as error:
                    path = self._work.folder.at(name)
                    raise BadInput(path, f"byte {place.offset}: {error}") from None
                self.compared.add(found)
                if len(found):
                    self._begin(step, piece, receipt)
                    join_slice(self.columns, found, lines_before.get(piece.input, 0))
            before = lines_before.get(piece.input, 0)
            lines_before[piece.input] = before + receipt.lines

    def _begin(self, step: int, piece: Piece, receipt: PieceReceipt) -> None:
        """The candidates that follow come from this piece."""
        own = piece.lines or receipt.copied
        key = ("input", piece.input) if own else ("spool", step)
        if key in self._numbers:
            self.columns.begin_file(self._numbers[key])
            return
        self._numbers[key] = len(self._numbers)
        path = self._work.folder.at(f"{step_name(self._phase.first, step)}/{SPOOL}")
        if not own:
            self.columns.begin_file(self.records.add(_spooled(path), read_candidate))
            return
        with opened_piece(self._work, piece, Ledger()) as (_, given):
            if piece.lines:
                self.begin_file(given)
            else:
                self.add_file(_spooled(path), given.format.how, given.source.label)


def _spooled(path: str) -> RecordFile:
    """The spool of a step."""
    with errors_named(path):
        return RecordFile(Input(path, path), os.stat(path))


def pair_bucket(work: Work, phase: Phase, bucket: int) -> None:
    """Write the pairs of a bucket; the receipt comes last."""
    assert work.plan.pair is not None
    workers = work.plan.pair.options.workers or 1
    plan = replace(work.plan.pair, options=replace(work.plan.pair.options, workers=workers))
    with BucketStore(work, phase, plan, bucket) as store:
        made = 0

        def put(out: StepOutput) -> None:
            nonlocal made
            pairs, then = PairsFromCandidates(plan, store, out.ledger), out.leaving(phase.plan)
            if then.stages or then.split is not None:
                put_through_stages(then, pairs, out.outputs, out.ledger, out.facts)
            else:
                with open_sink(out.outputs, out.ledger, then) as sink:
                    pairs.put_all(sink)
            made = _made(out.ledger)
            store.check()

        wrote = write_output(work, phase, bucket, put)
    receipt = PairReceipt(
        len(store.columns),
        made,
        store.columns.constant_groups(),
        store.mixed_references(),
        store.compared.repeated_items,
        store.columns.groups_of_several_tasks,
        wrote,
    )
    work.write_receipt(step_name(phase.last, bucket), receipt)


def _made(ledger: Ledger) -> int:
    """How many pairs were made, before any stage dropped some of them."""
    found = (stage.found for stage in ledger.stages if stage.name != PAIRING)
    return next(found, ledger.pairs)
