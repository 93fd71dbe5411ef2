"""Lines of a file into the candidate columns, by us and by worker processes.

The loop of `LineIndexer` sees every row of the input, so it takes half a megabyte of lines at a
time and does the work on them in few calls. (One call for each line takes 0.7 us more, of 3 us a
row.) Rows that the source's fast reader cannot read go to its general reader.

A worker indexes a byte range of the file and sends what it found as blocks of columns. It gives
up where something must be reported with its line (bad rows, pairs in rollouts) or compared across
the whole file (ids that should be unique), and it may be killed at any moment. The parent then
indexes that range itself, so that all a worker's counts need only be added up.
"""

import os
from collections import Counter as Counts
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self, cast

from prefpairs.engine.inputs.candidate_reader import CandidateInput, CandidateReader
from prefpairs.engine.inputs.row_reader import Rows
from prefpairs.engine.native import Core, core_for
from prefpairs.engine.processes import Counter, Process, counts_for, send, start_processes
from prefpairs.engine.store.candidate_columns import Block, CandidateColumns
from prefpairs.errors import TwoReadings
from prefpairs.fields.cross_row_facts import Fact
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files import lines as input_lines
from prefpairs.files.input_file import Input
from prefpairs.files.lines import (
    LongLine,
    Record,
    blocks_of,
    lines_between,
    lines_of,
    record_of,
    runs_of,
)
from prefpairs.files.open_input import Fingerprint, fingerprint, input_descriptor
from prefpairs.ledger import Ledger, Progress, RowCounts
from prefpairs.model import memory_guard
from prefpairs.model.pair import Pair
from prefpairs.plan import ReadPlan
from prefpairs.sources.base import IndexedRow, RecordReader

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


class IndexedRange(NamedTuple):
    """The counts and facts of a byte range of a file; its candidates are in separate blocks."""

    lines: int
    counts: RowCounts
    facts: list[Fact]
    sources: list[str]
    blocks: int
    """How many blocks follow."""


