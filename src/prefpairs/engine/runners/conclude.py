"""What only all rows of a dataset show: notes, errors, and the files around its rows."""

from collections.abc import Iterator, Sequence
from io import BytesIO

from prefpairs.engine.outputs.export import Exporter
from prefpairs.engine.runners.arrange_rows import rows_of_sides, wrote_in
from prefpairs.engine.runners.phases import DATASET
from prefpairs.engine.runners.step_output import Written, Wrote, sides_of
from prefpairs.engine.runners.step_plan import Work
from prefpairs.files.file_stamps import digest_file
from prefpairs.ledger import Ledger

_AROUND = "dataset"
"""The folder of the files around the rows, until all files take their place."""


def conclude(work: Work, ledger: Ledger, wrote: Sequence[Wrote]) -> Iterator[tuple[str, Written]]:
    """Note what all rows show; the files around them, each with its folder."""
    plan, last = work.plan, work.phases[-1]
    export = plan.export
    assert export is not None
    sides = sides_of(plan)
    names = [*sides, *export.target.extra_names]
    exporter = Exporter(
        export,
        dict.fromkeys(names, BytesIO()),  # steps have written the rows
        ledger,
        allow_empty=plan.write.allow_empty,
    )
    for place, side in enumerate(sides):
        ledger.lines_written[side] = sum(step.files[place].records or 0 for step in wrote)
    made = next(phase for phase in reversed(work.phases) if phase.kind != DATASET)
    for step in wrote_in(work, made):
        exporter.leaked.update(step.leaked)
    known = rows_of_sides(work, last) if last.kind == DATASET else {}
    work.folder.create(_AROUND)
    for name, text in exporter.conclude(known).items():
        path = f"{_AROUND}/{name}"
        work.folder.write(path, text.encode())
        yield _AROUND, Written(name, *digest_file(work.folder.at(path)), None)
