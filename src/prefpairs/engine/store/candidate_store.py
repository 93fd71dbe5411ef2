"""The candidates of a run: index all of them, rank a group, fetch the few that are wanted.

Strategies and stages see columns only. The text of a candidate is read again at the end, from the
record file where it was found, and compared with its digests.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

from prefpairs.engine.inputs.candidate_reader import (
    CandidateInput,
    CandidateReader,
    PairReceiver,
    reading_inputs,
    with_origin,
)
from prefpairs.engine.native import Core, core_for
from prefpairs.engine.processes import processes_for
from prefpairs.engine.store.candidate_columns import CandidateColumns
from prefpairs.engine.store.index_lines import IndexWorkers, LineIndexer
from prefpairs.errors import InputChanged
from prefpairs.fields.reference import columns_that_differ, repeats_answer
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.files.fetch_records import Cache, RecordFetcher, RecordFile, Spool
from prefpairs.files.lines import Record, byte_ranges, lines_between
from prefpairs.files.open_input import InputErrorsNamed
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import canonical, digest_prompt, digest_response, digest_tools
from prefpairs.model.pair import Digests, Pair, make_pair
from prefpairs.plan import PairPlan
from prefpairs.sources.base import Native, RecordReader

if TYPE_CHECKING:
    from prefpairs.engine.store.ranking import RankedGroup

_WORTH_A_WORKER = 1 << 24
"""Bytes from which a worker saves time: reading 16 MB takes 30 ms, a fork 10."""

_MOST_CONFIRMED = 256

Numbers = tuple[int, int]
"""The numbers of a chosen and of a rejected candidate."""


class Candidates:
    """Candidates in columns, whose texts can be fetched."""

    def __init__(self) -> None:
        self.columns = CandidateColumns()
        self._confirmed: set[int] = set()
        """Candidates fetched lately whose prompt and tools were the indexed ones."""

    def rank(
        self, groups: Iterable[int], plan: PairPlan, ledger: Ledger
    ) -> "Iterator[RankedGroup]":
        """The members of each group that compete, best first; those that do not are counted."""
        from prefpairs.engine.store.ranking import RankedGroup, competing_members

        columns = self.columns
        for group in groups:
            members, distinct = competing_members(columns, group, self.fetch, plan, ledger)
            yield RankedGroup(columns, members, self.fetch, columns.keys[group], distinct=distinct)

    def fetch(self, number: int) -> Candidate:
        """A candidate with its text, exactly as it was indexed."""
        raise NotImplementedError

    def fetch_pair(self, numbers: Numbers) -> Pair:
        """The pair of two candidates; InputChanged if their prompts are not the indexed ones."""
        better, worse = numbers
        columns = self.columns
        chosen, rejected = self.fetch(better), self.fetch(worse)
        _, prompt, tools = columns.question(better)
        digests = Digests(prompt, tools, columns.digest(better), columns.digest(worse))
        if not columns.same_question(better, worse):
            self._confirm(better, chosen, better)
            self._confirm(worse, rejected, worse)
            return make_pair(chosen, rejected, digests, columns.question(worse)[1])
        if not self._confirmed.issuperset(numbers):
            if not _same_question(chosen, rejected):
                raise InputChanged(chosen.origin.rpartition(":")[0])
            self._confirm(better, chosen, worse)
        return make_pair(chosen, rejected, digests)

    def mixed_references(self) -> dict[str, int]:
        """How many groups would have pairs of answers to different references, by their columns.

        Columns that repeat all the answers of a group are no references.
        """
        found = Counter[str]()
        for group, *marks in self.columns.references.several():
            names = columns_that_differ(*marks)
            if names and self.columns.may_have_pairs(group):
                members = map(self.fetch, self.columns.members(group))
                found[",".join(names)] += not all(map(repeats_answer, members))
        return +found

    def _confirm(self, number: int, candidate: Candidate, alike: int) -> None:
        """Raise InputChanged if a fetched candidate has another prompt or tools than indexed.

        `alike` is a candidate that was found to have the same ones.
        """
        if number not in self._confirmed and alike not in self._confirmed:
            _, prompt, tools = self.columns.question(number)
            if digest_prompt(candidate.prompt) != prompt or digest_tools(candidate.tools) != tools:
                raise InputChanged(candidate.origin.rpartition(":")[0])
        if len(self._confirmed) >= _MOST_CONFIRMED:
            self._confirmed.clear()
        self._confirmed.update((number, alike))


def _same_question(chosen: Candidate, rejected: Candidate) -> bool:
    if chosen.prompt == rejected.prompt and chosen.tools == rejected.tools:
        return True
    same = canonical(chosen.prompt, "user") == canonical(rejected.prompt, "user")
    return same and digest_tools(chosen.tools) == digest_tools(rejected.tools)


class CandidatesInMemory(Candidates):
    """Candidates that are held with their texts."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        super().__init__()
        self._candidates = list(candidates)
        for candidate in self._candidates:
            self.columns.add_row([candidate], 0, 0, 0)

    def fetch(self, number: int) -> Candidate:
        """A candidate with its text."""
        return self._candidates[number]


