"""Pairs to lines, and what the ledger knows of each."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from prefpairs.files.output import Output
from prefpairs.ledger import Ledger
from prefpairs.model.marks import marks_of
from prefpairs.model.pair import Pair, pair_line
from prefpairs.plan import Plan

if TYPE_CHECKING:
    from prefpairs.stages.base import IndexedPair
    from prefpairs.stages.split_sides import SideOwners

WHOLE = ""
"""The name of the only output, where pairs are not split."""


class Written(Protocol):
    """Where the pairs behind entries are, and the lines of those that may go out as they stand."""

    def pair(self, entry: "IndexedPair", /) -> Pair:
        """The pair itself."""
        ...

    def line(self, entry: "IndexedPair", /) -> bytes | None:
        """Its line, where that is known to be what `pair_line` would give."""
        ...


class Sink(Protocol):
    """Where pairs go."""

    def put(self, pair: Pair, side: str, /) -> bool:
        """Take a pair for a side; whether it will be written."""
        ...

    def take(self, entry: "IndexedPair", pairs: Written, side: str, /) -> bool:
        """The same, with the pair behind an entry."""
        ...


@contextmanager
def open_sink(
    outputs: Mapping[str, Output], ledger: Ledger, plan: Plan, kept: "SideOwners | None" = None
) -> Iterator[Sink]:
    """Where the pairs of a run go: as they are, or as a trainer wants them.

    With `kept`, each prompt that the trainer sees is written only for the side that keeps it.
    """
    if plan.export is None:
        yield PairLines(outputs, ledger)
        return
    from prefpairs.engine.export import Exporter
    from prefpairs.stages.split_sides import SideOwners

    if kept is None and len({*plan.sides.values()}) > 1:
        kept = SideOwners()
    allow_empty = plan.write.allow_empty
    with Exporter(plan.export, outputs, ledger, allow_empty=allow_empty, kept=kept) as exporter:
        yield exporter
        exporter.finish()


class PairLines:
    """Pairs as they are, a line each."""

    def __init__(self, outputs: Mapping[str, Output], ledger: Ledger) -> None:
        self.outputs = outputs
        self._ledger = ledger
        ledger.lines_written.update(dict.fromkeys(outputs, 0))

    def put(self, pair: Pair, side: str, /) -> bool:
        """Write one pair, and count it."""
        self.outputs[side].write(pair_line(pair))
        self._ledger.lines_written[side] += 1
        count_pair(pair, self._ledger)
        return True

    def take(self, entry: "IndexedPair", pairs: Written, side: str, /) -> bool:
        """The same, with the line as it stands, if there is one. The first pair is an example."""
        line = pairs.line(entry) if self._ledger.pairs else None
        if line is None:
            return self.put(pairs.pair(entry), side)
        self.outputs[side].write(line)
        self._ledger.lines_written[side] += 1
        self._ledger.add_pair(entry.gap, entry.chosen_score, entry.rejected_score)
        return True


def count_pair(pair: Pair, ledger: Ledger) -> None:
    """Count a pair that is written; the first one serves as an example."""
    ledger.add_pair(pair.gap, pair.chosen_score, pair.rejected_score)
    if pair.meta:
        ledger.marked.update(marks_of(pair.meta))
    if ledger.example is None:
        ledger.example = pair.prompt, pair.chosen, pair.rejected
