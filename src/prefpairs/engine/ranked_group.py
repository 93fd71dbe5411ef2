"""One group as strategies see it: members in order, without repeated rollouts."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import overload

from prefpairs.engine.candidate_index import Index
from prefpairs.engine.rejudged import judged_both_ways
from prefpairs.fields.read_options import ReadOptions
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate, candidate_line
from prefpairs.plan import PairPlan
from prefpairs.reasons import CONFLICTING
from prefpairs.strategies.allowed_pairs import Group

Fetch = Callable[[int], Candidate]


class _Digests(Sequence[bytes]):
    """The digests of a group's responses, taken from the index when somebody asks.

    best-vs-worst asks for two; taking all eight took a third of its time.
    """

    def __init__(self, index: Index, members: Sequence[int]) -> None:
        self._index = index
        self._members = members

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(place, slice):
            return [self._index.digest(number) for number in self._members[place]]
        return self._index.digest(self._members[place])


class Contest:
    """The members of a group, best first: by score, then index, then content.

    Members equal in all three are told apart by their whole text, but only when somebody asks
    for one of them; arrival decides nothing that can be seen.
    """

    def __init__(
        self,
        index: Index,
        members: list[int],
        fetch: Fetch,
        key: bytes,
        *,
        told_apart: bool = False,
    ) -> None:
        self._members = members
        self._fetch = fetch
        self._twins = {} if told_apart else _twins(index, members)
        scores = list(map(index.scores.__getitem__, members))
        self.group = Group(scores, _Digests(index, members), key)

    def member(self, place: int) -> int:
        """The candidate that has a place in the group."""
        if not self._twins:
            return self._members[place]
        twins = self._twins.pop(place, None)
        if twins is not None:
            for other in twins:
                self._twins.pop(other, None)
            block = slice(twins.start, twins.stop)
            self._members[block] = sorted(self._members[block], key=self._text)
        return self._members[place]

    def _text(self, number: int) -> bytes:
        return candidate_line(self._fetch(number)._replace(origin=""))

    def why_no_pair(self) -> str:
        """The reason for which this group gave no pair."""
        if len(self._members) < 2:
            return "one_candidate" if self._members else "no_candidate"
        if len(set(self.group.digests)) == 1:
            return "same_answer"
        if len(set(self.group.scores)) == 1:
            return "all_tied"
        return "none_allowed"


def fair_members(
    index: Index, group: int, fetch: Fetch, plan: PairPlan, ledger: Ledger
) -> tuple[list[int], bool]:
    """The members of a group, best first, each rollout once; and whether indexes tell them apart.

    A rollout is known by its task, its index and its content. With equal scores one of its
    copies stays; with different ones (a file that was verified twice) nobody can say which
    score is right, and none stays. Without an index copies compete, unless --drop-rows names
    them; where that makes an answer better and worse than another one, it is counted.
    """
    members, told_apart = index.ranked(group)
    if told_apart and CONFLICTING not in plan.read.options.drop_rows:
        return members, True
    unfair = unfair_members(index, members, fetch, plan.read.options)
    ledger.candidates_dropped.update(unfair.values())
    fair = [number for number in members if number not in unfair]
    judged = ((index.digest(number), index.scores[number]) for number in fair)
    if both_ways := judged_both_ways(judged, plan.options.min_gap):
        ledger.marked[CONFLICTING] += both_ways
    return fair, told_apart


def unfair_members(
    index: Index, members: Sequence[int], fetch: Fetch, options: ReadOptions
) -> dict[int, str]:
    """The copies of rollouts that do not compete, each with the reason."""
    keep_conflicting = CONFLICTING in options.keep_rows
    copies: dict[tuple[int, int, bytes], list[int]] = {}
    for number in members:
        if (rollout := index.rollout(number)) is not None:
            copies.setdefault(rollout, []).append(number)
    unfair: dict[int, str] = {}
    for same in copies.values():
        if len(same) > 1:
            unfair |= _unfair(index, same, fetch, keep_conflicting=keep_conflicting)
    if CONFLICTING in options.drop_rows:
        unfair |= _judged_differently(index, [one for one in members if one not in unfair])
    return unfair


def _judged_differently(index: Index, members: Sequence[int]) -> dict[int, str]:
    """All copies of the answers that have several scores, whatever their indexes."""
    scores: dict[bytes, set[float]] = {}
    for number in members:
        scores.setdefault(index.digest(number), set()).add(index.scores[number])
    several = {said for said, given in scores.items() if len(given) > 1}
    return {number: CONFLICTING for number in members if index.digest(number) in several}


def _unfair(
    index: Index, same: list[int], fetch: Fetch, *, keep_conflicting: bool
) -> dict[int, str]:
    """Which copies of one rollout go, and why."""
    scores = {index.scores[number] for number in same}
    if len(scores) > 1 and not keep_conflicting:
        return dict.fromkeys(same, CONFLICTING)
    unwanted: list[int] = []
    for score in scores:
        equal = [number for number in same if index.scores[number] == score]
        if len(equal) > 1:
            equal.sort(key=lambda number: _fullest_first(fetch(number)))
            unwanted += equal[1:]
    return dict.fromkeys(unwanted, "duplicate_rollout")


def _fullest_first(candidate: Candidate) -> tuple[bool, bytes]:
    """What copies are ordered by: one that brings its tokens stays, then content decides."""
    return candidate.tokens is None, candidate_line(candidate._replace(origin=""))


def _twins(index: Index, members: Sequence[int]) -> dict[int, range]:
    """For each place that ties with its neighbours in everything: all places of that tie."""
    twins: dict[int, range] = {}
    start = 0
    for _, tied in groupby(members, key=index.rank):
        end = start + len(list(tied))
        if end - start > 1:
            twins.update(dict.fromkeys(range(start, end), range(start, end)))
        start = end
    return twins
