"""Pairs to the rows and files of a trainer's dataset."""

import functools
from collections import Counter
from collections.abc import Mapping
from operator import or_
from typing import Self

from prefpairs.dataset.card import kinds_of
from prefpairs.dataset.column_types import column_of, dates_alone
from prefpairs.dataset.example import ARGUMENT_NOTES, LOSSY, example_of, trainer_prompt
from prefpairs.dataset.row_rules import Row
from prefpairs.dataset.unpaired_answers import UnpairedAnswers
from prefpairs.engine.pair_writer import Written, count_pair
from prefpairs.engine.typed_rows import TypedRowBuffer
from prefpairs.errors import CannotHold, NothingCameOut, ReadsAsDates, SideLeaks
from prefpairs.files.output import Output
from prefpairs.files.parquet_writer import Table
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.ledger.progress import Step
from prefpairs.model.json_codec import encode_line
from prefpairs.model.pair import Pair
from prefpairs.plan import ExportPlan
from prefpairs.stages.base import IndexedPair
from prefpairs.stages.split_sides import SideOwners
from prefpairs.targets.base import CannotExport, Dataset

_EMPTY_SIDE = (
    "split --exact fills every side of a small data set; --allow-empty writes a file without rows"
)
_TOO_LONG = (
    "rows that tell the types of columns are longer than the 10 MiB by which loaders know them; "
    "a .parquet file needs none of that"
)


