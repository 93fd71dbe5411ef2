"""Which candidates become pairs, decided by columns alone: group by group, or across prompts."""

from array import array
from collections.abc import Iterable, Iterator, Sequence, Sized
from functools import lru_cache
from itertools import islice
from math import isnan, nan

from prefpairs.engine.store.candidate_store import Candidates, Numbers
from prefpairs.engine.store.ranking import RankedGroup, competing_members
from prefpairs.errors import TooManyPairs
from prefpairs.ledger import Activity, Ledger, Step
from prefpairs.model.identity import canonical_json
from prefpairs.plan import PairPlan
from prefpairs.strategies import strategy_named
from prefpairs.strategies.bounds import Bounds, how_many
from prefpairs.strategies.options import MOST_PAIRS, PairOptions

_MOST_CACHED = 1024


def decide(candidates: Candidates, plan: PairPlan, ledger: Ledger) -> Iterator[Numbers]:
    """All pairs by the numbers of their candidates, in the order in which they are written."""
    if plan.options.across_prompts:
        return pairs_across_prompts(candidates, plan, ledger)
    refuse_too_many(candidates, plan)
    return pairs_of_groups(candidates, plan, ledger, group_order(candidates, plan))


def pairs_of_groups(
    candidates: Candidates, plan: PairPlan, ledger: Ledger, groups: Iterable[int]
) -> Iterator[Numbers]:
    """The pairs of some groups.

    Groups without a pair are counted with the reason, and so are pairs that a bound leaves out.
    """
    _, strategy = strategy_named(plan.options.strategy)
    bounds = Bounds(plan.options)
    pairing = ledger.stage_of_pairing() if bounds else None
    for ranked in candidates.rank(groups, plan, ledger):
        ledger.groups += 1
        chosen = strategy(ranked.group, plan.options) if ranked.group.scores else ()
        if pairing is not None:
            chosen = chosen if isinstance(chosen, Sized) else [*chosen]
            left_out = bounds.left_out(ranked.group, len(chosen))
            pairing.found += min(len(chosen), plan.options.max_pairs_per_group or len(chosen))
            pairing.found += left_out.total()
            pairing.dropped.update(left_out)
        pairs = islice(chosen, plan.options.max_pairs_per_group)
        first = next(pairs, None)
        if first is None:
            ledger.groups_without_pair[ranked.why_no_pair()] += 1
            continue
        yield ranked.member(first[0]), ranked.member(first[1])
        for better, worse in pairs:
            yield ranked.member(better), ranked.member(worse)


def group_order(candidates: Candidates, plan: PairPlan) -> Sequence[int]:
    """The groups in the order in which their pairs are written."""
    order = range(candidates.columns.groups)
    if plan.options.order == "key":
        return sorted(order, key=candidates.columns.keys.__getitem__)
    return order


def may_flood(plan: PairPlan) -> bool:
    """Whether the number of pairs is unbounded, and the user has not agreed to that."""
    return plan.options.max_pairs_per_group is None and not plan.options.yes_all


def refuse_too_many(candidates: Candidates, plan: PairPlan) -> None:
    """Raise TooManyPairs, before any pair is made, if there are more than anyone expects."""
    columns = candidates.columns
    most = Bounds(plan.options).most * columns.groups
    if not may_flood(plan) or min(columns.most_pairs(), most) <= MOST_PAIRS:
        return
    _, strategy = strategy_named(plan.options.strategy)
    pairs = 0
    for ranked in candidates.rank(range(columns.groups), plan, Ledger()):
        pairs += how_many(strategy(ranked.group, plan.options))
    if pairs > MOST_PAIRS:
        raise TooManyPairs(pairs, MOST_PAIRS)


def step_of_groups(verb: Activity, candidates: Candidates, plan: PairPlan, ledger: Ledger) -> Step:
    """How many groups are done; the number of pairs across prompts is not known in advance."""
    if plan.options.across_prompts:
        return Step(verb, ledger.pairs, None, "pairs")
    return Step(verb, ledger.groups, candidates.columns.groups, "groups")


def pairs_across_prompts(
    candidates: Candidates, plan: PairPlan, ledger: Ledger
) -> Iterator[Numbers]:
    """The stratified pairs of the whole input."""
    from prefpairs.strategies.stratified import stratified_across_prompts

    columns = candidates.columns
    ledger.groups = columns.groups
    scores = _scores_of_competing(candidates, plan, ledger)
    if not plan.options.yes_all:
        _refuse_too_many_across(scores, plan.options)

    def identity_of(number: int) -> bytes:
        rollout = columns.rollout(number) or ()
        own = canonical_json([columns.scores[number], *rollout[:2]])
        return columns.keys[columns.group_number(number)] + columns.digest(number) + own

    @lru_cache(maxsize=_MOST_CACHED)
    def ranked(group: int) -> tuple[RankedGroup, dict[int, int]]:
        members = [member for member in columns.members(group) if not isnan(scores[member])]
        members.sort(key=lambda number: (columns.rank(number), columns.rollout(number)))
        places = {number: place for place, number in enumerate(members)}
        return RankedGroup(columns, members, candidates.fetch, columns.keys[group]), places

    def settled(number: int) -> int:
        """The candidate itself, or the one of its ties that its place belongs to."""
        group, places = ranked(columns.group_number(number))
        return group.member(places[number])

    def counted(chosen: Iterable[Numbers]) -> Iterator[Numbers]:
        for better, worse in chosen:
            numbers = settled(better), settled(worse)
            ledger.across_prompts += not columns.same_question(*numbers)
            yield numbers

    pairs = counted(stratified_across_prompts(scores, columns.digest, identity_of, plan.options))
    if plan.options.order == "key":
        return iter(sorted(pairs, key=lambda pair: (identity_of(pair[0]), identity_of(pair[1]))))
    return pairs


def _scores_of_competing(candidates: Candidates, plan: PairPlan, ledger: Ledger) -> "array[float]":
    """All scores, with NaN for candidates that do not compete."""
    columns = candidates.columns
    scores = array("d", [nan]) * len(columns)
    for group in range(columns.groups):
        members, _ = competing_members(columns, group, candidates.fetch, plan, ledger)
        for number in members:
            scores[number] = columns.scores[number]
    return scores


def _refuse_too_many_across(scores: Sequence[float], options: PairOptions) -> None:
    highs = sum(score >= options.high_threshold for score in scores)
    lows = sum(score <= options.low_threshold for score in scores)
    most = highs * min(lows, options.rejected_per_chosen)
    if most > MOST_PAIRS:
        raise TooManyPairs(most, MOST_PAIRS)
