"""Pairs of files, as sieves see them: one pass over the rows, and the texts wherever needed."""

from collections.abc import Iterator

from xxhash import xxh3_128_digest

from prefpairs.engines.fetching import Library
from prefpairs.engines.rows import Rows
from prefpairs.errors import InputChanged
from prefpairs.files.inputs import Input
from prefpairs.files.reading import OpenInput, Record, open_input
from prefpairs.files.shelf import Shelf, Spool
from prefpairs.records.pair import Pair, pair_line
from prefpairs.report import Report
from prefpairs.sieves.entry import Entry
from prefpairs.sources.pairs import PairReading, read_pair

_SHELF_SHIFT = 48
"""A place is an offset of up to 256 TB, and above it the number of a shelf."""

_OFFSET = (1 << _SHELF_SHIFT) - 1


class FiledPairs:
    """The pairs of a run's inputs. `keep` says whether pairs are wanted after they have passed."""

    def __init__(
        self,
        rows: Rows,
        library: Library[PairReading],
        report: Report,
        *,
        keep: bool,
        temp_dir: str | None,
    ) -> None:
        self._rows = rows
        self._library = library
        self._report = report
        self._keep = keep
        self._temp_dir = temp_dir
        self._last: tuple[Entry, Pair] | None = None

    def entries(self) -> Iterator[Entry]:
        """The pairs that could be trained on; none any more once a bad row was met."""
        for source in self._rows.plan.inputs:
            with open_input(source) as opened:
                self._report.sources.append((source.label, "pairs"))
                before = self._report.rows_read
                shelf, spool = self._shelf(source, opened)
                for record, reading in self._rows.read(opened.records, read_pair, source.label):
                    if self._book(reading) and not self._rows.failed:
                        yield self._entry(shelf, spool, record, reading)
                if self._report.rows_read == before and self._rows.plan.limit is None:
                    self._report.note(f"{source.label} is empty")
        self._rows.settle()

    def pair(self, entry: Entry) -> Pair:
        """The pair behind an entry."""
        if self._last is not None and self._last[0] is entry:
            return self._last[1]
        shelf, offset = entry.place >> _SHELF_SHIFT, entry.place & _OFFSET
        pair = self._library.record(shelf, offset, entry.length).pair
        if bytes.fromhex(pair.id) != entry.id:
            raise InputChanged(self._library.label(shelf))
        return pair

    def _shelf(self, source: Input, opened: OpenInput) -> tuple[int, Spool | None]:
        """Where the pairs of an input can be fetched from; what cannot be sought is put aside."""
        if not self._keep:
            return 0, None
        if opened.seekable:
            shelf = Shelf(source, opened.descriptor)
            return self._library.add(shelf, source.label, read_pair), None
        return self._library.spool(self._temp_dir, read_pair)

    def _book(self, reading: PairReading) -> bool:
        if reading.mends:
            self._report.mended.update(reading.mends)
        if reading.lost is None:
            self._report.rows_used += 1
        else:
            self._report.rows_dropped[reading.lost] += 1
        return reading.lost is None

    def _entry(
        self, shelf: int, spool: Spool | None, record: Record, reading: PairReading
    ) -> Entry:
        pair, digests = reading.pair, reading.digests
        offset, length = record.offset, len(record.data)
        if spool is not None:
            line = pair_line(pair)
            offset, length = spool.append(line), len(line)
        entry = Entry(
            number=self._report.rows_read,
            place=shelf << _SHELF_SHIFT | offset,
            length=length,
            gap=pair.gap,
            chosen_score=pair.chosen_score,
            id=bytes.fromhex(pair.id),
            prompt=digests.prompt,
            tools=digests.tools,
            chosen=digests.chosen,
            rejected=digests.rejected,
            group=xxh3_128_digest(pair.group.encode()),
            other_prompt=reading.other_prompt,
        )
        self._last = entry, pair
        return entry
