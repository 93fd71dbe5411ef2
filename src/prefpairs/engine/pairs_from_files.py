"""Pairs read from files, as stages see them: indexed in one pass, fetched again where needed."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Literal, cast
from zlib import crc32

from prefpairs.engine.native import core_of_pairs
from prefpairs.engine.pair_io import WHOLE, Sink
from prefpairs.engine.pairs_from_trainer_rows import unwrap
from prefpairs.engine.row_reader import Rows
from prefpairs.errors import InputChanged
from prefpairs.fields.pair_row import PairRowOutcome, read_pair, read_pair_fast
from prefpairs.files.fetch_records import RecordFetcher, RecordFile, Spool
from prefpairs.files.input_file import Input
from prefpairs.files.lines import Record, blocks_of
from prefpairs.files.open_input import OpenInput, open_input
from prefpairs.ledger import Ledger
from prefpairs.model.identity import digest
from prefpairs.model.marks import marks_of
from prefpairs.model.memory_guard import LIGHT
from prefpairs.model.pair import Pair, pair_line
from prefpairs.plan import InputPlan
from prefpairs.sources.detect import PAIRS, check_kind
from prefpairs.stages.base import IndexedPair

_FILE_SHIFT = 44
"""A place is an offset of up to 16 TB and, above it, the number of one of a million files."""

_OFFSET = (1 << _FILE_SHIFT) - 1

Keep = Literal["nothing", "pairs", "lines"]
"""What will be asked for after all pairs have been read: nothing, the pairs, or their lines.

