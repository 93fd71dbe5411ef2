"""How the rows of a run are read: each by the source that recognises it.

The first rows of a file only decide which fast reader reads the rows like them. So neither the
position of a row nor the division into files matters.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from prefpairs.engine.native import with_core
from prefpairs.errors import BadRecord, NoSuchPath, NotJson
from prefpairs.fields.cross_row_facts import CrossRowFacts, Fact
from prefpairs.fields.read_options import ReadOptions, group_key
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.files.lines import Record
from prefpairs.ledger import Ledger
from prefpairs.model.json_codec import decode, refuse_deeper
from prefpairs.model.path import MISSING, look_up, paths_of
from prefpairs.plan import ReadPlan
from prefpairs.sources import GENERIC, SOURCES, source_named
from prefpairs.sources.base import RecordReader
from prefpairs.sources.detect import check_kind, source_of

_MOST_TRIED = 8
_MOST_BYTES = 4 << 20
_MOST_KNOWN = 256
"""Rows whose fields are remembered, as suggestions for a mistyped path."""

_LOOKED, _FOUND = ("looked",), "found"


@dataclass(slots=True)
class Format:
    """How the rows of one file are read. `sample` is the row that the fast reader was made for."""

    source: str
    how: RecordReader
    sample: bytes | None
    known_to: set[str]
    """The sources that read a row of the file."""

    @property
    def sources(self) -> list[str]:
        """The sources that read the file, in the order of their table."""
        return [name for name in SOURCES if name in (self.known_to or {self.source})]


class Formats:
    """The formats of a run's inputs, and the facts that its rows have shown."""

    def __init__(self, plan: ReadPlan, ledger: Ledger) -> None:
        self._plan = plan
        self._ledger = ledger
        self._last: Format | None = None
        self._known_to: set[str] = set()
        self._unseen = named_paths(plan.options)
        self._paths: dict[str, None] = {}
        self._rows_known = 0
        self.facts = CrossRowFacts()

    def open(self, label: str, records: Iterator[Record]) -> tuple[Format, list[Record]]:
        """The format of a file, and the records that were read from it to determine the format."""
        self._known_to = set()
        taken: list[Record] = []
        found = None
        for record in _few(records, taken):
            try:
                row = record.complete()
            except BadRecord:
                continue
            like = self._like_the_last(row)
            if like is not None:
                found = like
                break
            if _row_of(row) is None:
                continue
            like = self._opened(label, self._joined(record.data))
            found = found or like
            if _reads_fast(like.how, record.data):
                found = like
                break
        found = found or self._opened(label, None)
        if found.sample is not None:
            self._known_to.add(found.source)
            self.look_for_paths(found.sample)
        if self._unseen and source_named(found.source).paths_start_at_row:
            found.how = found.how._replace(native=None)  # they are looked for in all rows
        self._last = found
        return found, taken

    def _like_the_last(self, record: bytes) -> Format | None:
        """The format of the previous file, if its fast reader reads this record, too.

        Shards are mostly alike, and what a fast reader reads is the same in every file.
        """
        last = self._last
        if last is None or last.how.fast_reader is None or not last.how.fast_reader.read(record):
            return None
        return Format(last.source, last.how, record, self._known_to)

    def _opened(self, label: str, record: bytes | None) -> Format:
        """How a file with such a record is read."""
        sample = [] if record is None else [record]
        source = self._source_of(record)
        opened = {source: self._open(source, sample, label)}
        fast_reader = opened[source].fast_reader

        def read(record: bytes) -> RowOutcome:
            if fast_reader is not None and (usual := fast_reader.read(record)) is not None:
                return usual
            try:
                reading = read_in_full(record)
            except NotJson as error:
                from prefpairs.fields.undecodable_values import read_around

                reading = read_around(read_in_full, record, error)
            refuse_deeper(([*found] for found in (*reading.kept, *reading.pairs)), record)
            return reading

        def read_in_full(record: bytes) -> RowOutcome:
            name = self._source_of(record)
            if name == GENERIC:
                check_kind(record, self._plan.one_kind)
            if name not in opened:
                opened[name] = self._open(name, [record], label)
            self._known_to.add(name)
            return opened[name].read(record)

        tables = self._plan.options.joined
        if not tables:
            how = opened[source]._replace(read=read)
            return Format(source, how, record, self._known_to)
        from prefpairs.fields.joined_rows import with_joined

        def read_joined(record: bytes) -> RowOutcome:
            whole, noticed = with_joined(record, tables)
            reading = read(whole)
            reading.noticed += noticed
            return reading

        return Format(source, RecordReader(read_joined), record, self._known_to)

    def _joined(self, record: bytes) -> bytes:
        """A row with the columns of --join, as far as they can be added."""
        if not self._plan.options.joined:
            return record
        from prefpairs.fields.joined_rows import with_joined

        with suppress(BadRecord):
            record, _ = with_joined(record, self._plan.options.joined)
        return record

    def _source_of(self, record: bytes | None) -> str:
        if self._plan.source != "auto":
            return self._plan.source
        return GENERIC if record is None else source_of(record)

    def _open(self, source: str, sample: list[bytes], label: str) -> RecordReader:
        opened = source_named(source).open_reader(sample, self._plan.options, label)
        for note in opened.notes:
            self._ledger.note(note)
        return with_core(opened)

    def book(self, record: bytes, reading: RowOutcome) -> None:
        """Add the facts of a row; raises TwoReadings if another row contradicts them."""
        if reading.facts:
            self.facts.add(reading.facts)
        if self._unseen:
            self.look_for_paths(record)

    def look_for_paths(self, record: bytes) -> None:
        """Note which paths in options a row has, while some have not been found in any row."""
        if not self._unseen:
            return
        record = self._joined(record)
        row = _row_of(record)
        if row is None:
            from prefpairs.fields.undecodable_values import bounded

            record = bounded(record)
            row = _row_of(record)
        source = source_named(self._source_of(record))
        if row is None or not source.paths_start_at_row:
            return
        row = {**source.added_fields, **row}
        self.facts.add((_LOOKED, *_facts_of(self._unseen, row)))
        self._forget_seen()
        if self._rows_known < _MOST_KNOWN:
            self._rows_known += 1
            self._paths.update(dict.fromkeys(paths_of(row)))

    def look_for_paths_in(self, lines: Iterable[bytes]) -> None:
        """The same for rows that a fast reader may have read; few of them have to be decoded."""
        if not self._unseen:
            return
        first_keys = (path.partition(".")[0].partition("[")[0] for _, path in self._unseen)
        names = [key.encode("utf-8", "surrogateescape") for key in first_keys]
        for line in lines:
            if (
                self._plan.options.joined or b"\\u" in line or any(name in line for name in names)
            ):  # as text or escaped
                self.look_for_paths(line)

    def _forget_seen(self) -> None:
        self._unseen = [named for named in self._unseen if not self.facts.has(_FOUND, *named)]

    def join(self, facts: Iterable[Fact], sources: Iterable[str]) -> bool:
        """Add what a worker found in the same file; False if it contradicts the facts so far."""
        if not self.facts.agree(facts):
            return False
        self._forget_seen()
        self._known_to.update(sources)
        return True

    def tell(self) -> None:
        """Add notes on what was guessed."""
        for note in self.facts.notes():
            self._ledger.note(note)

    def settle(self) -> None:
        """If nothing was read, raise the known reason; add notes on paths that no row has."""
        nothing = not (
            self._ledger.candidates_kept or any(stage.found for stage in self._ledger.stages)
        )
        if nothing:
            files = [given.label for given in self._plan.inputs]
            self.facts.refuse(_known(self._plan.options), files)
        for table in self._plan.options.joined:
            if unused := table.unused:
                rows = f"{unused} of {len(table)} rows of {table.label}"
                self._ledger.note(f"{rows} were joined to no row (--on)")
        if not self.facts.has(*_LOOKED):
            return
        for option, path in self._unseen:
            if nothing:
                raise NoSuchPath(option, path, list(self._paths))
            from prefpairs.did_you_mean import listed, near_of

            near = near_of(path, sorted(self._paths))
            meant = f"; did you mean {listed(near, 'or')}?" if near else ""
            self._ledger.note(f"{option} {path}: no row has this field{meant}")


