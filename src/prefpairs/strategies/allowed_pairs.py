"""The pairs of a group that the laws and the options allow.

Every strategy chooses among these pairs only. They are counted, ordered and selected by number
without building all n² of them.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from prefpairs.model.number import gap_between
from prefpairs.strategies.options import PairOptions

Positions = tuple[int, int]
"""The positions of a chosen and a rejected candidate in their group."""


class Group(NamedTuple):
    """Candidates that compete, best first. Equal digests are equal answers.

    `identity` identifies the group in random draws.
    """

    scores: Sequence[float]
    digests: Sequence[bytes]
    identity: bytes = b""


class AllowedPairs:
    """The pairs that the laws and the options allow, widest gap first.

    Equal gaps are ordered by the chosen candidate, best first, then by the order of the group.
    `chosen` and `rejected` restrict the positions on each side.

    >>> group = Group([1.0, 0.5, 0.5, 0.0], [b"a", b"b", b"c", b"a"])
    >>> allowed = AllowedPairs(group, PairOptions())
    >>> list(allowed), len(allowed)
    ([(0, 1), (0, 2), (1, 3), (2, 3)], 4)
    """

    def __init__(
        self,
        group: Group,
        options: PairOptions,
        *,
        chosen: range | None = None,
        rejected: range | None = None,
    ) -> None:
        places = range(len(group.scores))
        floor = options.min_chosen_score
        self.group = group
        self.options = options
        self.chosen: Sequence[int] = places if chosen is None else chosen
        if floor is not None:
            self.chosen = [place for place in self.chosen if group.scores[place] >= floor]
        self._rejected = places if rejected is None else rejected

    def __iter__(self) -> Iterator[Positions]:
        """Merge the ordered partners of all chosen candidates with a heap."""
        digests, partners = self._digests, self._worst_first
        scores, ranked = self.group.scores, self._ranked_scores
        heap = []
        for chosen in self.chosen:
            start, end = self._span(chosen)
            if (first := self._other_answer(start, chosen)) < end:
                heap.append((-gap_between(scores[chosen], ranked[first]), chosen, first, end))
        heapq.heapify(heap)
        while heap:
            _, chosen, rank, end = heap[0]
            yield chosen, partners[rank]
            rank += 1
            if rank < end and digests[partners[rank]] == digests[chosen]:
                rank = self._next_answer[rank]
            if rank < end:
                wide = gap_between(scores[chosen], ranked[rank])
                heapq.heapreplace(heap, (-wide, chosen, rank, end))
            else:
                heapq.heappop(heap)

    def __len__(self) -> int:
        """The number of pairs, without making them."""
        return self._counts[-1] if self._counts else 0

    def __getitem__(self, number: int) -> Positions:
        """The pair with a number below len(), in an order of its own: by chosen, then rejected.

        >>> group = Group([1.0, 0.5, 0.0], [b"a", b"b", b"a"])
        >>> allowed = AllowedPairs(group, PairOptions())
        >>> [allowed[number] for number in range(len(allowed))]
        [(0, 1), (1, 2)]
        """
        at = bisect_right(self._counts, number)
        chosen = self.chosen[at]
        start, end = self._span(chosen)
        rank = start + number - (self._counts[at - 1] if at else 0)
        for same in self._same_answers(chosen, start, end):
            if same > rank:
                break
            rank += 1
        return chosen, self._worst_first[rank]

    def partners(self, chosen: int) -> Iterator[int]:
        """The rejected candidates allowed with a chosen one, widest gap first."""
        rank, end = self._span(chosen)
        while (rank := self._other_answer(rank, chosen)) < end:
            yield self._worst_first[rank]
            rank += 1

    def nearest(self, chosen: int) -> int | None:
        """The allowed rejected candidate with the narrowest gap; the first if there are several."""
        start, end = self._span(chosen)
        rank = end - 1
        digests = self._digests
        if rank >= start and digests[self._worst_first[rank]] == digests[chosen]:
            rank = self._previous_answer[rank]
        if rank < start:
            return None
        level = bisect_left(self._ranked_scores, self._ranked_scores[rank], start)
        return self._worst_first[self._other_answer(level, chosen)]

    def gap(self, chosen: int, rejected: int) -> float:
        """The decimal difference of two candidates' scores."""
        return gap_between(self.group.scores[chosen], self.group.scores[rejected])

    def widest(self) -> Positions | None:
        """The widest pair; a shortcut, as best and worst are nearly always allowed."""
        if not self.chosen or not self._rejected:
            return None
        best, worst = self.chosen[0], min(self._rejected, key=self.group.scores.__getitem__)
        if self._passes(best, worst):
            return best, worst
        return next(iter(self), None)

    def _passes(self, chosen: int, rejected: int) -> bool:
        scores, digests = self.group.scores, self.group.digests
        if scores[chosen] <= scores[rejected] or digests[chosen] == digests[rejected]:
            return False
        gap = self.gap(chosen, rejected)
        widest = self.options.max_gap
        return gap >= self.options.min_gap and (widest is None or gap <= widest)

    def _span(self, chosen: int) -> tuple[int, int]:
        """The ranks, worst first, whose gap to the chosen one is within the bounds."""
        return self._span_of_score(self.group.scores[chosen])

    def _span_of_score(self, score: float) -> tuple[int, int]:
        if (span := self._spans.get(score)) is None:
            ranked = self._ranked_scores
            end = bisect_left(ranked, score)
            if narrow := self.options.min_gap:
                end = bisect_right(
                    ranked, -narrow, 0, end, key=lambda low: -gap_between(score, low)
                )
            start, wide = 0, self.options.max_gap
            if wide is not None:
                start = bisect_left(ranked, -wide, 0, end, key=lambda low: -gap_between(score, low))
            span = self._spans[score] = (start, end)
        return span

    def _other_answer(self, rank: int, chosen: int) -> int:
        """The first rank from here whose answer differs from the chosen one's."""
        if rank >= len(self._worst_first):
            return rank
        same = self._digests[self._worst_first[rank]] == self._digests[chosen]
        return self._next_answer[rank] if same else rank

    def _same_answers(self, chosen: int, start: int, end: int) -> Sequence[int]:
        """The ranks in a span that have the chosen one's own answer."""
        ranks = self._ranks_of.get(self._digests[chosen], ())
        if not ranks or ranks[0] >= end or ranks[-1] < start:
            return ()
        return ranks[bisect_left(ranks, start) : bisect_left(ranks, end)]

    @cached_property
    def _worst_first(self) -> list[int]:
        return sorted(self._rejected, key=self.group.scores.__getitem__)

    @cached_property
    def _digests(self) -> list[bytes]:
        return list(self.group.digests)

    @cached_property
    def _spans(self) -> dict[float, tuple[int, int]]:
        return {}

    @cached_property
    def _ranked_scores(self) -> list[float]:
        return [self.group.scores[place] for place in self._worst_first]

    @cached_property
    def _next_answer(self) -> list[int]:
        """For each rank, the next one with a different answer."""
        digests = [self._digests[place] for place in self._worst_first]
        following = list(range(1, len(digests) + 1))
        for rank in range(len(digests) - 2, -1, -1):
            if digests[rank] == digests[rank + 1]:
                following[rank] = following[rank + 1]
        return following

    @cached_property
    def _previous_answer(self) -> list[int]:
        """For each rank, the last one before it with a different answer, or -1."""
        digests = [self._digests[place] for place in self._worst_first]
        previous = list(range(-1, len(digests) - 1))
        for rank in range(1, len(digests)):
            if digests[rank] == digests[rank - 1]:
                previous[rank] = previous[rank - 1]
        return previous

    @cached_property
    def _ranks_of(self) -> dict[bytes, list[int]]:
        ranks: dict[bytes, list[int]] = {}
        for rank, place in enumerate(self._worst_first):
            ranks.setdefault(self._digests[place], []).append(rank)
        return ranks

    @cached_property
    def _counts(self) -> list[int]:
        """For each chosen candidate, how many pairs it and those before it have."""
        scores, digests, spans, ranks_of = (
            self.group.scores,
            self._digests,
            self._spans,
            self._ranks_of,
        )
        counts, total = [], 0
        for chosen in self.chosen:
            start, end = spans.get(scores[chosen]) or self._span(chosen)
            if end > start:
                total += end - start
                if digests[chosen] in ranks_of:
                    total -= len(self._same_answers(chosen, start, end))
            counts.append(total)
        return counts
