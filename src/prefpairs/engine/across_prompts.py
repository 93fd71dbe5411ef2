"""Pairs of answers to different prompts: the whole input is one contest."""

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isnan, nan

from prefpairs.engine.candidate_index import Index
from prefpairs.engine.ranked_group import Contest, Fetch, fair_members
from prefpairs.errors import TooManyPairs
from prefpairs.ledger import Ledger
from prefpairs.model.canonical_json import canonical_json
from prefpairs.plan import PairPlan
from prefpairs.strategies.options import MOST_PAIRS, PairOptions
from prefpairs.strategies.stratified import stratified_across_prompts

_MOST_CACHED = 1024


def pairs_across_prompts(
    index: Index, fetch: Fetch, plan: PairPlan, ledger: Ledger
) -> Iterator[tuple[int, int]]:
    """The stratified pairs of the whole input, by number."""
    keys = index.group_keys()
    ledger.groups = len(keys)
    scores = _scores_of_fair_members(index, fetch, plan, ledger)

    if not plan.options.yes_all:
        _refuse_too_many(scores, plan.options)

    def identity_of(number: int) -> bytes:
        rollout = index.rollout(number) or ()
        own = canonical_json([index.scores[number], *rollout[:2]])
        return keys[index.group_number(number)] + index.digest(number) + own

    @lru_cache(maxsize=_MOST_CACHED)
    def contest_of(group: int) -> tuple[Contest, dict[int, int]]:
        members = [member for member in index.members(group) if not isnan(scores[member])]
        members.sort(key=lambda number: (index.rank(number), index.rollout(number)))
        places = {number: place for place, number in enumerate(members)}
        return Contest(index, members, fetch, keys[group]), places

    def settled(number: int) -> int:
        contest, places = contest_of(index.group_number(number))
        return contest.member(places[number])

    chosen = stratified_across_prompts(scores, index.digest, identity_of, plan.options)
    pairs = _counted(((settled(better), settled(worse)) for better, worse in chosen), index, ledger)
    if plan.options.order == "key":
        return iter(sorted(pairs, key=lambda pair: (identity_of(pair[0]), identity_of(pair[1]))))
    return pairs


def _counted(
    pairs: Iterator[tuple[int, int]], index: Index, ledger: Ledger
) -> Iterator[tuple[int, int]]:
    """The pairs; how many of them have two prompts is told in the summary."""
    for numbers in pairs:
        ledger.across_prompts += not index.same_question(*numbers)
        yield numbers


def _refuse_too_many(scores: Sequence[float], options: PairOptions) -> None:
    highs = sum(score >= options.high_threshold for score in scores)
    lows = sum(score <= options.low_threshold for score in scores)
    most = highs * min(lows, options.rejected_per_chosen)
    if most > MOST_PAIRS:
        raise TooManyPairs(most, MOST_PAIRS)


def _scores_of_fair_members(
    index: Index, fetch: Fetch, plan: PairPlan, ledger: Ledger
) -> "array[float]":
    """All scores, with NaN for the copies of rollouts that do not compete."""
    scores = array("d", [nan]) * len(index)
    for group in range(ledger.groups):
        members, _ = fair_members(index, group, fetch, plan, ledger)
        for number in members:
            scores[number] = index.scores[number]
    return scores
