"""Steps of the second kind: the candidates of a bucket are paired, and the pairs written."""

import os
from collections.abc import Iterator
from dataclasses import replace
from shlex import quote

import msgspec

from prefpairs.engine.candidate_reader import PairReceiver
from prefpairs.engine.candidate_store import CandidateStore
from prefpairs.engine.pair_io import WHOLE, open_sink
from prefpairs.engine.pairs_from_candidates import PairsFromCandidates
from prefpairs.engine.runners.bucket_columns import RowsCompared, Slice, join_slice
from prefpairs.engine.runners.map_step import (
    COLUMNS,
    SPOOL,
    PieceReceipt,
    opened_piece,
)
from prefpairs.engine.runners.step_plan import Piece, Work, map_name, reduce_name
from prefpairs.errors import BadInput, UsageError
from prefpairs.fields.make_candidate import read_candidate
from prefpairs.files.fetch_records import RecordFile
from prefpairs.files.file_system import errors_named
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.input_file import Input
from prefpairs.files.output import open_output
from prefpairs.ledger import Ledger, PairCounts
from prefpairs.plan import PairPlan


class Written(msgspec.Struct, array_like=True):
    """A file of a part."""

    name: str
    size: int
    sha256: str
    records: int


class PartReceipt(msgspec.Struct, array_like=True):
    """What became of a bucket."""

    candidates: int
    counts: PairCounts
    constant_groups: int
    repeated_items: int
    groups_of_several_tasks: int
    written: Written


def pieces_of(work: Work) -> Iterator[tuple[int, Piece, PieceReceipt]]:
    """Every piece of the input with its step and what was found in it; raises if one is missing."""
    for step, pieces in enumerate(work.steps.pieces):
        found = work.receipt(map_name(step), list[PieceReceipt])
        if found is None:
            raise not_done(work, "map", step, len(work.steps.pieces))
        for piece, receipt in zip(pieces, found, strict=True):
            yield step, piece, receipt


def not_done(work: Work, kind: str, step: int, steps: int) -> UsageError:
    """The error of a step that comes before another one, which must be run first."""
    folder = quote(work.results)
    problem = f"{folder}: step {kind} {step}/{steps} is not done"
    return UsageError(problem, f"`prefpairs shards {kind} {folder} {step}/{steps}` does it")


class BucketStore(CandidateStore):
    """The candidates of one bucket, as the steps before found them."""

    def __init__(self, work: Work, plan: PairPlan, bucket: int) -> None:
        super().__init__(plan)
        self.compared = RowsCompared()
        self._work = work
        self._bucket = bucket
        self._numbers: dict[tuple[str, int], int] = {}
        """The numbers of record files: of inputs, and of the spools of steps."""

    def index(self, _: Ledger, __: PairReceiver | None = None) -> None:
        """Read the columns of the bucket from all pieces, in the order of the input."""
        lines_before: dict[int, int] = {}
        for step, piece, receipt in pieces_of(self._work):
            place = receipt.slices.get(self._bucket)
            if place is not None:
                name = f"{map_name(step)}/{COLUMNS}"
                content = self._work.folder.read_at(name, place.offset, place.length)
                try:
                    found = msgspec.msgpack.decode(content, type=Slice)
                except msgspec.DecodeError as error:
                    path = self._work.folder.at(name)
                    raise BadInput(path, f"byte {place.offset}: {error}") from None
                self.compared.add(found)
                if len(found):
                    self._begin(step, piece)
                    join_slice(self.columns, found, lines_before.get(piece.input, 0))
            before = lines_before.get(piece.input, 0)
            lines_before[piece.input] = before + receipt.lines

    def _begin(self, step: int, piece: Piece) -> None:
        """The candidates that follow come from this piece."""
        key = ("input", piece.input) if piece.lines else ("spool", step)
        if key in self._numbers:
            self.columns.begin_file(self._numbers[key])
            return
        self._numbers[key] = len(self._numbers)
        if piece.lines:
            with opened_piece(self._work, piece, Ledger()) as (_, given):
                self.begin_file(given)
        else:
            path = self._work.folder.at(f"{map_name(step)}/{SPOOL}")
            with errors_named(path):
                file = RecordFile(Input(path, path), os.stat(path))
            self.columns.begin_file(self.records.add(file, read_candidate))


def run_reduce(work: Work, part: int) -> None:
    """Write the pairs of a bucket; the receipt comes last."""
    name, file = reduce_name(part), part_name(part, work.steps.parts)
    path = work.folder.at(f"{name}/{file}")
    work.folder.create(name)
    ledger, plan = Ledger(), work.plan
    assert plan.pair is not None
    workers = plan.pair.options.workers or 1
    pairing = replace(plan.pair, options=replace(plan.pair.options, workers=workers))
    with (
        BucketStore(work, pairing, part) as store,
        FileTransaction(hashed=True) as transaction,
    ):
        with (
            open_output(path, transaction=transaction) as output,
            open_sink({WHOLE: output}, ledger, plan) as sink,
        ):
            PairsFromCandidates(pairing, store, ledger).put_all(sink)
        store.check()
        size, sha256 = transaction.digest_of(path)
    work.write_receipt(
        name,
        PartReceipt(
            len(store.columns),
            ledger.pair_counts()._replace(example=None),
            store.columns.constant_groups(),
            store.compared.repeated_items,
            store.compared.groups_of_several_tasks,
            Written(file, size, sha256, ledger.lines_written[WHOLE]),
        ),
    )


def part_name(part: int, parts: int) -> str:
    """The name of a file of the results.

    >>> part_name(42, 256)
    'part-00042-of-00256.jsonl'
    """
    return f"part-{part:05}-of-{parts:05}.jsonl"
