"""Groups written by several processes at a time, each with its share of them.

A forked process has the whole index already. It puts its pairs aside, and they are written
behind ours, so that the order is the same whatever the number of processes. Where one fails, we
write its share ourselves, and meet what it met.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from prefpairs.engines.processes import begin, tell
from prefpairs.engines.writing import WHOLE
from prefpairs.files.output import Output
from prefpairs.files.shelf import Spool
from prefpairs.files.stretch import lines_between
from prefpairs.report import PairCounts, Report

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Write = Callable[[Sequence[int], Mapping[str, Output], Report], None]
"""Writes the pairs of some groups, and reports on them."""


class Shares:
    """The groups of a run, in as many shares as there are processes."""

    def __init__(
        self, write: Write, groups: Sequence[int], number: int, temp_dir: str | None
    ) -> None:
        ends = [len(groups) * part // number for part in range(number + 1)]
        self._shares = [groups[start:end] for start, end in pairwise(ends)]
        self._write = write
        self._temp_dir = temp_dir

    def write(self, outputs: Mapping[str, Output], report: Report) -> None:
        """Write all of them, one behind the other."""
        first, *others = self._shares
        spools = [Spool(self._temp_dir) for _ in others]
        processes = begin(self._work, zip(others, spools, strict=True))
        try:
            self._write(first, outputs, report)
            for share, spool, process in zip_longest(others, spools, processes):
                found = None if process is None else process.hear(PairCounts)
                if found is None:
                    self._write(share, outputs, report)
                    continue
                for line in _lines(spool):
                    outputs[WHOLE].write(line)
                report.join_pairs(found)
        finally:
            for process in processes:
                process.end()
            for spool in spools:
                spool.close()

    def _work(self, share: Sequence[int], spool: Spool, sender: "Connection") -> None:
        report = Report()
        self._write(share, {WHOLE: _Aside(spool)}, report)
        spool.settle()
        tell(sender, report.pair_counts())


class _Aside:
    """An output that puts lines aside."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool

    def write(self, line: bytes, /) -> object:
        return self._spool.append(line)


def _lines(spool: Spool) -> Iterator[bytes]:
    descriptor = spool.open()
    try:
        yield from lines_between(descriptor, 0, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)
