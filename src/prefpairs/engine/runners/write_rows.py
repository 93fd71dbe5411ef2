"""Steps of phases that treat every row alike: each writes what becomes of a piece of the input.

The steps of the first round only count lines, so that those of the second one know the numbers of
theirs. What comes out is in the order of the input.
"""

from contextlib import closing
from typing import cast

import msgspec

from prefpairs.engine.inputs.candidate_reader import candidates_of, reading_inputs
from prefpairs.engine.pairs.pair_io import WHOLE, open_pairs, open_sink
from prefpairs.engine.pairs.stage_runner import put_through_stages
from prefpairs.engine.runners.held_out import (
    has_several_sides,
    is_held_out,
    owners_of_prompts,
    prompts_of,
    write_prompts,
)
from prefpairs.engine.runners.index_candidates import (
    PieceReceipt,
    piece_receipt,
    quarantine_of,
    settle,
)
from prefpairs.engine.runners.pair_pieces import piece_plan
from prefpairs.engine.runners.phases import Phase, step_name
from prefpairs.engine.runners.step_output import StepOutput, Wrote, write_output
from prefpairs.engine.runners.step_plan import Work
from prefpairs.files.lines import count_lines
from prefpairs.files.open_input import open_input
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import candidate_line
from prefpairs.plan import InputPlan, Plan, ReadPlan
from prefpairs.stages.split_sides import SideOwners


class RowsReceipt(msgspec.Struct, array_like=True):
    """What became of the rows of a step."""

    pieces: list[PieceReceipt]
    wrote: Wrote


def count_rows(work: Work, phase: Phase, step: int) -> None:
    """Count the lines of the pieces of a step, and find the prompts of val and test."""
    counted, prompts = [], dict[str, set[bytes]]()
    for piece in work.steps.pieces[step]:
        with open_input(work.plan.read.inputs[piece.input]) as opened:
            work.steps.inputs[piece.input].check(opened.seen)
            lines = count_lines(opened.descriptor, piece.start, piece.end) if piece.lines else 0
            counted.append(lines)
        if has_several_sides(work.plan):
            with piece_plan(work, phase, piece) as plan:
                if is_held_out(plan):
                    side = next(iter(plan.sides.values()))
                    prompts.setdefault(side, set()).update(prompts_of(plan))
    name = step_name(phase.first, step)
    work.folder.create(name)
    write_prompts(work, name, prompts)
    work.write_receipt(name, counted)


def write_rows(work: Work, phase: Phase, step: int) -> None:
    """Write what becomes of the pieces of a step; the receipt comes last."""
    name = step_name(phase.last, step)
    before = _lines_before(work, phase, step)
    pieces: list[PieceReceipt] = []
    kept = owners_of_prompts(work, phase) if has_several_sides(work.plan) else None

    def put(out: StepOutput) -> None:
        for number, piece in enumerate(work.steps.pieces[step]):
            quarantine = quarantine_of(work, name, number)
            with piece_plan(work, phase, piece, before[number], quarantine) as plan:
                if plan.makes == "candidates":
                    pieces.append(_write_candidates(plan.read, out))
                else:
                    pieces.append(_write_pairs(plan, out, kept))

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
    return piece_receipt(ledger, given.format.sources, reader.formats.facts.all(), {})


def _write_pairs(plan: Plan, out: StepOutput, kept: SideOwners | None) -> PieceReceipt:
    """Write the pairs of a piece that pass all stages, and add their counts to those of a step."""
    ledger, plan = Ledger(), out.leaving(plan)
    ledger.sides = dict.fromkeys(plan.sides.values(), 0)
    with open_pairs(plan, ledger) as pairs:
        if plan.export is None or plan.stages or plan.split is not None:
            put_through_stages(plan, pairs, out.outputs, ledger, out.facts)
        else:
            with open_sink(out.outputs, ledger, plan, kept) as sink:
                pairs.put_all(sink)
    out.ledger.lines_written.update(ledger.lines_written)
    out.add(ledger)
    return piece_receipt(ledger, [name for _, name in ledger.sources], [], {})