Most lines were written by `prefpairs` and can be copied. Checking that takes 2 us when a pair is
read; reading and encoding it again takes 14, of the 35 that `dedupe` takes for a pair.
"""

_OURS = b'{"id":"'
"""How the lines begin that `prefpairs` writes."""

Readings = Iterator[tuple[Record, PairRowOutcome]]


def pair_readings(rows: Rows, ledger: Ledger) -> Iterator[tuple[Input, Readings]]:
    """The inputs of a run one after the other, each with the pairs that can be trained on.

    After a bad row that fails the run there are no more pairs.
    """
    for source, opened in _pair_inputs(rows, ledger):
        yield source, _readings(rows, opened.records, source.label)


def _pair_inputs(rows: Rows, ledger: Ledger) -> Iterator[tuple[Input, OpenInput]]:
    for source in rows.plan.inputs:
        with open_input(source, ledger.progress.add_bytes) as opened:
            ledger.sources.append((source.label, "pairs"))
            before = ledger.rows_read
            yield source, opened
            if ledger.rows_read == before and rows.plan.limit is None:
                ledger.note(f"{source.label} is empty")
    rows.settle()


def _readings(rows: Rows, records: Iterator[Record], label: str) -> Readings:
    ledger = rows.ledger
    for record, reading in rows.read(records, _checked_reader(rows.plan), label):
        if reading.noticed:
            ledger.noticed.update(reading.noticed)
        if reading.lost is not None:
            ledger.rows_dropped[reading.lost] += 1
            continue
        ledger.rows_used += 1
        if not (ledger.rows_bad and rows.failed):
            yield record, reading


def reader_of(dialect: str) -> Callable[[bytes], PairRowOutcome]:
    """The reader of a format: pairs as `prefpairs` writes them, or rows of a trainer."""
    read = partial(read_pair, unwrap=partial(unwrap, dialect=dialect))
    if dialect != "auto":
        return read
    return lambda record: read_pair_fast(record) or read(record)


def _checked_reader(plan: InputPlan) -> Callable[[bytes], PairRowOutcome]:
    """The reader of a plan, which refuses rollouts among pairs. Rows of usual shape are pairs."""
    read = reader_of(plan.dialect)
    if plan.one_kind is None:
        return read

    def read_of_kind(record: bytes) -> PairRowOutcome:
        plain = read_pair_fast(record)
        if plain is None:
            check_kind(record, plan.one_kind)
        return plain or read(record)

    return read_of_kind


class PairsFromFiles:
    """The pairs of a run's inputs. `keep` says what will be needed after `entries`."""

    def __init__(
        self,
        rows: Rows,
        records: RecordFetcher[PairRowOutcome],
        *,
        keep: Keep,
        temp_dir: str | None,
        sides: Mapping[Input, str] | None = None,
    ) -> None:
        """`sides` has the side of each input, if pairs go to the side of their input."""
        self._sides = sides or {}
        self._rows = rows
        self._records = records
        self._ledger = rows.ledger
        self._keep = keep
        self._temp_dir = temp_dir
        self._last: tuple[IndexedPair, Pair | bytes, bool] | None = None
        """The entry that came last, its pair or its line, and whether that line can be written."""

    def entries(self) -> Iterator[IndexedPair]:
        """The columns of each pair that can be trained on; no more after a bad row."""
        plan = self._rows.plan
        usual = plan.dialect == "auto" and plan.one_kind in (None, PAIRS)
        core = core_of_pairs() if usual else None
        for source, opened in _pair_inputs(self._rows, self._ledger):
            file, spool = self._file(source, opened)
            if core is not None:
                yield from self._entries_by_core(core, file, spool, opened.records, source.label)
                continue
            for record, reading in _readings(self._rows, opened.records, source.label):
                yield self._entry(file, spool, record, reading)

    def _entries_by_core(
        self, core: Any, file: int, spool: Spool | None, records: Iterator[Record], label: str
    ) -> Iterator[IndexedPair]:
        """The same by the native core. Rows that it does not know are read as all rows were."""
        ledger, before = self._ledger, self._ledger.rows_read
        limit = self._rows.plan.limit
        most = None if limit is None else max(0, limit - before)
        for block in blocks_of(islice(records, most)):
            lines = [b"" if record.refused else record.data for record in block]
            places = [file << _FILE_SHIFT | record.offset for record in block]
            found = core.index(lines, places, ledger.rows_read + 1, LIGHT)
            for record, known in zip(block, found, strict=True):
                if known is None or (spool is not None and not known[1]):
                    for _, reading in _readings(self._rows, iter([record]), label):
                        yield self._entry(file, spool, record, reading)
                    continue
                ledger.rows_read += 1
                ledger.rows_used += 1
                if not (ledger.rows_bad and self._rows.failed):
                    yield self._entry_by_core(spool, record.data, *known)
        ledger.rows_by_input[label] = ledger.rows_read - before

    def _entry_by_core(
        self, spool: Spool | None, line: bytes, columns: tuple[Any, ...], as_written: bool
    ) -> IndexedPair:
        crc = _crc(line) if as_written and self._keep == "lines" else 0
        entry = IndexedPair._make((*columns, crc))
        if spool is not None:
            place = entry.place >> _FILE_SHIFT << _FILE_SHIFT | spool.append(line)
            entry = entry._replace(place=place)
        self._last = entry, line, as_written
        return entry

    def put_all(self, sink: Sink) -> None:
        """Write all pairs to the sink, each to the side of its input."""
        for source, readings in pair_readings(self._rows, self._ledger):
            side = self._sides.get(source, WHOLE)
            for _, reading in readings:
                written = sink.put(reading.pair, side)
                if side:
                    self._ledger.sides[side] += written

    def pair(self, entry: IndexedPair) -> Pair:
        """The pair of an entry; InputChanged if it is not the indexed one."""
        if self._last is not None and self._last[0] is entry:
            last = self._last[1]
            return last if isinstance(last, Pair) else reader_of("auto")(last).pair
        file, offset = entry.place >> _FILE_SHIFT, entry.place & _OFFSET
        pair = self._records.fetch(file, offset, entry.length).pair
        if not _is_of(pair, entry):
            raise InputChanged(self._records.label(file))
        return pair

    def line(self, entry: IndexedPair) -> bytes | None:
        """The line of an entry if it is exactly what would be written; else None."""
        if self._last is not None and self._last[0] is entry and self._last[2]:
            return cast("bytes", self._last[1])
        if not entry.line_crc:
            return None
        file, offset = entry.place >> _FILE_SHIFT, entry.place & _OFFSET
        line = self._records.line(file, offset, entry.length)
        if _crc(line) != entry.line_crc:
            raise InputChanged(self._records.label(file))
        return line

    def _file(self, source: Input, opened: OpenInput) -> tuple[int, Spool | None]:
        """The number of an input among the record files; a spool if it cannot be read twice."""
        if self._keep == "nothing":
            return 0, None
        if opened.seekable:
            file = RecordFile(source, opened.seen, opened.content)
            return self._records.add(file, reader_of(self._rows.plan.dialect)), None
        return self._records.spool(self._temp_dir, read_pair)

    def _entry(
        self, file: int, spool: Spool | None, record: Record, reading: PairRowOutcome
    ) -> IndexedPair:
        pair = reading.pair
        offset, line = record.offset, record.data
        if spool is not None:
            line = pair_line(pair)
            offset = spool.append(line)
        place = file << _FILE_SHIFT | offset
        entry = entry_of(reading, self._ledger.rows_read, place, len(line))
        if self._keep == "lines" and (spool or _as_written(line, pair)):
            entry = entry._replace(line_crc=_crc(line))
        self._last = entry, pair, False
        return entry


def _is_of(pair: Pair, entry: IndexedPair) -> bool:
    """Whether a pair is the indexed one. Entries may have lost the group if no stage needs it."""
    numbers = pair.gap, pair.chosen_score, pair.rejected_score
    same = numbers == (entry.gap, entry.chosen_score, entry.rejected_score)
    return same and bytes.fromhex(pair.id) == entry.id and entry.group in (b"", _group_of(pair))


def _group_of(pair: Pair) -> bytes:
    return digest("name", pair.group.encode())


def entry_of(reading: PairRowOutcome, number: int, place: int, length: int) -> IndexedPair:
    """What stages see of a pair."""
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
    """Whether a line is exactly what would be written of its pair, which has no marks to count."""
    if not line.startswith(_OURS) or line != pair_line(pair):
        return False
    return not pair.meta or not any(marks_of(pair.meta))


def _crc(line: bytes) -> int:
    """A checksum against accidents; a file that is written to is noticed by its timestamps."""
    return crc32(line) or 1