def _reads_fast(how: RecordReader, record: bytes) -> bool:
    """Whether rows like this one are read fast, as far as Python can tell."""
    if how.fast_reader is None:
        return how.native is not None
    return bool(how.fast_reader.read(record))


def named_paths(options: ReadOptions) -> list[tuple[str, str]]:
    """The paths into rows that options name, each with its option."""
    named = [("--score", path) for path, _ in options.scores]
    named += [("--prompt", options.prompt)] if options.prompt else []
    named += [("--response", options.response)] if options.response else []
    compared = options.preference, options.response_a, options.response_b
    names = "--preference", "--response-a", "--response-b"
    named += [(name, path) for name, path in zip(names, compared, strict=True) if path]
    named += [("--by", options.by)] if options.by else []
    named += [("--on", path) for path in options.on]
    named += [("--context", path) for path in options.context]
    if isinstance(options.group_by, tuple):
        words = (word for word in options.group_by if word not in ("prompt", "file"))
        named += [("--group-by", group_key(word).path) for word in words]
    named += [("--keep", path) for path in options.keep]
    return named + [("--ignore", path) for path in options.ignore]


def _known(options: ReadOptions) -> set[str]:
    """The fields that options name, so that the user need not be asked for them."""
    known = {what for what in ("prompt", "response") if getattr(options, what)}
    unscored = options.prefer or "no_score" in options.keep_rows
    return known | {"score"} if options.scores or unscored else known


def _few(records: Iterator[Record], taken: list[Record]) -> Iterator[Record]:
    """The first records: a bounded number of rows, and of bytes."""
    size = 0
    while len(taken) < _MOST_TRIED and size < _MOST_BYTES and (record := next(records, None)):
        taken.append(record)
        size += len(record.data)
        yield record


def _row_of(record: bytes) -> dict[str, Any] | None:
    try:
        row = decode(record)
    except NotJson:
        return None
    return row if isinstance(row, dict) else None


def _facts_of(paths: Iterable[tuple[str, str]], row: dict[str, Any]) -> Iterator[Fact]:
    for option, path in paths:
        if look_up(row, path) is not MISSING:
            yield _FOUND, option, path