class LineIndexer:
    """Indexes the lines of the file that the columns are at, one byte range after the other.

    `groups` maps the questions that the fast reader has reported so far to numbers of groups.
    """

    def __init__(
        self,
        how: RecordReader,
        source: Input,
        columns: CandidateColumns,
        groups: dict[bytes, int],
        reader: CandidateReader,
    ) -> None:
        self._how = how
        self._label = source.label
        self._longest = source.limits.line
        self._light = min(self._longest, memory_guard.LIGHT)
        self._columns = columns
        self._groups = groups
        self._reader = reader
        self._core = core_for(how)
        self.lines = 0

    def index(self, lines: BinaryIO, offset: int) -> None:
        """Index a range of lines, the first of which begins at the offset."""
        ledger = self._reader.ledger
        before = ledger.rows_read
        try:
            while block := lines.readlines(input_lines.AT_ONCE):
                offsets = list(accumulate(map(len, block), initial=offset))
                numbers = range(self.lines + 1, self.lines + 1 + len(block))
                self._index_block(block, offsets, numbers)
                light = (line for line in block if len(line) <= self._light)
                self._reader.formats.look_for_paths_in(light)
                offset = offsets[-1]
                self.lines += len(block)
        except LongLine:
            lines.seek(offset)
            for record in lines_of(lines, offset, self._longest):
                self.lines += 1
                self._add_any(record._replace(number=self.lines))
        ledger.add_rows(self._label, ledger.rows_read - before)

    def join(self, found: IndexedRange, blocks: Iterator[Block]) -> bool:
        """Add what was found elsewhere in the next range, unless it contradicts earlier rows."""
        if not self._reader.formats.join(found.facts, found.sources):
            return False
        self._columns.join(blocks, self.lines)
        self.lines += found.lines
        self._reader.ledger.add_row_counts(self._label, found.counts)
        return True

    def _index_block(self, lines: list[bytes], offsets: list[int], numbers: range) -> None:
        if self._core is not None:

            def record_at(place: int) -> Record:
                return record_of(numbers[place], offsets[place], lines[place], self._longest)

            self._index_with_core(self._core, lines, offsets, numbers[0], record_at)
            return
        fast_reader = self._how.fast_reader
        light = lines
        if max(map(len, lines)) > self._light:
            light = [b"" if len(line) > self._light else line for line in lines]
        if memory_guard.LIMITED:
            memory_guard.require(max(map(memory_guard.memory_of, light)))
        scanned = [None] * len(lines) if fast_reader is None else fast_reader.index_rows(light)
        start, groups = 0, self._groups
        for place, found in enumerate(scanned):
            if found is not None and (found[0] in groups or self._learn(found[0], lines[place])):
                continue
            self._add_scanned(
                scanned[start:place], offsets[start : place + 1], numbers[start:place]
            )
            self._add_any(record_of(numbers[place], offsets[place], lines[place], self._longest))
            start = place + 1
        self._add_scanned(scanned[start:], offsets[start:], numbers[start:])

    def index_records(
        self, core: Core, records: Iterator[Record], place_of: Callable[[Record], int]
    ) -> None:
        """Index records by the native core, which are found again at these places."""
        ledger = self._reader.ledger
        before = ledger.rows_read
        for block in blocks_of(records):
            for run in runs_of(block):
                lines = [record.data if record.whole else b"" for record in run]
                places = [place_of(record) for record in run]
                self._index_with_core(core, lines, places, run[0].number, run.__getitem__)
                self._reader.formats.look_for_paths_in(lines)
        ledger.add_rows(self._label, ledger.rows_read - before)

    def _index_with_core(
        self,
        core: Core,
        lines: list[bytes],
        places: list[int],
        first: int,
        record_at: Callable[[int], Record],
    ) -> None:
        """Index consecutive records, of which the first one has this number."""
        for found in core.index(lines, places, self._light):
            if isinstance(found, int):
                self._add_any(record_at(found), places[found])
            else:
                self._add_found(core, found, first)

    def _add_found(self, core: Core, found: Any, first: int) -> None:
        """Add what the core found in consecutive records, of which the first has this number."""
        before = len(self._columns)
        columns, rows, noticed, items = found
        self._columns.add_block(Block(*columns), core.groups, first)
        self._count_scanned(before, rows, noticed, items)

    def _learn(self, question: bytes, line: bytes) -> bool:
        """Find the group of a new question from its first row; False if the fast reader cannot."""
        fast_reader = self._how.fast_reader
        if fast_reader is None:
            return False
        if fast_reader.read_question is not None:
            asked = fast_reader.read_question(line)
        else:
            reading = fast_reader.read(line)
            asked = None if reading is None else reading.kept[0]
        if asked is None:
            return False
        self._groups[question] = self._columns.group_of(asked)
        return True

    def _add_scanned(
        self, scanned: Sequence[IndexedRow | None], offsets: Sequence[int], numbers: range
    ) -> None:
        """Add rows that the fast reader has read, each of them one candidate."""
        if not scanned:
            return
        rows, before = cast("Sequence[IndexedRow]", scanned), len(self._columns)
        self._columns.extend(rows, self._groups, offsets, numbers)
        noticed = Counts(reason for *_, reasons in rows for reason in reasons)
        self._count_scanned(before, len(scanned), noticed)

    def _count_scanned(
        self, before: int, rows: int, noticed: Mapping[str, int], items: bytes = b""
    ) -> None:
        """Count rows whose candidates are all that the columns have beyond this many."""
        candidates = len(self._columns) - before
        try:
            self._reader.count_scanned(rows, self._how, candidates, noticed, items)
        except TwoReadings as error:  # the first of them shows all that they have in common
            raise error.at(f"{self._label}:{self._columns.line(before)}") from None

    def _add_any(self, record: Record, place: int | None = None) -> None:
        """Add the candidates of a row as the source's general reader finds them.

        `place` is where it is found again, if that is not its offset.
        """
        if record.is_blank():
            return
        reading = self._reader.read_one(record, self._how, self._label)
        if reading is not None:
            length = len(record.data)
            place = record.offset if place is None else place
            self._columns.add_row(reading.kept, place, length, record.number)


