"""Pairs of files, as sieves see them: one pass over the rows, and the texts wherever needed."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Literal
from zlib import crc32

from prefpairs.engine.input_kind import check_kind
from prefpairs.engine.pair_writer import WHOLE, Sink
from prefpairs.engine.record_fetch import Library
from prefpairs.engine.row_reader import Rows
from prefpairs.engine.trainer_rows import unwrap
from prefpairs.errors import InputChanged
from prefpairs.fields.pair_row import PairReading, read_pair
from prefpairs.fields.pair_row_fast import read_pair_fast
from prefpairs.files.inputs import Input
from prefpairs.files.lines import Record
from prefpairs.files.open_input import OpenInput, open_input
from prefpairs.files.record_files import RecordFile, Spool
from prefpairs.ledger import Ledger
from prefpairs.model.identity import digest
from prefpairs.model.pair import Pair, pair_line
from prefpairs.plan import InputPlan
from prefpairs.stages.base import IndexedPair

_SHELF_SHIFT = 44
"""A place is an offset of up to 16 TB, and above it the number of one of a million shelves."""

_OFFSET = (1 << _SHELF_SHIFT) - 1

Keep = Literal["nothing", "pairs", "lines"]
"""What is wanted of pairs once they have passed.

Most lines come from `prefpairs`, and will be written as they stand. To see that takes 2 us when a
pair is read; to read and to encode it once more takes 14, of 35 for all that `dedupe` does.
"""

_OURS = b'{"id":"'
"""How the lines begin that are written here."""

Readings = Iterator[tuple[Record, PairReading]]


def pair_readings(rows: Rows, ledger: Ledger) -> Iterator[tuple[Input, OpenInput, Readings]]:
    """The inputs of a run, one after the other, each with the pairs that could be trained on.

    Once a bad row was met that is not to be passed over, there are none any more.
    """
    for source in rows.plan.inputs:
        with open_input(source, ledger.progress.add_bytes) as opened:
            ledger.sources.append((source.label, "pairs"))
            before = ledger.rows_read
            yield source, opened, _booked(rows, opened, source.label, ledger)
            if ledger.rows_read == before and rows.plan.limit is None:
                ledger.note(f"{source.label} is empty")
    rows.settle()


def _booked(rows: Rows, opened: OpenInput, label: str, ledger: Ledger) -> Readings:
    for record, reading in rows.read(opened.records, _checked_reader(rows.plan), label):
        if reading.mends:
            ledger.noticed.update(reading.mends)
        if reading.lost is not None:
            ledger.rows_dropped[reading.lost] += 1
            continue
        ledger.rows_used += 1
        if not (ledger.rows_bad and rows.failed):
            yield record, reading


def reader_of(dialect: str) -> Callable[[bytes], PairReading]:
    """How rows are read: as pairs, or as what trainers have in their place."""
    read = partial(read_pair, unwrap=partial(unwrap, dialect=dialect))
    if dialect != "auto":
        return read
    return lambda record: read_pair_fast(record) or read(record)


def _checked_reader(plan: InputPlan) -> Callable[[bytes], PairReading]:
    """The same, where rows may turn out to be none of pairs. Those in the usual shape are pairs."""
    read = reader_of(plan.dialect)
    if plan.one_kind is None:
        return read

    def read_of_kind(record: bytes) -> PairReading:
        plain = read_pair_fast(record)
        if plain is None:
            check_kind(record, plan.one_kind)
        return plain or read(record)

    return read_of_kind


class FiledPairs:
    """The pairs of a run's inputs. `keep` says what is wanted of them after they have passed."""

    def __init__(
        self,
        rows: Rows,
        library: Library[PairReading],
        *,
        keep: Keep,
        temp_dir: str | None,
        sides: Mapping[Input, str] | None = None,
    ) -> None:
        """`sides` are those of the inputs, where pairs go by them."""
        self._sides = sides or {}
        self._rows = rows
        self._library = library
        self._ledger = rows.ledger
        self._keep = keep
        self._temp_dir = temp_dir
        self._last: tuple[IndexedPair, Pair] | None = None

    def entries(self) -> Iterator[IndexedPair]:
        """The pairs that could be trained on; none any more once a bad row was met."""
        for source, opened, readings in pair_readings(self._rows, self._ledger):
            shelf, spool = self._shelf(source, opened)
            for record, reading in readings:
                yield self._entry(shelf, spool, record, reading)

    def put_all(self, sink: Sink) -> None:
        """Give all pairs to the sink, each for the side of its input."""
        for source, _, readings in pair_readings(self._rows, self._ledger):
            side = self._sides.get(source, WHOLE)
            for _, reading in readings:
                written = sink.put(reading.pair, side)
                if side:
                    self._ledger.sides[side] += written

    def pair(self, entry: IndexedPair) -> Pair:
        """The pair behind an entry."""
        if self._last is not None and self._last[0] is entry:
            return self._last[1]
        shelf, offset = entry.place >> _SHELF_SHIFT, entry.place & _OFFSET
        pair = self._library.record(shelf, offset, entry.length).pair
        if not _is_of(pair, entry):
            raise InputChanged(self._library.label(shelf))
        return pair

    def line(self, entry: IndexedPair) -> bytes | None:
        """The line behind an entry, where it is known that the pair would be written so."""
        if not entry.line_crc:
            return None
        shelf, offset = entry.place >> _SHELF_SHIFT, entry.place & _OFFSET
        line = self._library.line(shelf, offset, entry.length)
        if _seal(line) != entry.line_crc:
            raise InputChanged(self._library.label(shelf))
        return line

    def _shelf(self, source: Input, opened: OpenInput) -> tuple[int, Spool | None]:
        """Where the pairs of an input can be fetched from; what cannot be sought is put aside."""
        if self._keep == "nothing":
            return 0, None
        if opened.seekable:
            shelf = RecordFile(source, opened.seen, opened.content)
            return self._library.add(shelf, source.label, reader_of(self._rows.plan.dialect)), None
        return self._library.spool(self._temp_dir, read_pair)

    def _entry(
        self, shelf: int, spool: Spool | None, record: Record, reading: PairReading
    ) -> IndexedPair:
        pair = reading.pair
        offset, line = record.offset, record.data
        if spool is not None:
            line = pair_line(pair)
            offset = spool.append(line)
        place = shelf << _SHELF_SHIFT | offset
        entry = entry_of(reading, self._ledger.rows_read, place, len(line))
        if self._keep == "lines" and (spool or _as_written(line, pair)):
            entry = entry._replace(line_crc=_seal(line))
        self._last = entry, pair
        return entry


