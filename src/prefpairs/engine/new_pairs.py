"""Pairs in the making, as sieves see them: known from the index, written from the rollouts.

Those that stood ready in the rollouts go first.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, groupby

from prefpairs.engine.candidate_index import Index, Place
from prefpairs.engine.candidate_reader import reading_inputs
from prefpairs.engine.filed_pairs import entry_of
from prefpairs.engine.group_workers import Shares
from prefpairs.engine.index_fill import candidates_of, fill
from prefpairs.engine.pair import (
    Numbers,
    decide,
    group_order,
    made,
    may_flood,
    pairs_of_groups,
    refuse_too_many,
    step_of_groups,
)
from prefpairs.engine.pair_writer import WHOLE, PairLines, Sink
from prefpairs.engine.processes import CAN_FORK, processes_for
from prefpairs.engine.ready_pairs import ReadyPairs
from prefpairs.engine.record_fetch import Candidates
from prefpairs.engine.seen_rows import Memory
from prefpairs.errors import BadInput, TooManyPairs
from prefpairs.fields.pair_row import PairReading
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger
from prefpairs.model.identity import digest_pair
from prefpairs.model.number import gap_between
from prefpairs.model.pair import Pair, digests_of
from prefpairs.plan import PairPlan
from prefpairs.stages.base import IndexedPair
from prefpairs.strategies.options import MOST_PAIRS

_REJECTED = 32
"""A place is the number of the chosen candidate, and below it that of the rejected one."""

_NUMBER = (1 << _REJECTED) - 1
_READY = _NUMBER << _REJECTED
"""From here on places are those of pairs that stood ready: no candidate has so high a number."""

_WORTH_A_PROCESS = 20_000
"""Candidates: their pairs take 80 ms, and to fork takes 10."""

_APART = "the candidates of a group do not stand together"


def _processes_worth(index: Index, plan: PairPlan) -> int:
    """How many processes should write: one, unless each has enough to do."""
    if plan.options.across_prompts or not CAN_FORK:
        return 1
    return processes_for(plan.options.workers, len(index), _WORTH_A_PROCESS)


class MadePairs:
    """The pairs that `pair` would write."""

    def __init__(self, plan: PairPlan, library: Candidates, ledger: Ledger) -> None:
        self._plan = plan
        self._library = library
        self._ready = ReadyPairs(plan, library, ledger)
        self._ledger = ledger
        self.index = Index()
        self.fetch = partial(library.fetch, self.index)
        self._last: tuple[IndexedPair, Pair] | None = None

    def entries(self) -> Iterator[IndexedPair]:
        """The pairs in the order in which `pair` would write them; no text is read for them."""
        with reading_inputs(self._plan.read, self._ledger, self._ready) as reader:
            fill(self.index, self._library, reader, self._plan)
        for number, slot in enumerate(self._ready.slots()):
            yield self._entry_of_ready(number, slot)
        ledger, plan = self._ledger, self._plan
        ledger.progress.begin_step(partial(step_of_groups, "pairing", self.index, plan, ledger))
        numbers = decide(self.index, self.fetch, plan, ledger)
        for number, (chosen, rejected) in enumerate(numbers, len(self._ready)):
            yield self._entry(number, chosen, rejected)

    def put_all(self, sink: Sink) -> None:
        """Give all pairs to the sink; several processes may write to one that takes lines."""
        if self._plan.options.assume_grouped:
            self._put_as_they_come(sink)
            return
        index, plan, ledger = self.index, self._plan, self._ledger
        with reading_inputs(plan.read, ledger, self._ready) as reader:
            fill(index, self._library, reader, plan)
        self._put(self._ready.pairs(), sink)
        number = _processes_worth(index, plan)
        if not isinstance(sink, PairLines) or number == 1:
            ledger.progress.begin_step(partial(step_of_groups, "writing", index, plan, ledger))
            self._put(self._made(decide(index, self.fetch, plan, ledger)), sink)
            return
        if may_flood(plan):
            refuse_too_many(index, self.fetch, plan)
        shares = Shares(self._write_groups, group_order(index, plan), number, plan.temp_dir)
        shares.write(sink.outputs, ledger)

    def _write_groups(
        self, groups: Iterable[int], outputs: Mapping[str, Output], ledger: Ledger
    ) -> None:
        """Write the pairs of some groups; in a process of its own, perhaps."""
        numbers = pairs_of_groups(self.index, self.fetch, self._plan, ledger, groups)
        self._put(self._made(numbers), PairLines(outputs, ledger))
        self._library.check()

    def _put_as_they_come(self, sink: Sink) -> None:
        """Pair groups whose candidates are neighbours, with one group in memory at a time."""
        plan, ledger = self._plan, self._ledger
        with reading_inputs(plan.read, ledger, self._ready) as reader:
            coming = chain.from_iterable(candidates_of(given.readings) for given in reader.inputs())
            seen, constant = Memory(), 0
            for key, run in groupby(coming, key=Index.group_key):
                index, members = Index(), list(run)
                if seen.has(key):
                    label = members[0].origin.partition(":")[0]
                    raise BadInput(label, _APART, "sort by group, or leave --assume-grouped away")
                for candidate in members:
                    index.add(candidate, Place(0, 0, 0, 0, 0))
                reader.formats.shown.check_answers(index.constant_groups)
                constant += index.constant_groups()
                fetch = members.__getitem__
                numbers = pairs_of_groups(index, fetch, plan, ledger, range(1))
                self._put(map(partial(made, index=index, fetch=fetch), numbers), sink)
            reader.formats.shown.check_answers(lambda: constant)  # rivals may come in later rows
        self._put(self._ready.pairs(), sink)

    def _put(self, pairs: Iterable[Pair], sink: Sink) -> None:
        plan, ledger = self._plan, self._ledger
        for pair in pairs:
            sink.put(pair, WHOLE)
            if plan.options.assume_grouped and ledger.pairs > MOST_PAIRS and may_flood(plan):
                raise TooManyPairs(ledger.pairs, MOST_PAIRS)

    def _made(self, numbers: Iterable[Numbers]) -> Iterator[Pair]:
        return map(partial(made, index=self.index, fetch=self.fetch), numbers)

    def pair(self, entry: IndexedPair) -> Pair:
        """The pair behind an entry; at hand if it was the last one that was asked for."""
        if self._last is None or self._last[0] is not entry:
            self._last = entry, self._pair(entry)
        return self._last[1]

    def _pair(self, entry: IndexedPair) -> Pair:
        if entry.place >= _READY:
            return self._ready.pair(entry.place - _READY)
        numbers = entry.place >> _REJECTED, entry.place & _NUMBER
        return made(numbers, self.index, self.fetch)

    def line(self, _entry: IndexedPair) -> None:
        """Nowhere does a pair stand that is only being made."""

    def _entry_of_ready(self, number: int, slot: int) -> IndexedPair:
        pair = self._ready.pair(slot)
        digests = digests_of(pair.prompt, pair.tools, pair.chosen, pair.rejected)
        return entry_of(PairReading(pair, digests, b"", None), number, _READY + slot, 0)

    def _entry(self, number: int, chosen: int, rejected: int) -> IndexedPair:
        index = self.index
        group, prompt, tools = index.question(chosen)
        _, other_prompt, _ = index.question(rejected)
        digests = prompt, tools, index.digest(chosen), index.digest(rejected)
        return IndexedPair(
            number=number,
            place=chosen << _REJECTED | rejected,
            length=0,
            gap=gap_between(index.scores[chosen], index.scores[rejected]),
            chosen_score=index.scores[chosen],
            rejected_score=index.scores[rejected],
            id=digest_pair(*digests),
            prompt=prompt,
            tools=tools,
            chosen=digests[2],
            rejected=digests[3],
            group=group,
            other_prompt=b"" if other_prompt == prompt else other_prompt,
        )
