"""Groups written by several processes at a time, each with its share of them.

A forked process has the whole index already. It puts its pairs aside, and they are written
behind ours, so that the order is the same whatever the number of processes. Where one fails, we
write its share ourselves, and meet what it met.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.processes import Counter, begin, counts_for, tell
from prefpairs.files.byte_ranges import lines_between
from prefpairs.files.output import Output
from prefpairs.files.record_files import Spool
from prefpairs.ledger import Ledger, PairCounts
from prefpairs.ledger.progress import Step

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_FEW = 64

Write = Callable[[Iterable[int], Mapping[str, Output], Ledger], None]
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

    def write(self, outputs: Mapping[str, Output], ledger: Ledger) -> None:
        """Write all of them, one behind the other."""
        first, *others = self._shares
        spools = [Spool(self._temp_dir) for _ in others]
        done = counts_for(len(others))
        ledger.progress.begin_step(partial(self._step, ledger, done))
        counters = [Counter(done, place, os.getpid()) for place in range(len(others))]
        processes = begin(self._work, zip(others, spools, counters, strict=True))
        try:
            self._write(first, outputs, ledger)
            for place, (share, spool, process) in enumerate(zip_longest(others, spools, processes)):
                found = None if process is None else process.hear(PairCounts)
                if found is None:
                    done[place] = 0
                    self._write(share, outputs, ledger)
                    continue
                for line in _lines(spool):
                    outputs[WHOLE].write(line)
                ledger.add_pair_counts(found)
                done[place] = 0  # they are counted among ours now
        finally:
            for process in processes:
                process.end()
            for spool in spools:
                spool.close()

    def _step(self, ledger: Ledger, done: Sequence[int]) -> Step:
        total = sum(map(len, self._shares))
        return Step("writing", ledger.groups + sum(done), total, "groups")

    def _work(
        self, share: Sequence[int], spool: Spool, counter: Counter, sender: "Connection"
    ) -> None:
        ledger = Ledger()
        self._write(_counted(share, counter), {WHOLE: _Aside(spool)}, ledger)
        spool.flush()
        tell(sender, ledger.pair_counts())


def _counted(groups: Sequence[int], counter: Counter) -> Iterator[int]:
    """The groups; after every few it is told that they are done."""
    for start in range(0, len(groups), _FEW):
        few = groups[start : start + _FEW]
        yield from few
        counter.add(len(few))


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
