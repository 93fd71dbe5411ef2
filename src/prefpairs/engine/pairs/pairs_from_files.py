"""Pairs read from files, as stages see them: indexed in one pass, fetched again where needed."""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, compress, groupby, islice, repeat
from operator import mul
from typing import Any, Literal, NamedTuple
from zlib import crc32

from prefpairs.engine.inputs.row_reader import Rows
from prefpairs.engine.native import core_of_pairs
from prefpairs.engine.pairs.pair_io import WHOLE, Lines, Sink
from prefpairs.engine.pairs.pairs_from_trainer_rows import unwrap
from prefpairs.errors import InputChanged, PrefpairsError
from prefpairs.fields.pair_row import PairRowOutcome, read_pair, read_pair_fast
from prefpairs.files import lines as input_lines
from prefpairs.files.fetch_records import RecordFetcher, RecordFile, Spool
from prefpairs.files.input_file import Input
from prefpairs.files.line_blocks import LineBlock, line_blocks, record_blocks
from prefpairs.files.lines import Record
from prefpairs.files.open_input import OpenInput, open_input
from prefpairs.ledger import Ledger
from prefpairs.model.identity import digest
from prefpairs.model.marks import marks_of
from prefpairs.model.memory_guard import LIGHT
from prefpairs.model.pair import Pair, pair_line, pair_of_line
from prefpairs.plan import InputPlan
from prefpairs.sources.detect import PAIRS, check_kind
from prefpairs.stages.base import IndexedPair
from prefpairs.stages.pair_columns import PairColumns

FILE_SHIFT = 44
"""A place is an offset of up to 16 TB and, above it, the number of one of a million files."""

_OFFSET = (1 << FILE_SHIFT) - 1

Keep = Literal["nothing", "places", "pairs", "lines"]
"""What will be asked for after all pairs have been read: nothing, where they are in a file of lines
(another process fetches them), the pairs, or their lines.

Most lines were written by `prefpairs` and can be copied. Checking that takes 2 us when a pair is
read; reading and encoding it again takes 14, of the 35 that `dedupe` takes for a pair.
"""

_KNOWN, _COPIED = 1, 2
"""How the core has read a line: with all columns; and it can be copied. Else Python reads it."""

_SCORES = 3
"""Columns of numbers that the core gives, before its digests."""

_GAP = 1 << 13
"""Lines with fewer bytes between them are read at once: that is quicker than to seek."""

_OURS = b'{"id":"'
"""How the lines begin that `prefpairs` writes."""

Readings = Iterator[tuple[Record, PairRowOutcome]]


class _File(NamedTuple):
    """The number of an input among the record files; a spool if it cannot be read twice."""

    number: int
    spool: Spool | None


def pair_readings(rows: Rows, ledger: Ledger) -> Iterator[tuple[Input, Readings]]:
    """The inputs of a run one after the other, each with the pairs that can be trained on.

    After a bad row that fails the run there are no more pairs.
    """
    for source, opened, _ in _pair_inputs(rows, ledger):
        yield source, _readings(rows, opened.records, source.label)


def _pair_inputs(rows: Rows, ledger: Ledger) -> Iterator[tuple[Input, OpenInput, int]]:
    """The inputs one after the other, with the number of bytes that were read before."""
    for source in rows.plan.inputs:
        bytes_before = ledger.progress.own_bytes
        with open_input(source, ledger.progress.add_bytes) as opened:
            ledger.sources.append((source.label, "pairs"))
            before = ledger.rows_read
            yield source, opened, bytes_before
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


