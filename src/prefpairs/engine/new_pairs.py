"""Pairs in the making, as sieves see them: known from the index, written from the rollouts.

Those that stood ready in the rollouts go first.
"""

from collections.abc import Iterator
from functools import partial

from prefpairs.engine.candidate_index import Index
from prefpairs.engine.candidate_reader import reading_inputs
from prefpairs.engine.filed_pairs import entry_of
from prefpairs.engine.index_fill import fill
from prefpairs.engine.pair import decide, made, step_of_groups
from prefpairs.engine.plan import PairPlan
from prefpairs.engine.ready_pairs import ReadyPairs
from prefpairs.engine.record_fetch import Candidates
from prefpairs.fields.pair_row import PairReading
from prefpairs.ledger import Ledger
from prefpairs.model.identity import digest_pair
from prefpairs.model.number import gap_between
from prefpairs.model.pair import Pair, digests_of
from prefpairs.stages.base import IndexedPair

_REJECTED = 32
"""A place is the number of the chosen candidate, and below it that of the rejected one."""

_NUMBER = (1 << _REJECTED) - 1
_READY = _NUMBER << _REJECTED
"""From here on places are those of pairs that stood ready: no candidate has so high a number."""


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
