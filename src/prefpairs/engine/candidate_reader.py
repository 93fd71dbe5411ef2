"""Inputs to candidates: opens each file, finds its source, and books what became of each row."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, Protocol

from prefpairs.engine.row_formats import Format, Formats
from prefpairs.engine.row_reader import Rows, reading_rows
from prefpairs.errors import TwoReadings
from prefpairs.fields.answer import TASK, Reading
from prefpairs.files.inputs import Input
from prefpairs.files.lines import Record
from prefpairs.files.open_input import OpenInput, open_input
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.model.pair import Pair
from prefpairs.plan import ReadPlan
from prefpairs.sources.base import Opened


class Read(NamedTuple):
    """One record and what became of it."""

    record: Record
    reading: Reading
    label: str


class BeingRead(NamedTuple):
    """An input of which nothing was read yet: `readings` does."""

    source: Input
    opened: OpenInput
    format: Format
    how: Opened
    before: int
    """The bytes that were read before any of it."""
    readings: Iterator[Read]


class TakesPairs(Protocol):
    """Who takes the pairs that stand ready in rows."""

    def add(self, pair: Pair) -> None:
        """Take a pair."""
        ...

    def lose(self, reasons: Sequence[str]) -> None:
        """Take the reasons for which others are unfit."""
        ...


@dataclass(slots=True)
class Reader:
    """Reads the inputs of a plan and keeps the ledgers of rows and candidates."""

    plan: ReadPlan
    rows: Rows
    ledger: Ledger
    ready: TakesPairs | None = None
    _items: set[bytes] = field(default_factory=set)
    _task_of: dict[str, str] = field(default_factory=dict)
    _joined: set[str] = field(default_factory=set)
    formats: Formats = field(init=False)

    def __post_init__(self) -> None:
        """Begin without a row."""
        self.formats = Formats(self.plan, self.ledger)
        options = self.plan.options
        self.ledger.reasons_to_keep, self.ledger.reasons_to_drop = (
            options.keep_rows,
            options.drop_rows,
        )

    def inputs(self) -> Iterator[BeingRead]:
        """Each input with how it is read and its readings; what is wrong is told at the end."""
        ledger = self.ledger
        for source in self.plan.inputs:
            before = ledger.progress.own_bytes
            with open_input(source, ledger.progress.add_bytes) as opened:
                found, first = self.formats.open(source.label, opened.records)
                if not first:
                    ledger.note(f"{source.label} is empty")
                records = chain(_handed_over(first), opened.records)
                readings = self._readings(records, found.how, source.label)
                yield BeingRead(source, opened, found, found.how, before, readings)
                ledger.sources += [(source.label, name) for name in found.sources]
        self.formats.tell()
        self.rows.settle()
        self.formats.settle()
        ledger.groups_of_several_tasks = len(self._joined)

    def read_one(self, record: Record, how: Opened, label: str) -> Reading | None:
        """What became of one more record, if it can be read."""
        reading = self.rows.read_one(record, how.read, label)
        if reading is not None:
            self._book(record, reading, label)
        return reading

    @property
    def compares_rows(self) -> bool:
        """Whether rows were held against each other: only who reads all of them can do that."""
        return bool(self._items or self._task_of)

    def book_plain(self, rows: int, how: Opened) -> None:
        """Count rows that gave one candidate each, and show what the shortcut knows of them."""
        if how.shortcut is not None:
            self.formats.shown.add(how.shortcut.shown)
        self.ledger.rows_read += rows
        self.ledger.rows_used += rows
        self.ledger.candidates_found += rows

    def _readings(self, records: Iterator[Record], how: Opened, label: str) -> Iterator[Read]:
        for record, reading in self.rows.read(records, how.read, label):
            self._book(record, reading, label)
            yield Read(record, reading, label)

    def _book(self, record: Record, reading: Reading, label: str) -> None:
        place = f"{label}:{record.number}"
        try:
            self.formats.book(record.data, reading)
        except TwoReadings as error:
            raise error.at(place) from None
        self._book_losses(reading)
        self._book_pairs(reading, place)

    def _book_losses(self, reading: Reading) -> None:
        ledger = self.ledger
        ledger.candidates_found += len(reading.kept) + len(reading.lost)
        if reading.kept or (reading.pairs and self.ready is not None):
            ledger.rows_used += 1
        else:
            left_out = ["pairs_left_out"] if reading.pairs else []
            losses = [*reading.lost, *reading.pairs_lost, *left_out, "no_response"]
            ledger.rows_dropped[reading.row_lost or losses[0]] += 1
        if reading.lost:
            ledger.candidates_dropped.update(reading.lost)
        if reading.mends:
            ledger.noticed.update(reading.mends)
        if reading.item is not None:
            if reading.item in self._items:
                ledger.noticed["repeated_item_id"] += 1
            self._items.add(reading.item)
        for candidate in reading.kept:
            task = candidate.meta and candidate.meta.get(TASK)
            if task and self._task_of.setdefault(candidate.group, task) != task:
                self._joined.add(candidate.group)

    def _book_pairs(self, reading: Reading, origin: str) -> None:
        """Hand on the pairs that stood ready in a row."""
        if self.ready is not None:
            self.ready.lose(reading.pairs_lost)
            for pair in reading.pairs:
                self.ready.add(pair._replace(chosen_origin=origin, rejected_origin=origin))
        elif reading.pairs:
            self.ledger.noticed["pairs_left_out"] += len(reading.pairs)


@contextmanager
def reading_inputs(
    plan: ReadPlan, ledger: Ledger, ready: TakesPairs | None = None
) -> Iterator[Reader]:
    """A reader of the plan's inputs; its quarantine file appears when the block ends well."""
    with reading_rows(plan, ledger) as rows:
        yield Reader(plan, rows, ledger, ready)


def _handed_over(records: list[Record]) -> Iterator[Record]:
    """The records of a list, each let go once it is taken."""
    records.reverse()
    while records:
        yield records.pop()


def with_origin(reading: Reading, slot: int, label: str, number: int) -> Candidate:
    """A candidate with where it came from: an earlier stage's word for it, or file and line."""
    candidate = reading.kept[slot]
    if candidate.origin:
        return candidate
    several = len(reading.kept) + len(reading.lost) > 1
    suffix = f"#{reading.places[slot]}" if several else ""
    return candidate._replace(origin=f"{label}:{number}{suffix}")
