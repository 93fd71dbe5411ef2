"""Where the pairs of a run come from, and how they are written as lines and counted."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from prefpairs.files.output import Output
from prefpairs.ledger import Ledger
from prefpairs.model.json_codec import decode
from prefpairs.model.marks import marks_of
from prefpairs.model.pair import Pair, pair_line
from prefpairs.plan import Plan

if TYPE_CHECKING:
    from prefpairs.engine.pairs.pairs_from_candidates import PairsFromCandidates
    from prefpairs.engine.pairs.pairs_from_files import Keep, PairsFromFiles
    from prefpairs.stages.base import IndexedPair
    from prefpairs.stages.pair_columns import PairColumns
    from prefpairs.stages.split_sides import SideOwners

Lines = Sequence[bytes] | None
"""The lines of pairs, if they can be copied."""

WHOLE = ""
"""The name of the only output, where pairs are not split."""


class Written(Protocol):
    """Fetches the pairs of entries, and the lines of those that can be copied."""

    def pair(self, entry: "IndexedPair", /) -> Pair:
        """The pair itself."""
        ...

    def pair_in(self, pairs: "PairColumns", slot: int, /) -> Pair:
        """The pair in a slot."""
        ...

    def lines(self, pairs: "PairColumns", /) -> "Iterator[tuple[Sequence[int], Lines]]":
        """All slots in order, some at a time, with their lines.

        None if it is not known that these are what `pair_line` would give.
        """
        ...


class Sink(Protocol):
    """Where pairs go."""

    def put(self, pair: Pair, side: str, /) -> bool:
        """Take a pair for a side; whether it will be written."""
        ...

    def put_lines(
        self,
        lines: bytes,
        gaps: Sequence[float],
        chosen: Sequence[float],
        rejected: Sequence[float],
        /,
    ) -> None:
        """Take the lines of pairs of the whole, none of which has a mark."""
        ...

    def take(
        self, pairs: "PairColumns", texts: Written, sides: Sequence[str], /
    ) -> Mapping[str, int]:
        """Take many pairs, each for its side; how many will be written for each."""
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
    from prefpairs.engine.outputs.export import Exporter
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

    def put_lines(
        self,
        lines: bytes,
        gaps: Sequence[float],
        chosen: Sequence[float],
        rejected: Sequence[float],
        /,
    ) -> None:
        """Write the lines of pairs, none of which has a mark; count them."""
        self._take_example(lines)
        self.outputs[WHOLE].write(lines)
        self._ledger.lines_written[WHOLE] += len(gaps)
        self._ledger.add_pairs(len(gaps), gaps, chosen, rejected)

    def take(
        self, pairs: "PairColumns", texts: Written, sides: Sequence[str], /
    ) -> Mapping[str, int]:
        """Write many pairs, each for its side, and copy the lines that can be copied."""
        for slots, lines in texts.lines(pairs):
            if lines is None:
                for slot in slots:
                    self.put(texts.pair_in(pairs, slot), sides[slot])
                continue
            self._take_example(lines[0])
            self._copy(lines, [sides[slot] for slot in slots])
            self._ledger.add_pairs(*pairs.known_scores(slots))
        return Counter(sides)

    def _take_example(self, lines: bytes) -> None:
        """The first pair of all serves as an example."""
        if self._ledger.example is None and lines:
            first = decode(lines[: lines.find(b"\n") + 1] or lines)
            self._ledger.example = first["prompt"], first["chosen"], first["rejected"]

    def _copy(self, lines: Sequence[bytes], sides: Sequence[str]) -> None:
        for side in dict.fromkeys(sides):
            own = [line for line, given in zip(lines, sides, strict=True) if given == side]
            self.outputs[side].write(b"".join(own))
            self._ledger.lines_written[side] += len(own)


def count_pair(pair: Pair, ledger: Ledger) -> None:
    """Count a pair that is written; the first one serves as an example."""
    ledger.add_pair(pair.gap, pair.chosen_score, pair.rejected_score)
    if pair.meta:
        ledger.marked.update(marks_of(pair.meta))
    if ledger.example is None:
        ledger.example = pair.prompt, pair.chosen, pair.rejected


@contextmanager
def open_pairs(
    plan: Plan, ledger: Ledger, keep: "Keep | None" = None
) -> "Iterator[PairsFromFiles | PairsFromCandidates]":
    """The pairs of the plan: those that it makes, or those in its inputs.

    `keep` says what will be needed after all of the latter have been read.
    """
    if plan.pair is not None:
        from prefpairs.engine.pairs.pairs_from_candidates import PairsFromCandidates
        from prefpairs.engine.store.candidate_store import CandidateStore

        with CandidateStore(plan.pair) as store:
            yield PairsFromCandidates(plan.pair, store, ledger)
            store.check()
        return
    from prefpairs.engine.inputs.row_reader import reading_rows
    from prefpairs.engine.pairs.pairs_from_files import PairsFromFiles
    from prefpairs.engine.pairs.stage_runner import wanted_again
    from prefpairs.fields.pair_row import PairRowOutcome
    from prefpairs.files.fetch_records import RecordFetcher

    read, sides = in_reading_order(plan).read, plan.sides
    keep = wanted_again(plan) if keep is None else keep
    with RecordFetcher[PairRowOutcome]() as records, reading_rows(read, ledger) as rows:
        yield PairsFromFiles(rows, records, keep=keep, temp_dir=plan.temp_dir, sides=sides)
        records.check()


def in_reading_order(plan: Plan) -> Plan:
    """The plan with its inputs in the order in which they are read.

    If inputs belong to several sides, the side that keeps a prompt is read first, so that no pair
    has to wait.
    """
    sides = plan.sides
    if len({*sides.values()}) < 2:
        return plan
    from prefpairs.stages.split_sides import owner_first

    inputs = sorted(plan.read.inputs, key=lambda given: owner_first(sides[given]))
    return replace(plan, read=replace(plan.read, inputs=inputs))
