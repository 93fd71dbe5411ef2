"""Pairs to the rows and files of a trainer's dataset; for some targets, traces to rows."""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import isfinite
from operator import or_
from typing import Protocol, Self

from prefpairs.dataset.card import kinds_of
from prefpairs.dataset.column_types import column_of, dates_alone
from prefpairs.dataset.convert_pair import ARGUMENT_NOTES, LOSSY, convert_pair, trainer_prompt
from prefpairs.dataset.row_forms import RowsLeft
from prefpairs.dataset.row_rules import Row
from prefpairs.dataset.unpaired_answers import UnpairedAnswers
from prefpairs.engine.inputs.row_reader import reading_rows
from prefpairs.engine.outputs.dataset_row_spool import RowBuffer
from prefpairs.engine.pairs.pair_io import WHOLE, Written, count_pair
from prefpairs.errors import CannotHold, NothingCameOut, ReadsAsDates, SideLeaks
from prefpairs.files.open_input import open_input
from prefpairs.files.output import Output
from prefpairs.files.parquet_writer import Table
from prefpairs.ledger import Ledger, StageCounts, Step
from prefpairs.model.candidate import Trace
from prefpairs.model.json_codec import encode_line, finite
from prefpairs.model.pair import Pair, pair_of_line
from prefpairs.plan import ExportPlan, InputPlan, TracePlan
from prefpairs.sources import TRACES, source_named
from prefpairs.stages.pair_columns import PairColumns
from prefpairs.stages.split_sides import SideOwners
from prefpairs.targets.base import CannotExport, Dataset

_EMPTY_SIDE = (
    "split --exact fills every side of a small data set; --allow-empty writes a file without rows"
)
_TOO_LONG = (
    "the rows that determine the types of columns are longer than the 10 MiB that loaders look "
    "at; a .parquet file avoids this"
)


class KnownRows(Protocol):
    """What is known of the rows of a side once all of them have been made."""

    @property
    def shape(self) -> AbstractSet[str]:
        """The path and type of every field."""
        ...

    @property
    def fits(self) -> bool:
        """Whether the rows that determine the types fit into the block that loaders look at."""
        ...

    def mixed(self) -> set[str]:
        """The columns whose objects differ in their keys, which loaders read as JSON."""
        ...


