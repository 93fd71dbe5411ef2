"""Steps that index pieces of the input, and divide the columns of candidates into buckets."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import msgspec

from prefpairs.engine.inputs.candidate_reader import (
    CandidateInput,
    CandidateReader,
    candidates_of,
    reading_inputs,
)
from prefpairs.engine.native import core_for
from prefpairs.engine.runners.bucket_columns import slices_of
from prefpairs.engine.runners.phases import Phase, step_name
from prefpairs.engine.runners.step_plan import Piece, Work
from prefpairs.engine.store.candidate_columns import CandidateColumns
from prefpairs.engine.store.index_lines import LineIndexer
from prefpairs.engine.store.native_index import NativeIndexer
from prefpairs.errors import DataError, UsageError
from prefpairs.fields.cross_row_facts import Fact
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.lines import count_lines, lines_between
from prefpairs.files.open_input import InputErrorsNamed
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger, RowCounts
from prefpairs.model.candidate import candidate_line
from prefpairs.model.pair import Pair
from prefpairs.plan import ReadPlan

COLUMNS, SPOOL = "columns", "spool.jsonl"
IS_EMPTY = " is empty"
"""How the note on an input without rows ends: of a piece, it would say nothing."""


class BadRows(msgspec.Struct, array_like=True):
    """The bad rows of a piece: how many, of which kinds, and the first few."""

    count: int
    kinds: dict[str, int]
    first: list[tuple[str, str, str]]
    """Place, code and problem."""


class Place(msgspec.Struct, array_like=True):
    """Where the slice of a bucket is, and how many candidates or pairs it has."""

    offset: int
    length: int
    count: int


class PieceReceipt(msgspec.Struct, array_like=True):
    """What was found in a piece, besides its columns."""

    lines: int
    counts: RowCounts
    bad: BadRows
    facts: list[Fact]
    sources: list[str]
    notes: list[str]
    slices: dict[int, Place]
    """By bucket."""
    copied: bool = False
    """Whether the spool has the rows of the piece as they came, and not their candidates."""


class _NoPairs:
    """Refuses pairs that rollouts already contain: they would be written before all others."""

    def __init__(self, label: str) -> None:
        self._label = label

    def add(self, _: Pair) -> None:
        self.lose([""])

    def lose(self, reasons: Sequence[str]) -> None:
        if reasons:
            problem = f"{self._label} contains pairs, which --runner local alone writes first"
            raise UsageError(problem, "pair this file with --runner local")


@contextmanager
def opened_piece(
    work: Work, piece: Piece, ledger: Ledger, quarantine: str | None = None
) -> Iterator[tuple[CandidateReader, CandidateInput]]:
    """The input that a piece belongs to; InputChanged if it is not what was planned for."""
    read, stamped = work.plan.read, work.steps.inputs[piece.input]
    assert isinstance(read, ReadPlan)
    source = read.inputs[piece.input]
    one = replace(read, inputs=[source], quarantine=quarantine)
    with (
        reading_inputs(one, ledger, _NoPairs(source.label)) as reader,
        closing(reader.inputs()) as inputs,
    ):
        given = next(inputs)
        stamped.check(given.opened.seen)
        yield reader, given
        stamped.check(os.fstat(given.opened.descriptor))


class LineSpool:
    """What inputs that do not consist of lines hold, for the steps that fetch it."""

    def __init__(self, output: Output | None) -> None:
        self._output = output
        self._size = 0

    def append(self, line: bytes) -> int:
        """Write a line and return its offset."""
        offset = self._size
        assert self._output is not None
        self._output.write(line)
        self._size += len(line)
        return offset


class _Indexed(NamedTuple):
    """What was found in a piece, and how many lines of its file come before it."""

    reader: CandidateReader
    given: CandidateInput
    columns: CandidateColumns
    lines: int
    lines_before: int
    copied: bool = False


def index_candidates(work: Work, phase: Phase, step: int) -> None:
    """Index the pieces of a step; columns first, then the receipt."""
    name = step_name(phase.first, step)
    work.folder.create(name)
    receipts: list[PieceReceipt] = []
    spools = not all(piece.lines for piece in work.steps.pieces[step])
    with (
        FileTransaction() as files,
        work.folder.open(f"{name}/{COLUMNS}", files) as columns,
        work.folder.open(f"{name}/{SPOOL}", files) if spools else nullcontext() as output,
    ):
        spool, offset = LineSpool(output), 0
        for number, piece in enumerate(work.steps.pieces[step]):
            quarantine = quarantine_of(work, name, number)
            if piece.lines:
                indexed = _index_lines(work, piece, quarantine)
            else:
                indexed = _index_rows(work, piece, quarantine, spool)
            places: dict[int, Place] = {}
            found = slices_of(
                indexed.columns, indexed.reader, indexed.lines_before, work.steps.parts
            )
            for bucket, part in found:
                content = msgspec.msgpack.encode(part)
                columns.write(content)
                places[bucket] = Place(offset, len(content), len(part))
                offset += len(content)
            receipts.append(_receipt(indexed, places))
    work.write_receipt(name, receipts)


def _index_lines(work: Work, piece: Piece, quarantine: str | None) -> _Indexed:
    """Index a range of lines. How many come before it is only counted if a row is bad."""
    with suppress(DataError, UsageError):
        indexed = _index_range(work, piece, None, count=False)
        if not indexed.reader.ledger.rows_bad:
            return indexed
    return _index_range(work, piece, quarantine, count=True)


def _index_range(work: Work, piece: Piece, quarantine: str | None, *, count: bool) -> _Indexed:
    columns = CandidateColumns()
    with opened_piece(work, piece, Ledger(), quarantine) as (reader, given):
        source, opened = given.source, given.opened
        first, begin, end = opened.lines_from or 0, piece.start, piece.end
        before = count_lines(opened.descriptor, first, begin) if count else 0
        columns.begin_file(0)
        how, core = given.format.how, core_for(given.format.how)
        file = core and core.open_file(opened)
        indexer = NativeIndexer(how, source, columns, {}, reader)
        indexer.lines = before
        with InputErrorsNamed(source):
            if core is not None and file is not None:
                indexer.index_file(core, file, opened, 1, None, lines=(begin, end))
            else:
                lines = lines_between(opened.descriptor, begin, end, source.limits.line)
                indexer.index(lines, begin)
        settle(reader)
    return _Indexed(reader, given, columns, indexer.lines - before, before)


def _index_rows(work: Work, piece: Piece, quarantine: str | None, spool: LineSpool) -> _Indexed:
    """Index all rows of an input that does not consist of lines.

    The rows that the native core may know are spooled as they come; else their candidates are, with
    their origins.
    """
    columns = CandidateColumns()
    with opened_piece(work, piece, Ledger(), quarantine) as (reader, given):
        columns.begin_file(0)
        how, source, first = given.format.how, given.source, next(given.records, None)
        records = given.records if first is None else chain([first], given.records)
        core = None if first is None or first.member else core_for(how)
        if core is not None:
            indexer = LineIndexer(how, source, columns, {}, reader)
            indexer.index_records(core, records, lambda record: spool.append(record.data))
        else:
            for candidate in candidates_of(reader.read_rows(records, how, source.label)):
                line = candidate_line(candidate)
                columns.add_row([candidate], spool.append(line), len(line), 0)
        settle(reader)
    return _Indexed(reader, given, columns, 0, 0, copied=core is not None)


def settle(reader: CandidateReader) -> None:
    """Raise if there are bad rows; how many are too many shows when all steps are done."""
    if reader.rows.plan.on_error == "fail":
        reader.rows.settle()


def _receipt(indexed: _Indexed, places: dict[int, Place]) -> PieceReceipt:
    reader = indexed.reader
    facts, sources = reader.formats.facts.all(), indexed.given.format.sources
    receipt = piece_receipt(reader.ledger, sources, facts, places, indexed.lines)
    receipt.copied = indexed.copied
    return receipt


def piece_receipt(
    ledger: Ledger,
    sources: list[str],
    facts: list[Fact],
    places: dict[int, Place],
    lines: int = 0,
) -> PieceReceipt:
    """The receipt of a piece whose rows a ledger has counted."""
    notes = [note for note in ledger.notes if not note.endswith(IS_EMPTY)]
    bad = bad_rows(ledger)
    return PieceReceipt(lines, ledger.row_counts(), bad, facts, sources, notes, places)


def bad_rows(ledger: Ledger) -> BadRows:
    """The bad rows that a ledger knows."""
    first = [(place, error.code, error.problem) for place, error in ledger.first_bad]
    return BadRows(ledger.rows_bad, ledger.bad_by_kind, first)


def quarantine_of(work: Work, name: str, piece: int) -> str | None:
    """Where the bad rows of a piece of a step go, if they are wanted."""
    if work.plan.read.quarantine is None:
        return None
    return work.folder.at(f"{name}/{bad_rows_name(piece)}")


def bad_rows_name(piece: int) -> str:
    """The name of the bad rows of a piece, in the folder of its step."""
    return f"bad-{piece:05}.jsonl"
