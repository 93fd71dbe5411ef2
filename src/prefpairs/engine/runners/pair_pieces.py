"""What the steps of a phase read, if it reads pairs: pieces of the input, or files of a phase."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from prefpairs.engine.runners.phases import Phase, step_name
from prefpairs.engine.runners.step_output import BETWEEN
from prefpairs.engine.runners.step_plan import Piece, Work
from prefpairs.files.file_system import errors_named
from prefpairs.files.input_file import Input
from prefpairs.plan import InputPlan, Plan
from prefpairs.sources.detect import PAIRS


def pieces_of_step(work: Work, phase: Phase, step: int) -> Sequence[Piece]:
    """The pieces that a step reads."""
    if phase.reads is None:
        return work.steps.pieces[step]
    path = _between(work, phase, step)
    with errors_named(path):
        return [Piece(step, 0, os.path.getsize(path), lines=True)]


@contextmanager
def piece_plan(
    work: Work, phase: Phase, piece: Piece, lines_before: int = 0, quarantine: str | None = None
) -> Iterator[Plan]:
    """The plan for a piece. How many bad rows are too many shows when all steps are done."""
    source = source_of(work, phase, piece)
    part = (piece.start, piece.end, lines_before) if piece.lines else None
    read = InputPlan(one_kind=PAIRS)
    if phase.reads is None:
        read = replace(work.plan.read, quarantine=quarantine, max_errors=None)
        work.steps.inputs[piece.input].check(os.stat(source.path))
    given, side = source._replace(part=part), work.plan.sides.get(source)
    sides = {} if side is None else {given: side}
    yield replace(phase.plan, read=replace(read, inputs=[given]), sides=sides)
    if phase.reads is None:
        work.steps.inputs[piece.input].check(os.stat(source.path))


def source_of(work: Work, phase: Phase, piece: Piece) -> Input:
    """The file that a piece is in."""
    if phase.reads is None:
        return work.plan.read.inputs[piece.input]
    path = _between(work, phase, piece.input)
    return Input(path, path)


def _between(work: Work, phase: Phase, step: int) -> str:
    assert phase.reads is not None
    return work.folder.at(f"{step_name(phase.reads, step)}/{BETWEEN}")