class Exporter:
    """Writes pairs as rows of a target: at once, or at the end if loaders infer column types."""

    def __init__(
        self,
        plan: ExportPlan,
        outputs: Mapping[str, Output],
        ledger: Ledger,
        *,
        allow_empty: bool,
        kept: SideOwners | None = None,
    ) -> None:
        """`kept` has the side that owns each prompt, if the split does not ensure that already."""
        self._plan = plan
        self._allow_empty = allow_empty
        self._kept = kept
        self.leaked = Counter[str]()
        """How many pairs of each side were dropped because another side keeps their prompt."""
        self._ledger = ledger
        self._stage = _stage_in(ledger)
        if plan.target.note:
            self._stage.notes.append(plan.target.note)
        extras = plan.target.extra_names
        self._outputs = {side: out for side, out in outputs.items() if side not in extras}
        self._extras = {name: out for name, out in outputs.items() if name in extras}
        ledger.lines_written.update(dict.fromkeys(self._outputs, 0))
        self._unpaired = {side: UnpairedAnswers() for side in self._outputs}
        self._tally = None if plan.target.tally is None else plan.target.tally()
        self._buffers: dict[str, RowBuffer] = {}
        self._finished = 0

    def __enter__(self) -> Self:
        """Open the buffers of rows."""
        if self._plan.target.typed:
            columns, temp_dir = self._plan.target.columns, self._plan.temp_dir
            for side in self._outputs:
                self._buffers[side] = RowBuffer(columns, temp_dir)
        return self

    def __exit__(self, *_: object) -> None:
        """Close the buffers of rows."""
        for buffer in self._buffers.values():
            buffer.close()

    def put(self, pair: Pair, side: str, /) -> bool:
        """Write a pair to a side; returns False if it is dropped."""
        self._stage.found += 1
        target, options = self._plan.target, self._plan.options
        try:
            example, changes = convert_pair(pair, target, options)
            rows = target.rows(example, options)
            changes |= target.changes(rows)
        except CannotExport as error:
            self._stage.dropped[error.reason] += 1
            return False
        if self._kept is not None:
            prompt = trainer_prompt(rows[0], target.rules)
            if self._kept.add(prompt, side) != side:
                self._stage.dropped["prompt_on_other_side"] += 1
                self.leaked[side] += 1
                return False
        if options.lossy == "refuse" and (lossy := changes & LOSSY):
            raise CannotHold(pair.id, target.name, sorted(lossy))
        if changes:
            self._stage.noticed.update(changes)
        for row in rows:
            self._write(row, side)
        if target.unpaired:
            self._unpaired[side].add(rows)
        if self._tally is not None:
            self._tally.add(pair, rows)
        count_pair(pair, self._ledger)
        return True

    def put_lines(self, lines: bytes, *_: Sequence[float]) -> None:
        """Write the pairs of lines."""
        for line in lines.splitlines(keepends=True):
            self.put(pair_of_line(line), WHOLE)

    def take(
        self, pairs: PairColumns, texts: Written, sides: Sequence[str], /
    ) -> Mapping[str, int]:
        """Write many pairs, each for its side; returns how many are not dropped."""
        written = Counter[str]()
        for slots, lines in texts.lines(pairs):
            for place, slot in enumerate(slots):
                given = lines and pair_of_line(lines[place])
                pair = given or texts.pair_in(pairs, slot)
                written[sides[slot]] += self.put(pair, sides[slot])
        return written

    def _write(self, row: Row, side: str) -> None:
        self._ledger.lines_written[side] += 1
        if self._buffers:
            self._buffers[side].add(row)
        else:
            self._outputs[side].write(encode_line(row))

    def finish(self) -> None:
        """Write the buffered rows, and the files around the data."""
        target = self._plan.target
        if self._plan.left is not None:
            self._leave(self._plan.left)
            return
        if target.unpaired:
            self._order_unpaired()
        texts = self.conclude(self._buffers)
        self._ledger.progress.begin_step(self._step)
        columns = functools.reduce(or_, (buffer.columns for buffer in self._buffers.values()), 0)
        for side, buffer in self._buffers.items():
            output = self._outputs[side]
            if isinstance(output, Table):
                output.begin(kinds_of(buffer.shape, target.columns))
            for line in buffer.lines(columns):
                output.write(line)
                self._finished += 1
        for name, output in self._extras.items():
            output.write(texts[name].encode())

    def conclude(self, sides: Mapping[str, KnownRows]) -> Mapping[str, str]:
        """Check and note what only all rows show; the files around the data."""
        self._check_sides()
        for side, rows in sides.items():
            self._check_types(side, rows)
        self._note_arguments(sides)
        return self._plan.target.extras(self._dataset(sides)) if self._extras else {}

    def _leave(self, left: RowsLeft) -> None:
        """Write the buffered rows as they came, for steps that arrange those of all steps."""
        left.leaked.update(self.leaked)
        for side, buffer in self._buffers.items():
            forms = buffer.forms(left.file, left.sizes.get(side, 0))
            left.add(side, forms, buffer.size)
            for line in buffer.as_they_came():
                self._outputs[side].write(line)

    def _step(self) -> Step:
        total = sum(buffer.count for buffer in self._buffers.values())
        return Step("writing", self._finished, total, "rows")

    def _note_arguments(self, sides: Mapping[str, KnownRows]) -> None:
        """Note which templates reject this form of arguments, if there are any tool calls."""
        target, options = self._plan.target, self._plan.options
        calls = any(".tool_calls:" in path for rows in sides.values() for path in rows.shape)
        if options.template_says:
            self._stage.notes.append(options.template_says)
        if calls and target.templated and not options.tool_args_known:
            note = ARGUMENT_NOTES[options.tool_args or target.tool_args]
            note = f"{note}; check yours with --template FILE"
            self._stage.notes.append(note)

    def _check_types(self, side: str, rows: KnownRows) -> None:
        """Find what no order of rows can fix: columns of only dates, and first rows too long."""
        target = self._plan.target
        if isinstance(self._outputs[side], Table):
            return
        if not rows.fits:
            self._stage.notes.append(_TOO_LONG)
        dates = dates_alone(rows.shape)
        if dates and target.rules.together:
            json = self._columns_as_json(rows)
            dates = [path for path in dates if column_of(path) not in json]
        if dates:
            raise ReadsAsDates(target.file_of(side) if self._extras else "the output", dates[0])

    def _columns_as_json(self, rows: KnownRows) -> set[str]:
        """The columns that load as JSON, by the card or by inference, so that texts stay texts."""
        if not self._extras:
            return rows.mixed()
        kinds = kinds_of(rows.shape, self._plan.target.columns)
        return {name for name, kind in kinds.items() if kind == "json"}

    def _check_sides(self) -> None:
        """Raise if a side is empty, because trainers cannot load a file without rows."""
        empty = [side for side in self._outputs if side and not self._ledger.lines_written[side]]
        if empty and self._ledger.lines_written.total() and not self._allow_empty:
            if self.leaked[empty[0]]:
                raise SideLeaks(empty[0], self._plan.target.name)
            raise NothingCameOut(f"{empty[0]} pair", _EMPTY_SIDE)

    def _order_unpaired(self) -> None:
        """Order unpaired answers so that neighbours have different prompts."""
        for side, buffer in self._buffers.items():
            order = self._unpaired[side].ordered()
            buffer.arrange(order.positions)
            found, omitted = self._ledger.lines_written[side], order.omitted
            self._ledger.lines_written[side] = buffer.count
            self._stage.noticed.update(omitted)
            self._stage.notes.append(
                f"{found:,} answers = {buffer.count:,} written + {omitted['answer_repeated']:,} "
                f"repeated + {omitted['label_contradicted']:,} both chosen and rejected"
            )

    def _dataset(self, known: Mapping[str, KnownRows]) -> Dataset:
        shapes = [rows.shape for rows in known.values()]
        sides = {side or "train": rows for side, rows in self._ledger.lines_written.items()}
        return Dataset(
            files={side: self._plan.target.file_of(side) for side in sides},
            rows=sides,
            shape=frozenset().union(*shapes),
            options=self._plan.options,
            tally=self._tally,
        )


