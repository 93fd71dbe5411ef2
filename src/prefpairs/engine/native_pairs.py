"""Pairs whose lines the native core makes: many at a time, in several threads.

The core reads both candidates again, compares them with the columns, and writes the line that
`pair_line` would write. What it does not know exactly it leaves to `fetch_pair`, pair by pair, so
that Python raises every error.
"""

from array import array
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Any

from prefpairs.engine.candidate_store import CandidateStore, Numbers
from prefpairs.engine.native import Core, native_core
from prefpairs.engine.pair_io import WHOLE, PairLines
from prefpairs.errors import PrefpairsError
from prefpairs.model.memory_guard import LIGHT

_PAIRS, _BYTES = 1 << 11, 1 << 20
"""How many pairs are decided at a time, and how many bytes of candidates a thread reads."""

_MOST_OPEN = 16


class NativePairs:
    """Writes the pairs of a store by the native core."""

    def __init__(self, store: CandidateStore, core: Core, threads: int) -> None:
        self._store = store
        self._core = core
        self._threads = threads
        self._opened: dict[int, Any] = {}

    def put(self, pairs: Iterable[Numbers], sink: PairLines) -> None:
        """Write pairs, given by the numbers of their candidates."""
        numbers = iter(pairs)
        for first in islice(numbers, 1):  # an example, which is kept as values
            sink.put(self._store.fetch_pair(first), WHOLE)
        while some := list(islice(numbers, _PAIRS)):
            self._put(some, sink)

    def _put(self, pairs: list[Numbers], sink: PairLines) -> None:
        columns = self._store.columns.by_name()
        chosen, rejected = map(array, "II", zip(*pairs, strict=True))
        while chosen:
            size = _BYTES * self._threads
            done, found = self._core.pairs(
                chosen, rejected, columns, self._open, LIGHT, size, self._threads
            )
            for made in found:
                if isinstance(made, int):
                    sink.put(self._store.fetch_pair((chosen[made], rejected[made])), WHOLE)
                else:
                    lines, *scores = made
                    sink.put_lines(lines, *(array("d", column) for column in scores))
            del chosen[:done], rejected[:done]

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
        with suppress(PrefpairsError, OSError):  # Python meets them again, and says so
            source = records.source(file)
            if isinstance(source, int):
                source = native_core().OpenFile(source)
            return source, records.label(file)
        return None
