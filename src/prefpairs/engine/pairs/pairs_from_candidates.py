"""The pairs that `pair` makes of candidates: decided by columns, fetched when they are written.

Pairs that the rollouts already contain come first.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, groupby
from typing import TYPE_CHECKING

from prefpairs.engine.inputs.candidate_reader import candidates_of, reading_inputs
from prefpairs.engine.pairs.pair_io import WHOLE, Lines, PairLines, Sink
from prefpairs.engine.pairs.ready_pairs import ReadyPairs
from prefpairs.engine.processes import CAN_FORK, processes_for
from prefpairs.engine.store.candidate_columns import group_key
from prefpairs.engine.store.candidate_store import (
    Candidates,
    CandidatesInMemory,
    CandidateStore,
    Numbers,
)
from prefpairs.engine.store.decide import (
    decide,
    group_order,
    may_flood,
    pairs_of_groups,
    refuse_too_many,
    step_of_groups,
)
from prefpairs.errors import BadInput, TooManyPairs
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger
from prefpairs.model.identity import digest_pair
from prefpairs.model.number import gap_between
from prefpairs.model.pair import (
    Pair,
    digests_of,
    without_scores,
)
from prefpairs.plan import PairPlan
from prefpairs.stages.base import IndexedPair
from prefpairs.stages.pair_columns import PairColumns, blocks_of
from prefpairs.strategies.bounds import Bounds
from prefpairs.strategies.options import MOST_PAIRS

if TYPE_CHECKING:
    from prefpairs.engine.pairs.native_pairs import NativePairs

_REJECTED = 32
"""A place is the number of the chosen candidate, shifted by this many bits, and of the rejected."""

_NUMBER = (1 << _REJECTED) - 1
_READY = _NUMBER << _REJECTED
"""Places from here on are slots of ready pairs: no candidate has such a high number."""

_WORTH_A_PROCESS = 20_000
"""Candidates from which a process saves time: their pairs take 80 ms, a fork 10."""

_APART = "the candidates of a group are not contiguous"
_SEEN_SLOTS = 1 << 20


class PairsFromCandidates:
    """The pairs that `pair` makes."""

    def __init__(self, plan: PairPlan, store: CandidateStore, ledger: Ledger) -> None:
        self.candidates = store
        self._plan = plan
        self._ready = ReadyPairs(plan, store.records, ledger)
        self._ledger = ledger
        self._last: tuple[int, Pair] | None = None
        """The place of the pair that was asked for last, and the pair."""

    def blocks(self) -> Iterator[PairColumns]:
        """The pairs, some at a time."""
        return blocks_of(self.entries())

    def entries(self) -> Iterator[IndexedPair]:
        """The pairs in the order in which they are written, without reading any text."""
        ledger, plan, store = self._ledger, self._plan, self.candidates
        store.index(ledger, self._ready)
        for number, slot in enumerate(self._ready.slots()):
            yield self._entry_of_ready(number, slot)
        ledger.progress.begin_step(partial(step_of_groups, "pairing", store, plan, ledger))
        numbers = decide(store, plan, ledger)
        for number, (chosen, rejected) in enumerate(numbers, len(self._ready)):
            yield self._entry(number, chosen, rejected)

    def put_all(self, sink: Sink) -> None:
        """Write all pairs to the sink; several threads or processes may, if it takes lines."""
        if self._plan.options.assume_grouped:
            self._put_as_they_come(sink)
            return
        ledger, plan, store = self._ledger, self._plan, self.candidates
        store.index(ledger, self._ready)
        self._put(self._ready.pairs(), sink)
        native, number = self._native, self._workers_worth()
        if native is None and isinstance(sink, PairLines) and number > 1 and CAN_FORK:
            self._put_by_processes(sink, number)
            return
        ledger.progress.begin_step(partial(step_of_groups, "writing", store, plan, ledger))
        if native is None or plan.options.across_prompts:
            self._put(map(self._fetch_from(store), decide(store, plan, ledger)), sink)
        else:
            native.put_all(plan, ledger, sink)

    @cached_property
    def _native(self) -> "NativePairs | None":
        """What makes the lines of pairs by the native core, if it knows what they have."""
        if self._plan.options.num_candidates or self._by_maker:
            return None
        core = self.candidates.core()
        if core is None:
            return None
        from prefpairs.engine.pairs.native_pairs import NativePairs

        return NativePairs(self.candidates, core, self._workers_worth())

    @property
    def _by_maker(self) -> bool:
        """Whether pairs are made by who gave an answer, so that they have no scores."""
        return bool(self._plan.read.options.prefer)

    def _workers_worth(self) -> int:
        """How many processes or threads should write: one, unless each has enough to do."""
        if self._plan.options.across_prompts:
            return 1
        amount = len(self.candidates.columns)
        return processes_for(self._plan.options.workers, amount, _WORTH_A_PROCESS)

    def _put_by_processes(self, sink: PairLines, number: int) -> None:
        from prefpairs.engine.pairs.write_workers import WriteWorkers

        plan, store = self._plan, self.candidates
        refuse_too_many(store, plan)
        groups = group_order(store, plan)
        workers = WriteWorkers(self._write_groups, groups, number, plan.temp_dir)
        workers.write(sink.outputs, self._ledger)

    def _write_groups(
        self, groups: Iterable[int], outputs: Mapping[str, Output], ledger: Ledger
    ) -> None:
        """Write the pairs of some groups, in this process or in a worker."""
        numbers = pairs_of_groups(self.candidates, self._plan, ledger, groups)
        self._put(map(self._fetch_from(self.candidates), numbers), PairLines(outputs, ledger))
        self.candidates.check()

    def _put_as_they_come(self, sink: Sink) -> None:
        """Pair inputs whose groups are contiguous, with one group in memory at a time."""
        plan, ledger = self._plan, self._ledger
        if Bounds(plan.options):
            ledger.stage_of_pairing()  # it is in the summary even if there is no group
        with reading_inputs(plan.read, ledger, self._ready) as reader:
            coming = chain.from_iterable(candidates_of(given.rows) for given in reader.inputs())
            seen, constant = SeenGroups(), 0
            facts = reader.formats.facts
            for key, run in groupby(coming, key=group_key):
                group = CandidatesInMemory(run)
                if seen.has(key):
                    label = group.fetch(0).origin.partition(":")[0]
                    raise BadInput(label, _APART, "sort by group, or omit --assume-grouped")
                facts.check_answers(group.columns.constant_groups)
                facts.check_references(group.mixed_references(), plan.read.options)
                constant += group.columns.constant_groups()
                ledger.groups_of_several_tasks += group.columns.groups_of_several_tasks
                numbers = pairs_of_groups(group, plan, ledger, range(1))
                self._put(map(self._fetch_from(group), numbers), sink)
            facts.check_answers(lambda: constant)  # rivals may come in later rows
        self._put(self._ready.pairs(), sink)

    def _put(self, pairs: Iterable[Pair], sink: Sink) -> None:
        plan, ledger = self._plan, self._ledger
        for pair in pairs:
            sink.put(pair, WHOLE)
            if plan.options.assume_grouped and ledger.pairs > MOST_PAIRS and may_flood(plan):
                raise TooManyPairs(ledger.pairs, MOST_PAIRS)

    def pair(self, entry: IndexedPair) -> Pair:
        """The pair of an entry; the last one is kept in memory."""
        if self._last is None or self._last[0] != entry.place:
            self._last = entry.place, self._pair(entry)
        return self._last[1]

    def pair_in(self, pairs: PairColumns, slot: int) -> Pair:
        """The pair in a slot."""
        return self.pair(pairs.indexed(slot))

    def _pair(self, entry: IndexedPair) -> Pair:
        if entry.place >= _READY:
            return self._ready.pair(entry.place - _READY)
        fetch = self._fetch_from(self.candidates)
        return fetch((entry.place >> _REJECTED, entry.place & _NUMBER))

    def _fetch_from(self, candidates: Candidates) -> Callable[[Numbers], Pair]:
        """What makes the pair of two candidates, with the size of their group if it is wanted."""
        if self._by_maker:
            return lambda numbers: without_scores(self._counted(candidates)(numbers))
        return self._counted(candidates)

    def _counted(self, candidates: Candidates) -> Callable[[Numbers], Pair]:
        if not self._plan.options.num_candidates:
            return candidates.fetch_pair
        columns = candidates.columns

        def counted(numbers: Numbers) -> Pair:
            pair = candidates.fetch_pair(numbers)
            size = len(columns.members(columns.group_number(numbers[0])))
            return pair._replace(meta={**(pair.meta or {}), "num_candidates": size})

        return counted

    def lines(self, pairs: PairColumns) -> Iterator[tuple[Sequence[int], Lines]]:
        """All slots in order, some at a time, with their lines where the core makes these."""
        native, places = self._native, pairs.places

        def known(slot: int) -> bool:
            return native is not None and places[slot] < _READY

        for made, run in groupby(range(len(pairs)), known):
            slots = [*run]
            if native is None or not made:
                yield slots, None
                continue
            chosen = array("I", (places[slot] >> _REJECTED for slot in slots))
            rejected = array("I", (places[slot] & _NUMBER for slot in slots))
            for lines in native.lines(chosen, rejected):
                count = 1 if lines is None else len(lines)
                yield slots[:count], lines
                del slots[:count]

    def _entry_of_ready(self, number: int, slot: int) -> IndexedPair:
        from prefpairs.engine.pairs.pairs_from_files import entry_of
        from prefpairs.fields.pair_row import PairRowOutcome

        pair = self._ready.pair(slot)
        digests = digests_of(pair.prompt, pair.tools, pair.chosen, pair.rejected)
        return entry_of(PairRowOutcome(pair, digests, b"", None), number, _READY + slot, 0)

    def _entry(self, number: int, chosen: int, rejected: int) -> IndexedPair:
        columns = self.candidates.columns
        group, prompt, tools = columns.question(chosen)
        _, other_prompt, _ = columns.question(rejected)
        digests = prompt, tools, columns.digest(chosen), columns.digest(rejected)
        scores = columns.scores[chosen], columns.scores[rejected]
        better, worse = (None, None) if self._by_maker else scores
        return IndexedPair(
            number=number,
            place=chosen << _REJECTED | rejected,
            length=0,
            gap=None if self._by_maker else gap_between(*scores),
            chosen_score=better,
            rejected_score=worse,
            id=digest_pair(*digests),
            prompt=prompt,
            tools=tools,
            chosen=digests[2],
            rejected=digests[3],
            group=group,
            other_prompt=b"" if other_prompt == prompt else other_prompt,
        )


class SeenGroups:
    """The keys of earlier groups, in 8 MB: a yes is certain, a no is not after a million groups.

    >>> groups = SeenGroups()
    >>> groups.has(b"sixteen bytes ok"), groups.has(b"sixteen bytes ok")
    (False, True)
    """

    def __init__(self) -> None:
        self._marks = array("Q", bytes(8 * _SEEN_SLOTS))

    def has(self, key: bytes) -> bool:
        """Whether this key came before; remember it."""
        slot = int.from_bytes(key[:8], "little") % _SEEN_SLOTS
        mark = int.from_bytes(key[8:16], "little")
        before, self._marks[slot] = self._marks[slot], mark
        return before == mark
