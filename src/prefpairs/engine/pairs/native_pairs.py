"""Pairs that the native core makes: many at a time, their lines in several threads.

The core reads both candidates again, compares them with the columns, and writes the line that
`pair_line` would write. It decides best-vs-worst and exhaustive itself. What it does not know
exactly it leaves to Python, pair by pair and group by group, so that Python raises every error.
"""

import resource
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from math import inf
from typing import Any

from prefpairs.engine.native import Core, native_core, opened_again
from prefpairs.engine.pairs.pair_io import WHOLE, Sink
from prefpairs.engine.store.candidate_store import CandidateStore, Numbers
from prefpairs.engine.store.decide import decide, group_order, pairs_of_groups, refuse_too_many
from prefpairs.errors import PrefpairsError
from prefpairs.ledger import Ledger
from prefpairs.model.memory_guard import LIGHT
from prefpairs.plan import PairPlan
from prefpairs.reasons import CONFLICTING
from prefpairs.strategies import strategy_named
from prefpairs.strategies.bounds import Bounds

_PAIRS, _GROUPS, _BYTES = 1 << 11, 1 << 11, 1 << 20
"""How many pairs are handed on at a time, how many groups are decided, and how many bytes of
candidates a thread reads."""

_WAITING = 2
"""How many batches of pairs for each thread wait to be written, or are being made."""

_AT_THE_DISK = 4
"""How many times as many threads there are once rows come from the disk: most of them wait."""

_MUCH_READ = 1 << 20
"""So many bytes from the disk for some pairs mean that the inputs are not in memory."""

_BLOCK = 512
"""The system counts what it reads from the disk in blocks of this size."""

_MOST_OPEN = 16

_DECIDED = ("best-vs-worst", "exhaustive")
"""The strategies that the core knows."""

Chosen = tuple["array[int]", "array[int]"]
"""The numbers of chosen and of rejected candidates."""


class NativePairs:
    """Writes the pairs of a store by the native core."""

    def __init__(self, store: CandidateStore, core: Core, threads: int) -> None:
        self._store = store
        self._core = core
        self._threads = threads
        self._maker = core.pair_maker(threads)
        self._at_the_disk = False
        self._opened: dict[int, Any] = {}

    def put_all(self, plan: PairPlan, ledger: Ledger, sink: Sink) -> None:
        """Decide and write all pairs, each of two answers to one prompt."""
        waiting: Chosen = array("I"), array("I")
        for decided in self._decided(plan, ledger):
            for numbers, more in zip(waiting, decided, strict=True):
                numbers.extend(more)
            if len(waiting[0]) >= _PAIRS:
                before = _read_from_disk()
                self._write(self._begun(*waiting), sink)
                waiting = array("I"), array("I")
                if not self._at_the_disk and _read_from_disk() - before > _MUCH_READ:
                    self._wait_in_more_threads(sink)
        self._write(self._begun(*waiting), sink)
        self._write(self._rest(), sink)

    def lines(self, chosen: "array[int]", rejected: "array[int]") -> Iterator[list[bytes] | None]:
        """The lines of pairs, some at a time; None for a pair that Python must make."""
        for made in chain(self._begun(chosen, rejected), self._rest()):
            yield None if isinstance(made[0], int) else made[0].splitlines(keepends=True)

    def _rest(self) -> Iterator[Any]:
        """What became of all pairs that are being made."""
        yield from self._maker.made(0)

    def _decided(self, plan: PairPlan, ledger: Ledger) -> Iterator[Chosen]:
        strategy, _ = strategy_named(plan.options.strategy)
        if strategy in _DECIDED and CONFLICTING not in plan.read.options.drop_rows:
            yield from self._decided_by_core(strategy, plan, ledger)
            return
        yield from _some_at_a_time(decide(self._store, plan, ledger))

    def _decided_by_core(self, strategy: str, plan: PairPlan, ledger: Ledger) -> Iterator[Chosen]:
        refuse_too_many(self._store, plan)
        groups = group_order(self._store, plan)
        columns, options = self._store.columns.by_name(), plan.options
        least = -inf if options.min_chosen_score is None else options.min_chosen_score
        most = inf if options.max_gap is None else options.max_gap
        bounds = least, options.min_gap, most, options.max_pairs_per_group
        pairing = ledger.stage_of_pairing() if Bounds(options) else None
        start = 0
        while some := array("I", groups[start : start + _GROUPS]):
            done, parts = native_core().pairs_of(strategy, columns, some, _PAIRS, *bounds)
            start += done
            for found in parts:
                if isinstance(found, int):
                    pairs = pairs_of_groups(self._store, plan, ledger, [found])
                    yield from _some_at_a_time(pairs)
                    continue
                chosen, rejected = map(array, "II", found[:2])
                number, without, left_out = found[2:]
                ledger.groups += number
                for reason, times in without:
                    ledger.groups_without_pair[reason] += times
                if pairing is not None:
                    pairing.found += len(chosen) + sum(times for _, times in left_out)
                    pairing.dropped.update(dict(left_out))
                yield chosen, rejected

    def _begun(self, chosen: "array[int]", rejected: "array[int]") -> Iterator[Any]:
        """Begin to make pairs; what became of earlier ones meanwhile."""
        columns, start = self._store.columns.by_name(), 0
        while start < len(chosen):
            start += self._maker.begin(
                chosen[start:], rejected[start:], columns, self._open, LIGHT, _BYTES
            )
            yield from self._maker.made(_WAITING * self._threads)

    def _write(self, pairs: Iterable[Any], sink: Sink) -> None:
        """Write what became of pairs."""
        for made in pairs:
            if isinstance(made[0], int):  # both candidates of a pair that is left to us
                sink.put(self._store.fetch_pair(made), WHOLE)
            else:
                lines, *scores = made
                sink.put_lines(lines, *(array("d", column) for column in scores))

    def _wait_in_more_threads(self, sink: Sink) -> None:
        """Make pairs in more threads from now on."""
        self._write(self._rest(), sink)
        self._at_the_disk = True
        self._threads *= _AT_THE_DISK
        self._maker = self._core.pair_maker(self._threads)

    def _open(self, file: int) -> Any:
        """Where the rows of a file are, and its name; None if Python has to read them."""
        if file not in self._opened:
            if len(self._opened) >= _MOST_OPEN:
                self._opened.clear()
            self._opened[file] = self._source(file)
        return self._opened[file]

    def _source(self, file: int) -> Any:
        records = self._store.records
        if not self._store.is_read_by(file, self._core):
            return None
        with suppress(PrefpairsError):  # Python meets it again, and says so
            source = opened_again(records.source(file))
            return None if source is None else (source, records.label(file))
        return None


def _read_from_disk() -> int:
    """How many bytes this process has read that were not in memory."""
    return _BLOCK * resource.getrusage(resource.RUSAGE_SELF).ru_inblock


def _some_at_a_time(pairs: Iterator[Numbers]) -> Iterator[Chosen]:
    while some := list(islice(pairs, _PAIRS)):
        chosen, rejected = zip(*some, strict=True)
        yield array("I", chosen), array("I", rejected)