def _is_of(pair: Pair, entry: IndexedPair) -> bool:
    """Whether a pair is still the one that was decided on. Groups that nobody asks for are gone."""
    numbers = pair.gap, pair.chosen_score, pair.rejected_score
    same = numbers == (entry.gap, entry.chosen_score, entry.rejected_score)
    return same and bytes.fromhex(pair.id) == entry.id and entry.group in (b"", _group_of(pair))


def _group_of(pair: Pair) -> bytes:
    return digest("name", pair.group.encode())


def entry_of(reading: PairReading, number: int, place: int, length: int) -> IndexedPair:
    """What sieves see of a pair."""
    pair, digests = reading.pair, reading.digests
    return IndexedPair(
        number=number,
        place=place,
        length=length,
        gap=pair.gap,
        chosen_score=pair.chosen_score,
        rejected_score=pair.rejected_score,
        id=bytes.fromhex(pair.id),
        prompt=digests.prompt,
        tools=digests.tools,
        chosen=digests.chosen,
        rejected=digests.rejected,
        group=_group_of(pair),
        other_prompt=reading.other_prompt,
    )


def _as_written(line: bytes, pair: Pair) -> bool:
    """Whether a line is, byte for byte, the one that would be written of its pair."""
    return line.startswith(_OURS) and line == pair_line(pair)


def _seal(line: bytes) -> int:
    """Tells a line that changed by accident; a file that is written to is found by its times."""
    return crc32(line) or 1
