"""Steps that index pieces of pairs, and divide the columns of pairs into buckets by prompt."""

from array import array
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import msgspec

from prefpairs.engine.pairs.pair_io import open_pairs
from prefpairs.engine.pairs.pairs_from_files import PairsFromFiles
from prefpairs.engine.pairs.stage_runner import counted, staged
from prefpairs.engine.runners.bucket_columns import bucket_of
from prefpairs.engine.runners.index_candidates import (
    COLUMNS,
    SPOOL,
    LineSpool,
    PieceReceipt,
    Place,
    piece_receipt,
    quarantine_of,
)
from prefpairs.engine.runners.pair_pieces import piece_plan, pieces_of_step, source_of
from prefpairs.engine.runners.phases import Phase, step_name
from prefpairs.engine.runners.step_output import StageReceipt, add_stages, stage_receipts
from prefpairs.engine.runners.step_plan import Piece, Work
from prefpairs.errors import DataError, UsageError
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.lines import count_lines
from prefpairs.files.open_input import open_input
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.model.pair import pair_line
from prefpairs.plan import Plan
from prefpairs.stages.digest_table import digest_at
from prefpairs.stages.pair_columns import PairColumns


class IndexReceipt(msgspec.Struct, array_like=True):
    """What was found in the pieces of a step."""

    pieces: list[PieceReceipt]
    rows: int
    """How many rows there are: they are numbered from 1."""
    stages: list[StageReceipt]
    """What became of pairs up to the one in which they are compared."""


class _Indexed(NamedTuple):
    """What was found in a piece."""

    ledger: Ledger
    stage: StageCounts
    buckets: dict[int, PairColumns]


def index_pairs(work: Work, phase: Phase, step: int) -> None:
    """Index the pieces of a step; columns first, then the receipt."""
    name = step_name(phase.first, step)
    work.folder.create(name)
    receipts: list[PieceReceipt] = []
    stages: list[StageCounts] = []
    rows = offset = 0
    with (
        FileTransaction() as files,
        work.folder.open(f"{name}/{COLUMNS}", files) as columns,
        work.folder.open(f"{name}/{SPOOL}", files) as lines,
    ):
        spool = LineSpool(lines)
        for number, piece in enumerate(pieces_of_step(work, phase, step)):
            quarantine = quarantine_of(work, name, number)
            found = _index(work, phase, piece, quarantine, spool)
            places: dict[int, Place] = {}
            for bucket in sorted(found.buckets):
                pairs = found.buckets.pop(bucket)
                pairs.numbers = array("Q", map(rows.__add__, pairs.numbers))
                content = msgspec.msgpack.encode(pairs.as_bytes())
                columns.write(content)
                places[bucket] = Place(offset, len(content), len(pairs))
                offset += len(content)
            add_stages(stages, [*found.ledger.stages, found.stage])
            rows += found.ledger.rows_read
            sources = [source for _, source in found.ledger.sources]
            receipts.append(piece_receipt(found.ledger, sources, [], places))
    work.write_receipt(name, IndexReceipt(receipts, rows, stage_receipts(stages)))


def _index(
    work: Work, phase: Phase, piece: Piece, quarantine: str | None, spool: LineSpool
) -> _Indexed:
    """Index a piece. How many lines come before it is only counted if a row is bad."""
    if not piece.lines:
        with piece_plan(work, phase, piece, 0, quarantine) as plan:
            return _index_rows(phase, plan, spool)
    with suppress(DataError, UsageError), piece_plan(work, phase, piece) as plan:
        found = _index_rows(phase, plan, None)
        if not found.ledger.rows_bad:
            return found
    with open_input(source_of(work, phase, piece)) as opened:
        lines = count_lines(opened.descriptor, opened.lines_from or 0, piece.start)
    with piece_plan(work, phase, piece, lines, quarantine) as plan:
        return _index_rows(phase, plan, None)


def _index_rows(phase: Phase, plan: Plan, spool: LineSpool | None) -> _Indexed:
    """Index the pairs of a piece that are to be compared."""
    dedupe = phase.dedupe
    assert dedupe is not None
    ledger, stage = Ledger(), StageCounts(dedupe.name)
    buckets: dict[int, PairColumns] = {}
    plan = replace(plan, stages=phase.before, split=None)
    with open_pairs(plan, ledger, "places" if spool is None else "nothing") as pairs:
        assert isinstance(pairs, PairsFromFiles)
        passed = counted(staged(pairs.blocks(), pairs, plan, ledger, dedupe.needs), stage)
        for block in dedupe.not_in_reference(passed, pairs, stage):
            if spool is not None:
                lines = [pair_line(pairs.pair(entry)) for entry in block]
                block.places = array("Q", map(spool.append, lines))
                block.lengths = array("I", map(len, lines))
            for bucket, slots in _by_bucket(block, phase.sizes[1]):
                buckets.setdefault(bucket, PairColumns()).extend(block.of(slots))
    return _Indexed(ledger, stage, buckets)


def _by_bucket(block: PairColumns, buckets: int) -> Iterable[tuple[int, list[int]]]:
    """The slots of the pairs of each bucket."""
    slots: dict[int, list[int]] = {}
    prompts = block.digests("prompt")
    for slot in range(len(block)):
        slots.setdefault(bucket_of(digest_at(prompts, slot), buckets), []).append(slot)
    return slots.items()
