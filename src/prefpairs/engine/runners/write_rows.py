"""Steps of phases that treat every row alike: each writes what becomes of a piece of the input.

The steps of the first round only count lines, so that those of the second one know the numbers of
theirs. What comes out is in the order of the input.
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import cast

import msgspec

from prefpairs.engine.candidate_reader import candidates_of, reading_inputs
from prefpairs.engine.pair_io import WHOLE, open_pairs
from prefpairs.engine.runners.index_candidates import (
    PieceReceipt,
    bad_rows,
    bad_rows_name,
    settle,
)
from prefpairs.engine.runners.phases import Phase, step_name
from prefpairs.engine.runners.step_output import StepOutput, Wrote, add_stages, write_output
from prefpairs.engine.runners.step_plan import Piece, Work
from prefpairs.engine.stage_runner import put_through_stages
from prefpairs.fields.cross_row_facts import Fact
from prefpairs.files.lines import count_lines
from prefpairs.files.open_input import open_input
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import candidate_line
from prefpairs.plan import InputPlan, Plan, ReadPlan

IS_EMPTY = " is empty"
"""How the note on an input without rows ends: of a piece, it would say nothing."""


class RowsReceipt(msgspec.Struct, array_like=True):
    """What became of the rows of a step."""

    pieces: list[PieceReceipt]
    wrote: Wrote


def count_rows(work: Work, phase: Phase, step: int) -> None:
    """Count the lines of the pieces of a step."""
    counted = []
    for piece in work.steps.pieces[step]:
        with open_input(work.plan.read.inputs[piece.input]) as opened:
            work.steps.inputs[piece.input].check(opened.seen)
            lines = count_lines(opened.descriptor, piece.start, piece.end) if piece.lines else 0
            counted.append(lines)
    name = step_name(phase.first, step)
    work.folder.create(name)
    work.write_receipt(name, counted)


def write_rows(work: Work, phase: Phase, step: int) -> None:
    """Write what becomes of the pieces of a step; the receipt comes last."""
    name = step_name(phase.last, step)
    before = _lines_before(work, phase, step)
    pieces: list[PieceReceipt] = []

    def put(out: StepOutput) -> None:
        for number, piece in enumerate(work.steps.pieces[step]):
            bad = work.folder.at(f"{name}/{bad_rows_name(number)}")
            quarantine = None if work.plan.read.quarantine is None else bad
            with piece_plan(work, piece, before[number], quarantine) as plan:
                if plan.makes == "candidates":
                    pieces.append(_write_candidates(plan.read, out))
                else:
                    pieces.append(_write_pairs(plan, out))

    wrote = write_output(work, phase, step, put)
    work.write_receipt(name, RowsReceipt(pieces, wrote))


def _lines_before(work: Work, phase: Phase, step: int) -> list[int]:
    """How many lines of its file come before each piece of a step."""
    lines: dict[int, int] = {}
    receipts = work.receipts(phase, 0, list[int])
    for number, (pieces, counted) in enumerate(zip(work.steps.pieces, receipts, strict=True)):
        before = []
        for piece, found in zip(pieces, counted, strict=True):
            before.append(lines.get(piece.input, 0))
            lines[piece.input] = before[-1] + found
        if number == step:
            return before
    return []


@contextmanager
def piece_plan(
    work: Work, piece: Piece, lines_before: int, quarantine: str | None
) -> Iterator[Plan]:
    """The plan for a piece. How many bad rows are too many shows when all steps are done."""
    part = (piece.start, piece.end, lines_before) if piece.lines else None
    source = work.plan.read.inputs[piece.input]._replace(part=part)
    stamped = work.steps.inputs[piece.input]
    stamped.check(os.stat(source.path))
    read = replace(work.plan.read, inputs=[source], quarantine=quarantine, max_errors=None)
    yield replace(work.plan, read=read)
    stamped.check(os.stat(source.path))


def _write_candidates(read: InputPlan, out: StepOutput) -> PieceReceipt:
    """Write the candidates of a piece."""
    ledger = Ledger()
    with (
        reading_inputs(cast("ReadPlan", read), ledger) as reader,
        closing(reader.inputs()) as inputs,
    ):
        given = next(inputs)
        for candidate in candidates_of(given.rows):
            if not reader.rows.failed:
                out.outputs[WHOLE].write(candidate_line(candidate))
                out.ledger.lines_written[WHOLE] += 1
        settle(reader)
    return _receipt(ledger, reader.formats.facts.all(), given.format.sources)


def _write_pairs(plan: Plan, out: StepOutput) -> PieceReceipt:
    """Write the pairs of a piece that pass all stages, and add their counts to those of a step."""
    ledger = Ledger()
    with open_pairs(plan, ledger) as pairs:
        put_through_stages(plan, pairs, out.outputs, ledger, out.facts)
    out.ledger.add_pair_counts(ledger.pair_counts())
    add_stages(out.ledger.stages, ledger.stages)
    for side, pairs_of_side in ledger.sides.items():
        out.ledger.sides[side] = out.ledger.sides.get(side, 0) + pairs_of_side
    return _receipt(ledger, [], [name for _, name in ledger.sources])


def _receipt(ledger: Ledger, facts: list[Fact], sources: list[str]) -> PieceReceipt:
    notes = [note for note in ledger.notes if not note.endswith(IS_EMPTY)]
    return PieceReceipt(0, ledger.row_counts(), bad_rows(ledger), facts, sources, notes, {})
