"""Worker processes that write the pairs of some groups while we write those of the first ones.

A forked process shares the whole store. It writes its pairs to a spool, and the parent appends
them after its own, so that their order does not depend on the number of processes. If a worker
fails, the parent writes the pairs of its groups, and meets any error that the worker met.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.engine.processes import Counter, counts_for, send, start_processes
from prefpairs.files.fetch_records import Spool
from prefpairs.files.lines import lines_between
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger, PairCounts, Step

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_FEW = 64

Write = Callable[[Iterable[int], Mapping[str, Output], Ledger], None]
"""Writes the pairs of some groups, and ledgers on them."""


class WriteWorkers:
    """The groups of a run, divided among several processes, of which we are the first."""

    def __init__(
        self, write: Write, groups: Sequence[int], number: int, temp_dir: str | None
    ) -> None:
        ends = [len(groups) * part // number for part in range(number + 1)]
        self._parts = [groups[start:end] for start, end in pairwise(ends)]
        self._write = write
        self._temp_dir = temp_dir

    def write(self, outputs: Mapping[str, Output], ledger: Ledger) -> None:
        """Write the pairs of all groups, in order."""
        first, *others = self._parts
        spools = [Spool(self._temp_dir) for _ in others]
        done = counts_for(len(others))
        ledger.progress.begin_step(partial(self._step, ledger, done))
        counters = [Counter(done, place, os.getpid()) for place in range(len(others))]
        processes = start_processes(self._work, zip(others, spools, counters, strict=True))
        try:
            self._write(first, outputs, ledger)
            for place, (part, spool, process) in enumerate(zip_longest(others, spools, processes)):
                found = None if process is None else process.receive(PairCounts)
                if found is None:
                    done[place] = 0
                    self._write(part, outputs, ledger)
                    continue
                for line in _lines(spool):
                    outputs[WHOLE].write(line)
                ledger.add_pair_counts(found)
                done[place] = 0  # they are among our own counts now
        finally:
            for process in processes:
                process.kill()
            for spool in spools:
                spool.close()

    def _step(self, ledger: Ledger, done: Sequence[int]) -> Step:
        total = sum(map(len, self._parts))
        return Step("writing", ledger.groups + sum(done), total, "groups")

    def _work(
        self, part: Sequence[int], spool: Spool, counter: Counter, sender: "Connection"
    ) -> None:
        ledger = Ledger()
        self._write(_counted(part, counter), {WHOLE: _SpoolOutput(spool)}, ledger)
        spool.flush()
        send(sender, ledger.pair_counts())


def _counted(groups: Sequence[int], counter: Counter) -> Iterator[int]:
    """The groups, reported as done a few at a time."""
    for start in range(0, len(groups), _FEW):
        few = groups[start : start + _FEW]
        yield from few
        counter.add(len(few))


class _SpoolOutput:
    """An output whose lines go to a spool."""

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
