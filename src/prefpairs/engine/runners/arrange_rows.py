"""Steps that arrange the rows of a trainer: those that tell the types of columns go first.

Each writes the rows of a step before, with the columns that any row of any step has. The first one
also writes the rows that go first, wherever they are.
"""

import functools
from collections.abc import Iterator, Sequence
from operator import or_

from prefpairs.dataset.column_types import InferredColumns
from prefpairs.dataset.row_forms import RowForms, RowPlace
from prefpairs.engine.outputs.dataset_row_spool import names_of, with_columns
from prefpairs.engine.runners.pair_bucket import PairReceipt
from prefpairs.engine.runners.phases import DEDUPE, PAIR, ROWS, Phase, step_name
from prefpairs.engine.runners.step_output import (
    StepOutput,
    Wrote,
    part_name,
    sides_of,
    write_output,
)
from prefpairs.engine.runners.step_plan import Work
from prefpairs.engine.runners.write_rows import RowsReceipt
from prefpairs.engine.runners.write_survivors import SurvivorsReceipt
from prefpairs.model.json_codec import decode

Receipt = PairReceipt | RowsReceipt | SurvivorsReceipt
_RECEIPTS: dict[str, type[Receipt]] = {
    PAIR: PairReceipt,
    ROWS: RowsReceipt,
    DEDUPE: SurvivorsReceipt,
}


class SideRows:
    """The rows of a side, in the files of all steps."""

    def __init__(self, work: Work, before: Phase, side: str, wrote: Sequence[Wrote]) -> None:
        self._work = work
        self._before = before
        self._name = sides_of(before.plan)[side]
        self._known = RowForms(form for step in wrote for form in step.forms.get(side, ()))

    @property
    def shape(self) -> frozenset[str]:
        """The path and type of every field."""
        return self._known.shape

    @property
    def columns(self) -> int:
        """The columns that some row has, as a bit set."""
        return self._known.columns

    @property
    def first(self) -> list[RowPlace]:
        """The rows that go first."""
        return self._known.first

    @property
    def fits(self) -> bool:
        """Whether the rows that determine the types fit into the block that loaders look at."""
        return self._known.fits

    def mixed(self) -> set[str]:
        """The columns whose objects differ in their keys, which loaders read as JSON."""
        columns = InferredColumns()
        for form in self._known.forms:
            columns.learn(decode(self.line(form.first)))
        return columns.mixed

    def line(self, place: RowPlace) -> bytes:
        """A row."""
        return self._work.folder.read_at(self._file(place.file), place.offset, place.length)

    def others(self, step: int) -> Iterator[bytes]:
        """The rows of a step that do not go first."""
        first, offset = {place.offset for place in self.first if place.file == step}, 0
        for line in self._work.folder.lines(self._file(step)):
            if offset not in first:
                yield line
            offset += len(line)

    def _file(self, step: int) -> str:
        name = part_name(step, self._before.sizes[-1], self._name)
        return f"{step_name(self._before.last, step)}/{name}"


def arrange_rows(work: Work, phase: Phase, step: int) -> None:
    """Write the rows of a step with all columns; those that go first are in the first part."""
    assert phase.plan.export is not None
    columns, sides = phase.plan.export.target.columns, rows_of_sides(work, phase)
    names = names_of(columns, functools.reduce(or_, (rows.columns for rows in sides.values()), 0))

    def put(out: StepOutput) -> None:
        for side, rows in sides.items():
            for line in _lines(rows, step):
                row = decode(line)
                whole = row.keys() == {*names}
                out.outputs[side].write(line if whole else with_columns(row, names, columns))
                out.ledger.lines_written[side] += 1

    work.write_receipt(step_name(phase.last, step), write_output(work, phase, step, put))


def _lines(rows: SideRows, step: int) -> Iterator[bytes]:
    if step == 0:
        yield from map(rows.line, rows.first)
    yield from rows.others(step)


def rows_of_sides(work: Work, phase: Phase) -> dict[str, SideRows]:
    """The rows of each side that a phase arranges: the phase before has left them in files."""
    before = work.phases[work.phases.index(phase) - 1]
    wrote = [*wrote_in(work, before)]
    return {side: SideRows(work, before, side, wrote) for side in sides_of(before.plan)}


def wrote_in(work: Work, phase: Phase) -> Iterator[Wrote]:
    """What the steps of a phase wrote that made rows."""
    kind = _RECEIPTS[phase.kind]
    return (found.wrote for found in work.receipts(phase, len(phase.sizes) - 1, kind))
