"""Ranks the candidates of a group, each rollout once: ties are broken by CandidateColumns.rank.

That is by score, then index, then content. Strategies see the result as a RankedGroup.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, groupby
from math import inf
from typing import overload

from prefpairs.engine.store.candidate_columns import CandidateColumns
from prefpairs.fields.read_options import ReadOptions
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate, candidate_line
from prefpairs.plan import PairPlan
from prefpairs.reasons import CONFLICTING
from prefpairs.strategies.allowed_pairs import Group

Fetch = Callable[[int], Candidate]


class RankedGroup:
    """The members of a group, best first, in the order of `CandidateColumns.rank`.

    Members that are equal in it are ordered by their whole text, which is fetched only
    when one of them is asked for. So the order of arrival never matters.
    """

    def __init__(
        self,
        columns: CandidateColumns,
        members: list[int],
        fetch: Fetch,
        key: bytes,
        *,
        distinct: bool = False,
    ) -> None:
        """Members in order of `columns.rank`; `distinct` if no two of them are equal in it."""
        self._members = members
        self._fetch = fetch
        self._ties = {} if distinct else _ties(columns, members)
        scores = list(map(columns.scores.__getitem__, members))
        self.group = Group(scores, _Digests(columns, members), key)

    def member(self, place: int) -> int:
        """The number of the candidate in this place."""
        if not self._ties:
            return self._members[place]
        tied = self._ties.pop(place, None)
        if tied is not None:
            for other in tied:
                self._ties.pop(other, None)
            block = slice(tied.start, tied.stop)
            self._members[block] = sorted(self._members[block], key=self._text)
        return self._members[place]

    def _text(self, number: int) -> bytes:
        return candidate_line(self._fetch(number)._replace(origin=""))

    def why_no_pair(self) -> str:
        """The reason why this group has no pair."""
        if len(self._members) < 2:
            return "one_candidate" if self._members else "no_candidate"
        if len(set(self.group.digests)) == 1:
            return "same_answer"
        if len(set(self.group.scores)) == 1:
            return "all_tied"
        return "none_allowed"


class _Digests(Sequence[bytes]):
    """The digests of a group's responses, read from the columns one by one.

    best-vs-worst needs two of them; reading all eight took a third of its time.
    """

    def __init__(self, columns: CandidateColumns, members: Sequence[int]) -> None:
        self._columns = columns
        self._members = members

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(place, slice):
            return [self._columns.digest(number) for number in self._members[place]]
        return self._columns.digest(self._members[place])


def _ties(columns: CandidateColumns, members: Sequence[int]) -> dict[int, range]:
    """For each place whose member ties with others in everything: all places of that tie."""
    ties: dict[int, range] = {}
    start = 0
    for _, tied in groupby(members, key=columns.rank):
        end = start + len(list(tied))
        if end - start > 1:
            ties.update(dict.fromkeys(range(start, end), range(start, end)))
        start = end
    return ties


def competing_members(
    columns: CandidateColumns, group: int, fetch: Fetch, plan: PairPlan, ledger: Ledger
) -> tuple[list[int], bool]:
    """The members of a group that compete, best first, and whether no two of them are tied.

    A rollout is identified by its task, its index and its content. Of copies with equal scores
    one competes. Of copies with different scores (a file that was verified twice) none does,
    because no one can tell which score is right. Without an index all copies compete, unless
    --drop-rows says otherwise; answers that are then both better and worse than another one are
    counted.
    """
    members, distinct = columns.ranked(group)
    if distinct and CONFLICTING not in plan.read.options.drop_rows:
        return members, True
    excluded = excluded_members(columns, members, fetch, plan.read.options)
    ledger.candidates_dropped.update(excluded.values())
    competing = [number for number in members if number not in excluded]
    judged = [(columns.digest(number), columns.scores[number]) for number in competing]
    if conflicting := judged_both_ways(judged, plan.options.min_gap):
        ledger.marked[CONFLICTING] += conflicting
    return competing, distinct


def excluded_members(
    columns: CandidateColumns, members: Sequence[int], fetch: Fetch, options: ReadOptions
) -> dict[int, str]:
    """The copies of rollouts that do not compete, each with the reason."""
    keep_conflicting = CONFLICTING in options.keep_rows
    copies: dict[tuple[int, int, bytes], list[int]] = {}
    for number in members:
        if (rollout := columns.rollout(number)) is not None:
            copies.setdefault(rollout, []).append(number)
    excluded: dict[int, str] = {}
    for same in copies.values():
        if len(same) > 1:
            excluded |= _excluded_copies(columns, same, fetch, keep_conflicting=keep_conflicting)
    if CONFLICTING in options.drop_rows:
        rest = [number for number in members if number not in excluded]
        excluded |= _with_several_scores(columns, rest)
    return excluded


def _excluded_copies(
    columns: CandidateColumns, same: list[int], fetch: Fetch, *, keep_conflicting: bool
) -> dict[int, str]:
    """The copies of one rollout that do not compete."""
    scores = {columns.scores[number] for number in same}
    if len(scores) > 1 and not keep_conflicting:
        return dict.fromkeys(same, CONFLICTING)
    duplicates: list[int] = []
    for score in scores:
        equal = [number for number in same if columns.scores[number] == score]
        if len(equal) > 1:
            equal.sort(key=lambda number: _fullest_first(fetch(number)))
            duplicates += equal[1:]
    return dict.fromkeys(duplicates, "duplicate_rollout")


def _fullest_first(candidate: Candidate) -> tuple[bool, bytes]:
    """The sort key of copies: those with tokens first, then by content."""
    return candidate.tokens is None, candidate_line(candidate._replace(origin=""))


def _with_several_scores(columns: CandidateColumns, members: Sequence[int]) -> dict[int, str]:
    """All copies of answers that have several scores, whatever their indexes."""
    scores: dict[bytes, set[float]] = {}
    for number in members:
        scores.setdefault(columns.digest(number), set()).add(columns.scores[number])
    several = {answer for answer, given in scores.items() if len(given) > 1}
    return {number: CONFLICTING for number in members if columns.digest(number) in several}


def judged_both_ways(judged: Iterable[tuple[bytes, float]], min_gap: float) -> int:
    """How many answers beat another answer by one of their scores and lose to it by another.

    Given are the digests of answers, each with one of its scores. (Rows without an index may be
    two rollouts with the same answer or one rollout that was judged twice.)

    >>> judged_both_ways([(b"a", 1.0), (b"a", 0.0), (b"b", 0.5)], 0)
    1
    >>> judged_both_ways([(b"a", 1.0), (b"a", 0.9), (b"b", 0.5), (b"b", 0.4)], 0)
    0
    """
    spans: dict[bytes, tuple[float, float]] = {}
    for answer, score in judged:
        least, most = spans.get(answer, (score, score))
        spans[answer] = min(least, score), max(most, score)
    if all(least == most for least, most in spans.values()):
        return 0
    ordered = sorted(spans.values())
    leasts = [least for least, _ in ordered]
    gap = min_gap * (1 - 1e-9)  # "more than" this is "at least" the gap, despite float rounding
    highest = [*accumulate(ordered, _two_highest, initial=(-inf, -inf))]

    def both_ways(least: float, most: float) -> bool:
        beaten = bisect_left(leasts, most - gap)  # how many answers it beats by one score
        first, second = highest[beaten]
        own = least < most - gap and first == most
        return (second if own else first) > least + gap

    return sum(both_ways(least, most) for least, most in ordered if least < most)


def _two_highest(highest: tuple[float, float], span: tuple[float, float]) -> tuple[float, float]:
    """The two highest scores of the answers so far, one of each."""
    first, second = highest
    _, most = span
    return (most, first) if most > first else (first, max(second, most))