class PairTexts:
    """Fetches pairs again from their files."""

    def __init__(self, records: RecordFetcher[PairRowOutcome]) -> None:
        self._records = records

    def pair(self, entry: IndexedPair) -> Pair:
        """The pair of an entry; InputChanged if it is not the indexed one."""
        file, offset = entry.place >> FILE_SHIFT, entry.place & _OFFSET
        pair = self._records.fetch(file, offset, entry.length).pair
        if not _is_of(pair, entry):
            raise InputChanged(self._records.label(file))
        return pair

    def pair_in(self, pairs: PairColumns, slot: int) -> Pair:
        """The pair in a slot."""
        return self.pair(pairs.indexed(slot))


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
        self._texts = PairTexts(records)
        self._ledger = rows.ledger
        self._keep = keep
        self._temp_dir = temp_dir
        self._at_hand: dict[int, Pair | bytes] = {}
        """The pairs of the block that is looked at, by place, or their lines."""
        self._copies: dict[int, bytes] = {}
        """Those of its lines that can be written as they are."""

    def entries(self) -> Iterator[IndexedPair]:
        """What is known of each pair that can be trained on; no more after a bad row."""
        return chain.from_iterable(self.blocks())

    def blocks(self) -> Iterator[PairColumns]:
        """The same in columns, some at a time."""
        return (block for _, block in self._blocks())

    def _blocks(self) -> Iterator[tuple[Input, PairColumns]]:
        ledger = self._ledger
        usual = self._rows.plan.dialect == "auto" and self._rows.plan.one_kind in (None, PAIRS)
        core = core_of_pairs() if usual else None
        for source, opened, bytes_before in _pair_inputs(self._rows, ledger):
            before = ledger.rows_read
            file = self._file(source, opened)
            for rows in self._rows_of(source, opened, bytes_before if core else None):
                block = PairColumns()
                try:
                    self._index(core, rows, file, source, block)
                except PrefpairsError:
                    if len(block):
                        yield source, block
                    raise
                if len(block):
                    yield source, block
                self._at_hand.clear()
                self._copies.clear()
            ledger.rows_by_input[source.label] = ledger.rows_read - before

    def _rows_of(
        self, source: Input, opened: OpenInput, bytes_before: int | None
    ) -> Iterator[LineBlock]:
        """The rows of an input; for the core without a record for each, if they are lines.

        The bytes that showed what the file is are read again, and counted again from those before.
        """
        limit, progress = self._rows.plan.limit, self._ledger.progress
        by_record = bytes_before is None or opened.content is not None or limit is not None
        if bytes_before is None or opened.lines_from is None or by_record:
            most = None if limit is None else max(0, limit - self._ledger.rows_read)
            return record_blocks(islice(opened.records, most))
        progress.own_bytes = bytes_before
        return line_blocks(source, opened, opened.lines_from, progress.add_bytes)

    def _index(
        self, core: Any, rows: LineBlock, file: _File, source: Input, block: PairColumns
    ) -> None:
        """Add the pairs of rows to a block: by the core, or as Python reads them."""
        kinds, columns = bytes(len(rows.lines)), []
        if core is not None:
            kinds, *columns = core.index(rows.lines, min(LIGHT, source.limits.line))
        enough = _KNOWN if file.spool is None else _COPIED  # others are written anew to a spool
        for known, run in groupby(range(len(rows.lines)), lambda slot: kinds[slot] >= enough):
            slots = [*run]
            if known:
                some = slice(slots[0], slots[-1] + 1)
                found = [_part_of(column, some, len(rows.lines)) for column in columns]
                part = rows._replace(lines=rows.lines[some], offsets=rows.offsets[some])
                self._add_known(part, kinds[some], found, file, block)
                continue
            entries: list[IndexedPair] = []
            try:
                for record, reading in _readings(self._rows, map(rows.record, slots), source.label):
                    entries.append(self._entry(record, reading, file))
            finally:
                block.add(entries)

    def _add_known(
        self, rows: LineBlock, kinds: bytes, columns: list[bytes], file: _File, block: PairColumns
    ) -> None:
        """Add pairs that the core has read."""
        ledger, lines = self._ledger, rows.lines
        first = ledger.rows_read + 1
        ledger.rows_read += len(lines)
        ledger.rows_used += len(lines)
        if ledger.rows_bad and self._rows.failed:
            return
        numbers = range(first, first + len(lines))
        each = zip(numbers, rows.offsets, lines, strict=True)
        places = [self._place(number, offset, line, file) for number, offset, line in each]
        copied = [kind == _COPIED for kind in kinds]
        crcs = (
            map(mul, map(crc32, lines), copied) if self._keep == "lines" else repeat(0, len(lines))
        )
        block.extend_bytes(
            array("Q", numbers).tobytes(),
            array("Q", places).tobytes(),
            array("I", map(len, lines)).tobytes(),
            *columns[:_SCORES],
            array("I", crcs).tobytes(),
            *columns[_SCORES:],
        )
        self._at_hand.update(zip(places, lines, strict=True))
        self._copies.update(compress(zip(places, lines, strict=True), copied))

    def _entry(self, record: Record, reading: PairRowOutcome, file: _File) -> IndexedPair:
        """What is known of a pair that Python has read."""
        pair, line = reading.pair, record.data
        if file.spool is not None:
            line = pair_line(pair)
        number = self._ledger.rows_read
        place = self._place(number, record.offset, line, file)
        entry = entry_of(reading, number, place, len(line))
        self._at_hand[place] = pair
        if self._keep == "lines" and (file.spool is not None or _as_written(line, pair)):
            marked = pair.meta and any(marks_of(pair.meta))  # marks are counted when it is written
            return entry._replace(line_crc=0 if marked else crc32(line))
        return entry

    def _place(self, number: int, offset: int, line: bytes, file: _File) -> int:
        """Where a pair is found again: by its number, if only the current block can be."""
        if self._keep == "nothing":
            return number
        if file.spool is not None:
            offset = file.spool.append(line)
        return file.number << FILE_SHIFT | offset

    def put_all(self, sink: Sink) -> None:
        """Write all pairs to the sink, each to the side of its input."""
        for source, block in self._blocks():
            side = self._sides.get(source, WHOLE)
            written = sink.take(block, self, [side] * len(block))
            if side:
                self._ledger.sides[side] += written[side]

    def pair(self, entry: IndexedPair) -> Pair:
        """The pair of an entry; InputChanged if it is not the indexed one."""
        found = self._pair_at_hand(entry.place)
        return self._texts.pair(entry) if found is None else found

    def pair_in(self, pairs: PairColumns, slot: int) -> Pair:
        """The pair in a slot."""
        return self._pair_at_hand(pairs.places[slot]) or self.pair(pairs.indexed(slot))

    def _pair_at_hand(self, place: int) -> Pair | None:
        """The pair at a place, if it belongs to the block that is looked at."""
        found = self._at_hand.get(place)
        if isinstance(found, bytes):
            known = place in self._copies
            found = pair_of_line(found) if known else reader_of("auto")(found).pair
            self._at_hand[place] = found
        return found

    def lines(self, pairs: PairColumns) -> Iterator[tuple[Sequence[int], Lines]]:
        """All slots in order, some at a time, with their lines if these can be copied."""
        if not self._copies and not any(pairs.line_crcs):
            yield range(len(pairs)), None
            return
        copies = [*map(self._copies.get, pairs.places)]

        def known(slot: int) -> str:
            return "at hand" if copies[slot] else "in a file" if pairs.line_crcs[slot] else "not"

        for where, run in groupby(range(len(pairs)), known):
            slots = [*run]
            if where == "in a file":
                for some in _near_each_other(pairs, slots):
                    yield some, self._lines_in_file(pairs, some)
            else:
                yield slots, [copies[slot] or b"" for slot in slots] if where == "at hand" else None

    def _lines_in_file(self, pairs: PairColumns, slots: Sequence[int]) -> list[bytes]:
        """The lines of pairs that are near each other in one file, read at once."""
        spans = [(pairs.places[slot], pairs.lengths[slot]) for slot in slots]
        start, (last, length) = spans[0][0], spans[-1]
        file = start >> FILE_SHIFT
        data = self._records.line(file, start & _OFFSET, last + length - start)
        lines = [data[place - start : place - start + length] for place, length in spans]
        if any(
            crc32(line) != pairs.line_crcs[slot] for line, slot in zip(lines, slots, strict=True)
        ):
            raise InputChanged(self._records.label(file))
        return lines

    def _file(self, source: Input, opened: OpenInput) -> _File:
        """An input among the record files; a spool of its rows if it cannot be read twice."""
        if self._keep in ("nothing", "places"):
            return _File(0, None)
        if opened.seekable:
            file = RecordFile(source, opened.seen, opened.content)
            return _File(self._records.add(file, reader_of(self._rows.plan.dialect)), None)
        spool = self._records.spool(self._temp_dir)
        return _File(self._records.add(spool, read_pair, source.label), spool)


def _near_each_other(pairs: PairColumns, slots: Sequence[int]) -> Iterator[list[int]]:
    """The slots of lines that follow each other in a file, with at most a small gap between."""
    some: list[int] = []
    start = end = 0
    for slot in slots:
        place, length = pairs.places[slot], pairs.lengths[slot]
        if some and not (
            end <= place <= end + _GAP and place + length - start <= input_lines.AT_ONCE
        ):
            yield some
            some = []
        if not some:
            start = place
        some.append(slot)
        end = place + length
    yield some


def _part_of(column: bytes, some: slice, rows: int) -> bytes:
    """The bytes of some rows of a column."""
    size = len(column) // rows
    return column[some.start * size : some.stop * size]


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
    """Whether a line is exactly what would be written of its pair."""
    return line.startswith(_OURS) and line == pair_line(pair)
