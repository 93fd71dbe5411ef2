"""Inputs to the index: what is remembered of each candidate, and where it can be fetched again."""

import io
from collections.abc import Iterable, Iterator

from prefpairs.engine.candidate_index import Index, Place
from prefpairs.engine.candidate_reader import BeingRead, Read, Reader, with_origin
from prefpairs.engine.line_scanner import Scanner
from prefpairs.engine.processes import processes_for
from prefpairs.engine.record_fetch import Candidates
from prefpairs.engine.scan_workers import Workers
from prefpairs.fields.answer import read_candidate
from prefpairs.files.byte_ranges import byte_ranges, lines_between
from prefpairs.files.open_input import NamingTrouble
from prefpairs.files.record_files import RecordFile
from prefpairs.model.candidate import Candidate, candidate_line
from prefpairs.plan import PairPlan

_WORTH_A_WORKER = 1 << 24
"""A worker saves more time than it costs from here on: 16 MB take 30 ms, to fork takes 10."""


def fill(index: Index, library: Candidates, reader: Reader, plan: PairPlan) -> None:
    """Index all candidates; those that cannot be fetched from where they are go to a spool.

    TwoReadings if all of them together show that a guess was not safe.
    """
    for given in reader.inputs():
        if not given.opened.seekable:
            _put_aside(given, index, library, plan.temp_dir)
        elif given.opened.lines_from is None or plan.read.limit is not None:
            _fill_record_by_record(given, index, _shelf_of(given, library))
        else:
            _fill_from_lines(given, index, reader, _shelf_of(given, library), plan.options.workers)
    reader.formats.shown.check_answers(index.constant_groups)


def _shelf_of(given: BeingRead, library: Candidates) -> int:
    shelf = RecordFile(given.source, given.opened.seen, given.opened.content)
    number = library.add(shelf, given.source.label, given.how.read)
    if given.how.shortcut is not None:
        library.add_plain(number, given.how.shortcut.read)
    return number


def _fill_record_by_record(given: BeingRead, index: Index, shelf: int) -> None:
    for record, reading, _ in given.readings:
        index.add_row(reading.kept, shelf, record.offset, len(record.data), record.number)


def _fill_from_lines(
    given: BeingRead, index: Index, reader: Reader, shelf: int, workers: int | None
) -> None:
    """Scan the lines of a file, in as many stretches at once as there are workers."""
    source, opened = given.source, given.opened
    start, end = opened.lines_from or 0, opened.size
    number = processes_for(workers, end - start, _WORTH_A_WORKER)
    scanner = Scanner(given.how, source, shelf, index, reader)
    if opened.content is not None and number == 1:
        scanner.scan(io.BytesIO(opened.content[start:]), start)
        return
    longest, progress = source.limits.line, reader.ledger.progress
    progress.own_bytes = given.before  # the rows that were looked at are read once more
    with NamingTrouble(source):
        parts = byte_ranges(opened.descriptor, start, end, number)
        with Workers(given, reader.plan, parts[1:], progress) as others:
            for place, (begin, stop) in enumerate(parts):
                if place and others.hand_over(place - 1, scanner):
                    continue
                lines = lines_between(opened.descriptor, begin, stop, longest, progress.add_bytes)
                scanner.scan(lines, begin)


def _put_aside(given: BeingRead, index: Index, library: Candidates, temp_dir: str | None) -> None:
    shelf, spool = library.spool(temp_dir, read_candidate)
    for candidate in candidates_of(given.readings):
        line = candidate_line(candidate)
        index.add(candidate, Place(shelf, spool.append(line), len(line), 0, 0))


def candidates_of(readings: Iterable[Read]) -> Iterator[Candidate]:
    """The candidates of rows, each with where it came from."""
    for record, reading, label in readings:
        for slot in range(len(reading.kept)):
            yield with_origin(reading, slot, label, record.number)
