"""Steps of commands that treat every row alike: each writes what becomes of a piece of the input.

The steps of the first kind only count lines, so that those of the second kind know the numbers of
theirs. What comes out is in the order of the input.
"""

import os
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from typing import cast

import msgspec

from prefpairs.engine.candidate_reader import candidates_of, reading_inputs
from prefpairs.engine.pair_io import WHOLE, open_pairs, open_sink
from prefpairs.engine.runners.map_step import (
    PieceReceipt,
    bad_rows,
    bad_rows_name,
    settle,
)
from prefpairs.engine.runners.reduce_step import Written, not_done, part_name
from prefpairs.engine.runners.step_plan import Work, map_name, reduce_name
from prefpairs.engine.stage_runner import through_stages
from prefpairs.fields.choose_field import Fact
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.input_file import Input
from prefpairs.files.lines import count_lines
from prefpairs.files.open_input import open_input
from prefpairs.files.output import Output, open_output
from prefpairs.ledger import Ledger, PairCounts, StageCounts
from prefpairs.model.candidate import candidate_line
from prefpairs.plan import InputPlan, Plan, ReadPlan

IS_EMPTY = " is empty"
"""How the note on an input without rows ends: of a piece, it would say nothing."""


class StageReceipt(msgspec.Struct, array_like=True):
    """What a stage did with the pairs of a step."""

    name: str
    found: int
    dropped: dict[str, int]
    noticed: dict[str, int]


class RowsReceipt(msgspec.Struct, array_like=True):
    """What became of the rows of a step."""

    pieces: list[PieceReceipt]
    counts: PairCounts
    stages: list[StageReceipt]
    written: Written


def run_count(work: Work, step: int) -> None:
    """Count the lines of the pieces of a step."""
    counted = []
    for piece in work.steps.pieces[step]:
        with open_input(work.plan.read.inputs[piece.input]) as opened:
            work.steps.inputs[piece.input].check(opened.seen)
            lines = count_lines(opened.descriptor, piece.start, piece.end) if piece.lines else 0
            counted.append(lines)
    work.folder.create(map_name(step))
    work.write_receipt(map_name(step), counted)


def run_write(work: Work, step: int) -> None:
    """Write what becomes of the pieces of a step; the receipt comes last."""
    name, file = reduce_name(step), part_name(step, work.steps.parts)
    path = work.folder.at(f"{name}/{file}")
    before = _lines_before(work, step)
    work.folder.create(name)
    whole, pieces = Ledger(), []
    with FileTransaction(hashed=True) as transaction:
        with open_output(path, transaction=transaction) as output:
            for number, piece in enumerate(work.steps.pieces[step]):
                quarantine = None
                if work.plan.read.quarantine is not None:
                    quarantine = work.folder.at(f"{name}/{bad_rows_name(number)}")
                part = (piece.start, piece.end, before[number]) if piece.lines else None
                source = work.plan.read.inputs[piece.input]._replace(part=part)
                stamped = work.steps.inputs[piece.input]
                stamped.check(os.stat(source.path))
                plan = _plan_of(source, work.plan, quarantine)
                if plan.makes == "candidates":
                    pieces.append(_write_candidates(plan.read, output))
                else:
                    pieces.append(_write_pairs(plan, output, whole))
                stamped.check(os.stat(source.path))
        size, sha256 = transaction.digest_of(path)
    work.write_receipt(
        name,
        RowsReceipt(
            pieces,
            whole.pair_counts()._replace(example=None),
            [StageReceipt(it.name, it.found, it.dropped, it.noticed) for it in whole.stages],
            Written(file, size, sha256, whole.lines_written[WHOLE]),
        ),
    )


def _lines_before(work: Work, step: int) -> list[int]:
    """How many lines of its file come before each piece of a step."""
    lines: dict[int, int] = {}
    for number, pieces in enumerate(work.steps.pieces):
        counted = work.receipt(map_name(number), list[int])
        if counted is None:
            raise not_done(work, "map", number, len(work.steps.pieces))
        before = []
        for piece, found in zip(pieces, counted, strict=True):
            before.append(lines.get(piece.input, 0))
            lines[piece.input] = before[-1] + found
        if number == step:
            return before
    return []


def _plan_of(source: Input, plan: Plan, quarantine: str | None) -> Plan:
    """The plan for a piece. How many bad rows are too many shows when all steps are done."""
    read = replace(plan.read, inputs=[source], quarantine=quarantine, max_errors=None)
    return replace(plan, read=read)


def _write_candidates(read: InputPlan, output: Output) -> PieceReceipt:
    """Write the candidates of a piece."""
    ledger = Ledger()
    with (
        reading_inputs(cast("ReadPlan", read), ledger) as reader,
        closing(reader.inputs()) as inputs,
    ):
        given = next(inputs)
        for candidate in candidates_of(given.rows):
            if not reader.rows.failed:
                output.write(candidate_line(candidate))
        settle(reader)
    return _receipt(ledger, reader.formats.facts.all(), given.format.sources)


def _write_pairs(plan: Plan, output: Output, whole: Ledger) -> PieceReceipt:
    """Write the pairs of a piece that pass all stages, and add their counts to those of a step."""
    ledger = Ledger()
    with (
        open_pairs(plan, ledger) as pairs,
        open_sink({WHOLE: output}, ledger, plan) as sink,
    ):
        for block, sides in through_stages(plan, pairs, ledger, None):
            sink.take(block, pairs, sides)
    whole.add_pair_counts(ledger.pair_counts())
    add_stages(whole, ledger.stages)
    return _receipt(ledger, [], [name for _, name in ledger.sources])


def _receipt(ledger: Ledger, facts: list[Fact], sources: list[str]) -> PieceReceipt:
    notes = [note for note in ledger.notes if not note.endswith(IS_EMPTY)]
    return PieceReceipt(0, ledger.row_counts(), bad_rows(ledger), facts, sources, notes, {})


def add_stages(ledger: Ledger, stages: Iterable[StageCounts | StageReceipt]) -> None:
    """Add what stages did elsewhere to the same stages of a ledger."""
    for place, stage in enumerate(stages):
        if place == len(ledger.stages):
            ledger.stages.append(StageCounts(stage.name))
        ledger.stages[place].found += stage.found
        ledger.stages[place].dropped.update(stage.dropped)
        ledger.stages[place].noticed.update(stage.noticed)
