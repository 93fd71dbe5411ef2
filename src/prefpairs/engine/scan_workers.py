"""Processes that scan stretches of a file at the same time as we do.

What they find comes back in compact arrays. A worker gives up where something has to be told
with its place in the file (bad rows, pairs that stand ready) or compared over the whole of it
(ids that should stand once), and may be killed at any moment: its stretch is then scanned by the
process that waits for it. So counts need only be added up.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from prefpairs.engine.candidate_index import Index
from prefpairs.engine.candidate_reader import BeingRead, Reader
from prefpairs.engine.line_scanner import Part, Scanner
from prefpairs.engine.processes import Counter, Process, ProcessLost, begin, counts_for, tell
from prefpairs.engine.row_reader import Rows
from prefpairs.fields.choose_field import Fact
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.byte_ranges import lines_between
from prefpairs.files.inputs import Input
from prefpairs.files.lines import Record
from prefpairs.files.open_input import Fingerprint, fingerprint
from prefpairs.ledger import Ledger, RowCounts
from prefpairs.ledger.progress import Progress
from prefpairs.model.pair import Pair
from prefpairs.plan import ReadPlan

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


class _PairFound(Exception):
    """A pair stands ready in a row of the stretch."""


class _NoPairs:
    """Takes no pairs that stand ready: they need their place."""

    def add(self, _: Pair) -> None:
        raise _PairFound

    def lose(self, reasons: Sequence[str]) -> None:
        if reasons:
            raise _PairFound


class Job(NamedTuple):
    """A stretch of a file, and how its rows are read."""

    source: Input
    seen: Fingerprint
    sample: bytes | None
    format: str
    options: ReadOptions
    one_kind: str | None
    start: int
    end: int


class Stretch(NamedTuple):
    """What became of the lines of a stretch."""

    lines: int
    counts: RowCounts
    shown: list[Fact]
    sources: list[str]


class Workers:
    """A process for each stretch of an input; they end with the block."""

    def __init__(
        self,
        given: BeingRead,
        plan: ReadPlan,
        stretches: Sequence[tuple[int, int]],
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
            for start, end in stretches
        ]
        self._begun: list[Process] = []
        self._progress = progress
        self._passed: memoryview | list[int] = []

    def __enter__(self) -> Self:
        """Begin them all, or as many as the system allows: those that run will do."""
        if self._jobs:
            self._passed = counts_for(len(self._jobs))
            self._progress.watch_workers(self._passed)
        counters = [Counter(self._passed, place, os.getpid()) for place in range(len(self._jobs))]
        self._begun = begin(_work, zip(self._jobs, counters, strict=True))
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever still runs is not wanted any more."""
        for process in self._begun:
            process.end()
        self._progress.workers_ended()

    def hand_over(self, number: int, scanner: Scanner) -> bool:
        """Let a scanner take what one of them found, if there is all of it.

        Otherwise the worker gave up, or was killed, and the stretch has to be scanned here.
        """
        process = self._begun[number] if number < len(self._begun) else None
        found = None if process is None else process.hear(Stretch)
        if process is not None and found is not None:
            self._passed[number] = self._jobs[number].end - self._jobs[number].start
            part = Part(found.lines, found.counts, process.pieces(), found.shown, found.sources)
            with suppress(ProcessLost):
                if scanner.take(part):
                    return True
        self._passed[number] = 0  # scanning it here counts it again
        return False


def _work(job: Job, passed: Counter, sender: "Connection") -> None:
    """What a worker does: scan its stretch, and send what it found."""
    found = _found(job, passed)
    if found is None:
        tell(sender, None)
        return
    index, stretch = found
    tell(sender, stretch)
    for column in index.columns():
        sender.send_bytes(column)


def _found(job: Job, passed: Counter) -> tuple[Index, Stretch] | None:
    index, ledger, label = Index(), Ledger(), job.source.label
    plan = ReadPlan(
        inputs=[job.source], source=job.format, options=job.options, one_kind=job.one_kind
    )
    reader = Reader(plan, Rows(plan, ledger), ledger, _NoPairs())
    sample = [] if job.sample is None else [Record(1, 0, job.sample)]
    found, _ = reader.formats.open(label, iter(sample))
    scanner = Scanner(found.how, job.source, 0, index, reader)
    descriptor = 0 if job.source.is_stdin else os.open(job.source.path, os.O_RDONLY)
    lines = lines_between(descriptor, job.start, job.end, job.source.limits.line, passed.add)
    try:
        scanner.scan(lines, job.start)
    except _PairFound:
        return None
    other_file = fingerprint(os.fstat(descriptor)) != job.seen
    if other_file or ledger.rows_bad or reader.compares_rows:
        return None
    return index, Stretch(
        scanner.lines, ledger.row_counts(), reader.formats.shown.all(), found.sources
    )