class _PairFound(Exception):
    """A row of the range contains a pair, which is known by its line."""


class _NoPairs:
    """Accepts no pairs, so that the worker gives up."""

    def add(self, _: Pair) -> None:
        raise _PairFound

    def lose(self, reasons: Sequence[str]) -> None:
        if reasons:
            raise _PairFound


class _WorkerLost(Exception):
    """A worker died before it had sent all blocks."""


class Job(NamedTuple):
    """A byte range of a file, and how its rows are read."""

    source: Input
    seen: Fingerprint
    sample: bytes | None
    format: str
    options: ReadOptions
    one_kind: str | None
    start: int
    end: int


class IndexWorkers:
    """A process for each byte range of an input; all have ended when the block ends."""

    def __init__(
        self,
        given: CandidateInput,
        plan: ReadPlan,
        ranges: Sequence[tuple[int, int]],
        progress: Progress,
    ) -> None:
        self._jobs = [
            Job(
                given.source,
                fingerprint(given.opened.seen),
                given.format.sample,
                plan.source,
                plan.options,
                plan.one_kind,
                start,
                end,
            )
            for start, end in ranges
        ]
        self._started: list[Process] = []
        self._progress = progress
        self._passed: memoryview | list[int] = []

    def __enter__(self) -> Self:
        """Start the processes, or as many as the system allows."""
        if self._jobs:
            self._passed = counts_for(len(self._jobs))
            self._progress.watch_workers(self._passed)
        counters = [Counter(self._passed, place, os.getpid()) for place in range(len(self._jobs))]
        self._started = start_processes(_work, zip(self._jobs, counters, strict=True))
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        for process in self._started:
            process.kill()
        self._progress.workers_ended()

    def join(self, number: int, indexer: LineIndexer) -> bool:
        """Add what a worker found to the columns, if it has found everything.

        Otherwise the caller has to index its range.
        """
        process = self._started[number] if number < len(self._started) else None
        found = None if process is None else process.receive(IndexedRange)
        if process is not None and found is not None:
            self._passed[number] = self._jobs[number].end - self._jobs[number].start
            with suppress(_WorkerLost):
                if indexer.join(found, _blocks_from(process, found.blocks)):
                    return True
        self._passed[number] = 0  # indexing the range counts its bytes again
        return False


def _blocks_from(process: Process, number: int) -> Iterator[Block]:
    for _ in range(number):
        block = process.receive(Block)
        if block is None:
            raise _WorkerLost
        yield block


def _work(job: Job, passed: Counter, sender: "Connection") -> None:
    """Index a range and send what was found, or nothing to give up."""
    result = _indexed(job, passed)
    if result is None:
        send(sender, None)
        return
    found, columns = result
    send(sender, found)
    for block in columns.blocks():
        send(sender, block)


def _indexed(job: Job, passed: Counter) -> tuple[IndexedRange, CandidateColumns] | None:
    columns, ledger, label = CandidateColumns(), Ledger(), job.source.label
    plan = ReadPlan(
        inputs=[job.source], source=job.format, options=job.options, one_kind=job.one_kind
    )
    reader = CandidateReader(plan, Rows(plan, ledger), _NoPairs())
    sample = [] if job.sample is None else [Record(1, 0, job.sample)]
    given, _ = reader.formats.open(label, iter(sample))
    indexer = LineIndexer(given.how, job.source, columns, {}, reader)
    descriptor = input_descriptor(job.source)
    lines = lines_between(descriptor, job.start, job.end, job.source.limits.line, passed.add)
    try:
        indexer.index(lines, job.start)
    except _PairFound:
        return None
    other_file = fingerprint(os.fstat(descriptor)) != job.seen
    if other_file or ledger.rows_bad or reader.items:
        return None
    found = IndexedRange(
        indexer.lines,
        ledger.row_counts(),
        reader.formats.facts.all(),
        given.sources,
        columns.number_of_blocks,
    )
    return found, columns
