"""Processes that scan stretches of a file at the same time as we do.

What they find comes back in compact arrays. A worker gives up where something has to be told
with its place in the file (bad rows) or compared over the whole of it (ids that should stand
once): whoever waits for it then scans the stretch himself. So counts need only be added up.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self, cast

from prefpairs.engines.index import Index
from prefpairs.engines.plan import ReadPlan
from prefpairs.engines.reading import BeingRead, Reader
from prefpairs.engines.rows import Rows
from prefpairs.engines.scanning import Part, Scanner
from prefpairs.errors import FileTrouble
from prefpairs.files.inputs import Input
from prefpairs.files.stretch import lines_between
from prefpairs.report import Report, RowCounts
from prefpairs.sources import source_named
from prefpairs.sources.answer import ReadOptions
from prefpairs.sources.detect import Shapes

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import DefaultContext
    from multiprocessing.process import BaseProcess

_HOW = "fork" if sys.platform == "linux" else "spawn"
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


class Job(NamedTuple):
    """A stretch of a file, and how its rows are read."""

    source: Input
    format: str
    shapes: Shapes
    options: ReadOptions
    start: int
    end: int


class Workers:
    """A process for each stretch of an input; they end with the block."""

    def __init__(
        self, given: BeingRead, options: ReadOptions, stretches: Sequence[tuple[int, int]]
    ) -> None:
        self._jobs = [
            Job(given.source, given.format, given.shapes, options, start, end)
            for start, end in stretches
        ]
        self._started: list[tuple[BaseProcess, Connection]] = []

    def __enter__(self) -> Self:
        """Start them all."""
        if self._jobs:
            with suppress(OSError):  # no more processes or descriptors: those that run will do
                self._start()
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever still runs is not wanted any more."""
        for process, receiver in self._started:
            receiver.close()
            process.kill()
            process.join()

    def result(self, number: int) -> Part | None:
        """What one of them found; nothing where the stretch has to be scanned here."""
        if number >= len(self._started):
            return None
        _, receiver = self._started[number]
        counts = None
        with suppress(EOFError, OSError):
            counts = receiver.recv()
        if counts is None:
            return None
        lines, rows = counts
        return Part(lines, rows, _columns(receiver))

    def _start(self) -> None:
        from multiprocessing import get_context

        context = cast("DefaultContext", get_context(_HOW))
        for job in self._jobs:
            receiver, sender = context.Pipe(duplex=False)
            ours = [receiver, *(receiver for _, receiver in self._started)]
            others = ours if _HOW == "fork" else []
            process = context.Process(target=_work, args=(job, sender, others), daemon=True)
            process.start()
            sender.close()
            self._started.append((process, receiver))


def _columns(receiver: "Connection") -> Iterator[bytes]:
    while True:
        try:
            yield receiver.recv_bytes()
        except EOFError:
            raise FileTrouble("a worker", "it ended before it had told all it found") from None


def _work(job: Job, sender: "Connection", others: Sequence["Connection"]) -> None:
    """What a worker does: scan its stretch, and send what it found.

    The ends that others receive at must not stay open here: if they all go, a worker must see
    that nobody will ever read what it sends.
    """
    for receiver in others:
        receiver.close()
    for ending in _ENDINGS:
        signal.signal(ending, signal.SIG_DFL)
    found = None
    with suppress(Exception):  # whoever scans the stretch instead will meet it, too, and tell it
        found = _found(job)
    if found is None:
        sender.send(None)
        return
    index, *counts = found
    sender.send(counts)
    for column in index.columns():
        sender.send_bytes(column)


def _found(job: Job) -> tuple[Index, int, RowCounts] | None:
    index, report, label = Index(), Report(), job.source.label
    plan = ReadPlan(inputs=[job.source], source=job.format, options=job.options)
    reader = Reader(plan, Rows(plan, report), report)
    how = source_named(job.format).open_reader(job.shapes, job.options, label)
    scanner = Scanner(how, label, 0, index, reader)
    descriptor = 0 if job.source.is_stdin else os.open(job.source.path, os.O_RDONLY)
    scanner.scan(lines_between(descriptor, job.start, job.end), job.start)
    if report.rows_bad or reader.compares_rows:
        return None
    return index, scanner.lines, report.row_counts()