def _stage_in(ledger: Ledger) -> StageCounts:
    """The counts of export; those of steps that made the rows, if there are any."""
    for stage in ledger.stages:
        if stage.name == "export":
            return stage
    ledger.stages.append(StageCounts("export"))
    return ledger.stages[-1]


def export_traces(plan: InputPlan, traces: TracePlan, output: Output, ledger: Ledger) -> None:
    """Write a row for each trace in the inputs, up to the first bad row."""
    read_trace = source_named(TRACES).read_trace
    assert read_trace is not None
    target, form = traces
    hints, pairs = StageCounts("hints"), StageCounts("pairs")
    ledger.stages += [hints, pairs] if target.pairs_as else [hints]

    def read(record: bytes) -> Trace:
        return read_trace(record, form.score, target.pairs_as is not None)

    waiting: list[Row] = []
    with reading_rows(plan, ledger) as rows:
        for source in plan.inputs:
            with open_input(source) as opened:
                ledger.sources.append((source.label, TRACES))
                for record, trace in rows.read(opened.records, read, source.label):
                    ledger.noticed.update(["surrogate_replaced"] * trace.replaced)
                    hints.found += len(trace.errors)
                    pairs.found += len(trace.pairs) + len(trace.pairs_lost)
                    try:
                        made = target.row(trace, form)
                    except CannotExport as unfit:
                        ledger.rows_dropped[unfit.reason] += 1
                        hints.dropped.update([unfit.reason] * len(trace.errors))
                        pairs.dropped.update(trace.pairs_lost)
                        pairs.dropped.update([unfit.reason] * len(trace.pairs))
                        continue
                    ledger.rows_used += 1
                    hints.dropped.update(made.no_hint)
                    pairs.dropped.update(made.pairs_lost)
                    ledger.noticed.update(made.noticed)
                    if trace.reward is None and form.score is not None:
                        ledger.noticed["no_score"] += 1
                    if trace.reward is not None and not isfinite(trace.reward):
                        ledger.noticed["reward_not_finite"] += 1
                    if not rows.failed:
                        own = {"reward": finite(trace.reward), "trace_id": trace.trace_id}
                        place = f"{source.label}:{record.number}"
                        waiting.append({**made.row, **own, "origin": place})
                        ledger.traces += 1
                        if target.batch is None or len(waiting) == form.batch_size:
                            _write_traces(waiting, traces, output)
        _write_traces(waiting, traces, output)
        rows.settle()


def _write_traces(waiting: list[Row], traces: TracePlan, output: Output) -> None:
    """Write the rows that wait, one by one or as a batch."""
    target, form = traces
    rows = waiting if target.batch is None or not waiting else [target.batch(waiting, form)]
    for row in rows:
        output.write(encode_line(row))
    waiting.clear()