class Exporter:
    """Takes pairs, and writes the rows of a target: as they come, or typed ones at the end."""

    def __init__(
        self,
        plan: ExportPlan,
        outputs: Mapping[str, Output],
        ledger: Ledger,
        *,
        allow_empty: bool,
        kept: SideOwners | None = None,
    ) -> None:
        """`kept` knows the sides of prompts, where that is not settled by the split."""
        self._plan = plan
        self._allow_empty = allow_empty
        self._kept = kept
        self._leaked = Counter[str]()
        self._ledger = ledger
        self._stage = StageCounts("export")
        ledger.stages.append(self._stage)
        extras = plan.target.extra_names
        self._outputs = {side: out for side, out in outputs.items() if side not in extras}
        self._extras = {name: out for name, out in outputs.items() if name in extras}
        ledger.lines_written.update(dict.fromkeys(self._outputs, 0))
        self._singles = {side: UnpairedAnswers() for side in self._outputs}
        self._drafts: dict[str, TypedRowBuffer] = {}
        self._finished = 0

    def __enter__(self) -> Self:
        """Hold the rows that wait for the time of a block."""
        if self._plan.target.typed:
            columns, temp_dir = self._plan.target.columns, self._plan.temp_dir
            for side in self._outputs:
                self._drafts[side] = TypedRowBuffer(columns, temp_dir)
        return self

    def __exit__(self, *_: object) -> None:
        """Let them go."""
        for drafts in self._drafts.values():
            drafts.close()

    def put(self, pair: Pair, side: str, /) -> bool:
        """Take a pair for a side; whether it can be an example."""
        self._stage.found += 1
        target, options = self._plan.target, self._plan.options
        try:
            example, noticed = example_of(pair, target, options)
            rows = target.rows(example, options)
            noticed |= target.changes(rows)
        except CannotExport as unfit:
            self._stage.dropped[unfit.reason] += 1
            return False
        if self._kept is not None:
            prompt = trainer_prompt(rows[0], target.rules)
            if self._kept.add(prompt, side) != side:
                self._stage.dropped["prompt_on_other_side"] += 1
                self._leaked[side] += 1
                return False
        if options.lossy == "refuse" and (lossy := noticed & LOSSY):
            raise CannotHold(pair.id, target.name, sorted(lossy))
        if noticed:
            self._stage.noticed.update(noticed)
        for row in rows:
            self._write(row, side)
        if target.unpaired:
            self._singles[side].add(rows)
        count_pair(pair, self._ledger)
        return True

    def take(self, entry: IndexedPair, pairs: Written, side: str, /) -> bool:
        """The same, with the pair behind an entry."""
        return self.put(pairs.pair(entry), side)

    def _write(self, row: Row, side: str) -> None:
        self._ledger.lines_written[side] += 1
        if self._drafts:
            self._drafts[side].add(row)
        else:
            self._outputs[side].write(encode_line(row))

    def finish(self) -> None:
        """Write what waited, and the files around it."""
        target = self._plan.target
        if target.unpaired:
            self._take_turns()
        self._check_sides()
        self._ledger.progress.begin_step(self._step)
        columns = functools.reduce(or_, (drafts.columns for drafts in self._drafts.values()), 0)
        for side, drafts in self._drafts.items():
            output = self._outputs[side]
            self._check_types(side, drafts)
            if isinstance(output, Table):
                output.begin(kinds_of(drafts.shape, target.columns))
            for line in drafts.lines(columns):
                output.write(line)
                self._finished += 1
        self._tell_of_arguments()
        if self._extras:
            texts = target.extras(self._dataset())
            for name, output in self._extras.items():
                output.write(texts[name].encode())

    def _step(self) -> Step:
        total = sum(drafts.count for drafts in self._drafts.values())
        return Step("writing", self._finished, total, "rows")

    def _tell_of_arguments(self) -> None:
        """Say which templates disagree about the form of arguments, if anybody calls a tool."""
        target, options = self._plan.target, self._plan.options
        calls = any(".tool_calls:" in path for each in self._drafts.values() for path in each.shape)
        if options.template_says:
            self._stage.notes.append(options.template_says)
        if calls and target.templated and not options.tool_args_known:
            note = f"{ARGUMENT_NOTES[options.tool_args]}; --template FILE looks at yours"
            self._stage.notes.append(note)

    def _check_types(self, side: str, drafts: TypedRowBuffer) -> None:
        """What order cannot mend: dates alone in a column, and rows too long to stand first."""
        target = self._plan.target
        if isinstance(self._outputs[side], Table):
            return
        if not drafts.fits:
            self._stage.notes.append(_TOO_LONG)
        dates = dates_alone(drafts.shape)
        if dates and target.rules.together:
            json = self._columns_as_json(drafts)
            dates = [path for path in dates if column_of(path) not in json]
        if dates:
            raise ReadsAsDates(target.file_of(side) if self._extras else "the output", dates[0])

    def _columns_as_json(self, drafts: TypedRowBuffer) -> set[str]:
        """The columns whose texts stay texts: the card says JSON, or newer loaders see it."""
        if not self._extras:
            return drafts.mixed()
        kinds = kinds_of(drafts.shape, self._plan.target.columns)
        return {name for name, kind in kinds.items() if kind == "json"}

    def _check_sides(self) -> None:
        """A side without a row is no file that a trainer could load."""
        empty = [side for side in self._outputs if side and not self._ledger.lines_written[side]]
        if empty and self._ledger.lines_written.total() and not self._allow_empty:
            if self._leaked[empty[0]]:
                raise SideLeaks(empty[0], self._plan.target.name)
            raise NothingCameOut(f"{empty[0]} pair", _EMPTY_SIDE)

    def _take_turns(self) -> None:
        """Put single answers into an order in which neighbours have different prompts."""
        for side, drafts in self._drafts.items():
            order = self._singles[side].ordered()
            drafts.arrange(order.positions)
            found, omitted = self._ledger.lines_written[side], order.omitted
            self._ledger.lines_written[side] = drafts.count
            self._stage.noticed.update(omitted)
            self._stage.notes.append(
                f"{found:,} answers = {drafts.count:,} written + {omitted['answer_repeated']:,} "
                f"written already + {omitted['label_contradicted']:,} both chosen and rejected"
            )

    def _dataset(self) -> Dataset:
        shapes = [drafts.shape for drafts in self._drafts.values()]
        sides = {side or "train": rows for side, rows in self._ledger.lines_written.items()}
        return Dataset(
            files={side: self._plan.target.file_of(side) for side in sides},
            rows=sides,
            shape=frozenset().union(*shapes),
            options=self._plan.options,
        )
