"""Inputs to candidates: opens each file, finds its format, and counts the outcome of each row."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, Protocol

from prefpairs.engine.inputs.row_reader import Rows, reading_rows
from prefpairs.engine.inputs.source_choice import Format, Formats
from prefpairs.engine.native import digest_table
from prefpairs.errors import TwoReadings
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.files.input_file import Input
from prefpairs.files.lines import Record
from prefpairs.files.open_input import OpenInput, open_input
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import DIGEST
from prefpairs.model.pair import Pair
from prefpairs.plan import ReadPlan
from prefpairs.sources.base import RecordReader
from prefpairs.stages.digest_table import DigestTable

_NOTHING: Mapping[str, int] = {}


class RowRead(NamedTuple):
    """A row, and what was read from it."""

    record: Record
    reading: RowOutcome
    label: str


class CandidateInput(NamedTuple):
    """An open input. Its rows are read while `rows` is consumed."""

    source: Input
    opened: OpenInput
    format: Format
    bytes_before: int
    """How many bytes had been read before this input."""
    records: Iterator[Record]
    """All of its records. A caller that takes them must not read `rows`; where lines are indexed,
    neither is read."""
    rows: Iterator[RowRead]


class PairReceiver(Protocol):
    """Receives the pairs that rows contain."""

    def add(self, pair: Pair) -> None:
        """Take a pair."""
        ...

    def lose(self, reasons: Sequence[str]) -> None:
        """Count pairs that cannot be used, by reason."""
        ...


@dataclass(slots=True)
class CandidateReader:
    """Reads the inputs of a plan, and counts their rows and candidates."""

    plan: ReadPlan
    rows: Rows
    pairs: PairReceiver | None = None
    ledger: Ledger = field(init=False)
    formats: Formats = field(init=False)
    items: DigestTable = field(default_factory=digest_table)
    """What identifies rows that should not occur twice."""

    def __post_init__(self) -> None:
        """Begin without a row."""
        self.ledger = self.rows.ledger
        self.formats = Formats(self.plan, self.ledger)
        self.ledger.reasons_to_keep = self.plan.options.keep_rows
        self.ledger.reasons_to_drop = self.plan.options.drop_rows

    def inputs(self) -> Generator[CandidateInput, None, None]:
        """Each input, opened. What is wrong with the rows as a whole is raised at the end."""
        ledger = self.ledger
        for source in self.plan.inputs:
            before = ledger.progress.own_bytes
            with open_input(source, ledger.progress.add_bytes) as opened:
                found, first = self.formats.open(source.label, opened.records)
                if not first:
                    ledger.note(f"{source.label} is empty")
                records = chain(_consumed(first), opened.records)
                rows = self.read_rows(records, found.how, source.label)
                yield CandidateInput(source, opened, found, before, records, rows)
                ledger.sources += [(source.label, name) for name in found.sources]
        self.formats.tell()
        self.rows.settle()
        self.formats.settle()

    def read_one(self, record: Record, how: RecordReader, label: str) -> RowOutcome | None:
        """What was read from one more row; None if it is bad."""
        reading = self.rows.read_one(record, how.read, label)
        if reading is not None:
            self._count(record, reading, label)
        return reading

    def count_scanned(
        self,
        rows: int,
        how: RecordReader,
        candidates: int,
        noticed: Mapping[str, int] = _NOTHING,
        items: bytes = b"",
    ) -> None:
        """Count rows that the fast reader or the native core has read; no candidate was lost."""
        self.formats.facts.add(how.facts)
        self.ledger.rows_read += rows
        self.ledger.rows_used += rows
        self.ledger.candidates_found += candidates
        self.ledger.noticed.update(noticed)
        for place in range(0, len(items), DIGEST):
            self._count_item(items[place : place + DIGEST])

    def read_rows(
        self, records: Iterator[Record], how: RecordReader, label: str
    ) -> Iterator[RowRead]:
        """Rows of an input, with what was read from each."""
        for record, reading in self.rows.read(records, how.read, label):
            self._count(record, reading, label)
            yield RowRead(record, reading, label)

    def _count(self, record: Record, reading: RowOutcome, label: str) -> None:
        place = f"{record.within(label)}:{record.number}"
        try:
            self.formats.book(record.data, reading)
        except TwoReadings as error:
            raise error.at(place) from None
        self._count_candidates(reading)
        if reading.item is not None:
            self._count_item(reading.item)
        self._pass_on_pairs(reading, place)

    def _count_candidates(self, reading: RowOutcome) -> None:
        """Count a row as used or dropped; a row without a reward is dropped as `no_score`."""
        ledger = self.ledger
        ledger.candidates_found += len(reading.kept) + len(reading.lost)
        if reading.kept or (reading.pairs and self.pairs is not None):
            ledger.rows_used += 1
        else:
            left_out = ["pairs_left_out"] if reading.pairs else []
            losses = [*reading.lost, *reading.pairs_lost, *left_out, "no_response"]
            ledger.rows_dropped[reading.row_lost or losses[0]] += 1
        if reading.lost:
            ledger.candidates_dropped.update(reading.lost)
        if reading.noticed:
            ledger.noticed.update(reading.noticed)

    def _count_item(self, item: bytes) -> None:
        """Notice an id that occurs in several rows."""
        known = len(self.items)
        if self.items.number_of(item) < known:
            self.ledger.noticed["repeated_item_id"] += 1

    def _pass_on_pairs(self, reading: RowOutcome, origin: str) -> None:
        if self.pairs is not None:
            self.pairs.lose(reading.pairs_lost)
            for pair in reading.pairs:
                self.pairs.add(pair._replace(chosen_origin=origin, rejected_origin=origin))
        elif reading.pairs:
            self.ledger.noticed["pairs_left_out"] += len(reading.pairs)


@contextmanager
def reading_inputs(
    plan: ReadPlan, ledger: Ledger, pairs: PairReceiver | None = None
) -> Iterator[CandidateReader]:
    """A reader of the plan's inputs; the quarantine file appears if the block ends well."""
    with reading_rows(plan, ledger) as rows:
        yield CandidateReader(plan, rows, pairs)


def _consumed(records: list[Record]) -> Iterator[Record]:
    """The records of a list, each removed from it once it is taken, so that it can be freed."""
    records.reverse()
    while records:
        yield records.pop()


def with_origin(reading: RowOutcome, slot: int, label: str, number: int) -> Candidate:
    """A candidate with its origin: the one that an earlier command wrote, or file and line."""
    candidate = reading.kept[slot]
    if candidate.origin:
        return candidate
    several = len(reading.kept) + len(reading.lost) > 1
    suffix = f"#{reading.places[slot]}" if several else ""
    return candidate._replace(origin=f"{label}:{number}{suffix}")


def candidates_of(rows: Iterable[RowRead]) -> Iterator[Candidate]:
    """The candidates of rows, each with its origin."""
    for record, reading, label in rows:
        for slot in range(len(reading.kept)):
            yield with_origin(reading, slot, record.within(label), record.number)