class CandidateStore(Candidates):
    """Candidates in columns, whose texts are in record files."""

    def __init__(self, plan: PairPlan) -> None:
        super().__init__()
        self.records = RecordFetcher[RowOutcome]()
        self._plan = plan
        self._cores: dict[Native, Core] = {}
        self._core_of: dict[int, Core] = {}
        self._cache = Cache[int, Candidate]()

    def __enter__(self) -> Self:
        """Keep the record files open for the time of a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the record files."""
        self.records.__exit__()

    def check(self) -> None:
        """Raise InputChanged if one of the inputs has changed since it was indexed."""
        self.records.check()

    # Index -------------------------------------------------------------------------------------

    def index(self, ledger: Ledger, pairs: PairReceiver | None = None) -> None:
        """Index all candidates of the inputs; pairs in rollouts go to `pairs`.

        TwoReadings if all rows together show that a guess was not safe.
        """
        groups: dict[bytes, int] = {}
        with reading_inputs(self._plan.read, ledger, pairs) as reader:
            for given in reader.inputs():
                if not given.opened.seekable:
                    self._index_copies(given, reader)
                elif given.opened.lines_from is None or self._plan.read.limit is not None:
                    core = self.begin_file(given)
                    self._index_records(given, core, given.records, reader, attrgetter("offset"))
                else:
                    self._index_lines(given, groups, reader)
            facts, columns = reader.formats.facts, self.columns
            facts.check_answers(columns.constant_groups)
            if not self._plan.options.across_prompts:
                facts.check_references(self.mixed_references(), self._plan.read.options)
            ledger.groups_of_several_tasks = columns.groups_of_several_tasks
        for core in self._cores.values():
            core.begin()

    def _index_copies(self, given: CandidateInput, reader: CandidateReader) -> None:
        """Index an input that cannot be read twice, such as a pipe, and copy its rows to a spool.

        Each member of an archive becomes a record file, because its name is in the origins.
        """
        label, spool = given.source.label, self.records.spool(self._plan.temp_dir)
        for name, records in groupby(given.records, lambda record: record.within(label)):
            core = self.add_file(spool, given.format.how, name)
            self._index_records(
                given, core, records, reader, lambda record: spool.append(record.data)
            )
            if reader.rows.at_limit:
                break

    def _index_records(
        self,
        given: CandidateInput,
        core: Core | None,
        records: Iterator[Record],
        reader: CandidateReader,
        place_of: Callable[[Record], int],
    ) -> None:
        """Index records: many at a time by the native core, or one by one."""
        how, source = given.format.how, given.source
        if core is not None and self._plan.read.limit is None:
            indexer = LineIndexer(how, source, self.columns, {}, reader)
            indexer.index_records(core, records, place_of)
            return
        for record, reading, _ in reader.read_rows(records, how, source.label):
            length = len(record.data)
            self.columns.add_row(reading.kept, place_of(record), length, record.number)

    def _index_lines(
        self, given: CandidateInput, groups: dict[bytes, int], reader: CandidateReader
    ) -> None:
        """Index a file of lines, in as many byte ranges at a time as there are workers."""
        source, opened = given.source, given.opened
        start, end = opened.lines_from or 0, opened.size
        asked = 1 if self._plan.read.options.joined else self._plan.options.workers
        number = processes_for(asked, end - start, _WORTH_A_WORKER)
        core = self.begin_file(given)
        file = core and core.open_file(opened)
        if core is not None and file is not None:
            self._index_natively(core, file, given, number, reader)
            return
        indexer = LineIndexer(given.format.how, source, self.columns, groups, reader)
        if opened.content is not None and number == 1:
            indexer.index(io.BytesIO(opened.content[start:]), start)
            return
        longest, progress = source.limits.line, reader.ledger.progress
        progress.own_bytes = given.bytes_before  # the rows that showed the format are read again
        with InputErrorsNamed(source):
            ranges = byte_ranges(opened.descriptor, start, end, number)
            with IndexWorkers(given, reader.plan, ranges[1:], progress) as workers:
                for place, (begin, stop) in enumerate(ranges):
                    if place and workers.join(place - 1, indexer):
                        continue
                    lines = lines_between(
                        opened.descriptor, begin, stop, longest, progress.add_bytes
                    )
                    indexer.index(lines, begin)

    def _index_natively(
        self, core: Core, file: Any, given: CandidateInput, threads: int, reader: CandidateReader
    ) -> None:
        """Index a file of lines by the native core."""
        from prefpairs.engine.store.native_index import NativeIndexer

        passed, progress = None, reader.ledger.progress
        if given.opened.content is None:
            passed, progress.own_bytes = progress.add_bytes, given.bytes_before
        indexer = NativeIndexer(given.format.how, given.source, self.columns, {}, reader)
        with InputErrorsNamed(given.source):
            indexer.index_file(core, file, given.opened, threads, passed)

    def begin_file(self, given: CandidateInput) -> Core | None:
        """Add an input to the record files; the candidates that follow come from it."""
        file = RecordFile(given.source, given.opened.seen, given.opened.content)
        return self.add_file(file, given.format.how)

    def add_file(
        self, file: RecordFile | Spool, how: RecordReader, label: str | None = None
    ) -> Core | None:
        """Add an input, or a copy of its rows; the candidates that follow come from it."""
        number = self.records.add(file, how.read, label)
        self.columns.begin_file(number)
        core = core_for(how, self._cores)
        if core is not None:
            self._core_of[number] = core
        return core

    def core(self) -> Core | None:
        """The core's reader of the first input that it can read, if there is one."""
        return next(iter(self._core_of.values()), None)

    def is_read_by(self, file: int, core: Core) -> bool:
        """Whether a reader of the core knows the format of a file."""
        return self._core_of.get(file) is core

    # Fetch -------------------------------------------------------------------------------------

    def fetch(self, number: int) -> Candidate:
        """A candidate with its text, exactly as it was indexed; InputChanged if it is not."""
        candidate = self._cache.get(number)
        if candidate is not None:
            return candidate
        file, offset, length, slot, line = self.columns.place(number)
        label = self.records.label(file)
        reading = self.records.fetch(file, offset, length)
        if slot >= len(reading.kept):
            raise InputChanged(label)
        candidate = with_origin(reading, slot, label, line)
        digest = digest_response(candidate.response)
        if candidate.score != self.columns.scores[number] or digest != self.columns.digest(number):
            raise InputChanged(label)
        self._cache.put(number, candidate, length)
        return candidate
