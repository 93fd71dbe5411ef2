"""Which pairs are made of the candidates of an index, group by group."""

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice

from prefpairs.engine.across_prompts import pairs_across_prompts
from prefpairs.engine.candidate_index import Index
from prefpairs.engine.ranked_group import Contest, Fetch, fair_members
from prefpairs.errors import InputChanged, TooManyPairs
from prefpairs.ledger import Ledger
from prefpairs.ledger.progress import Activity, Step
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import canonical, digest_tools
from prefpairs.model.pair import Digests, Pair, make_pair
from prefpairs.plan import PairPlan
from prefpairs.strategies import strategy_named
from prefpairs.strategies.options import MOST_PAIRS

Numbers = tuple[int, int]
"""A chosen and a rejected candidate, by their numbers in the index."""


def step_of_groups(verb: Activity, index: Index, plan: PairPlan, ledger: Ledger) -> Step:
    """How many groups have had their turn; pairs across all of them are merely counted."""
    if plan.options.across_prompts:
        return Step(verb, ledger.pairs, None, "pairs")
    return Step(verb, ledger.groups, index.groups, "groups")


def decide(index: Index, fetch: Fetch, plan: PairPlan, ledger: Ledger) -> Iterator[Numbers]:
    """The pairs of all groups, by number, in the order in which they are written."""
    if plan.options.across_prompts:
        return pairs_across_prompts(index, fetch, plan, ledger)
    if may_flood(plan):
        refuse_too_many(index, fetch, plan)
    return pairs_of_groups(index, fetch, plan, ledger, group_order(index, plan))


def may_flood(plan: PairPlan) -> bool:
    """Whether nothing bounds the number of pairs."""
    return plan.options.max_pairs_per_group is None and not plan.options.yes_all


def group_order(index: Index, plan: PairPlan) -> Sequence[int]:
    """The groups in the order in which their pairs are written."""
    order = range(index.groups)
    return (
        sorted(order, key=index.group_keys().__getitem__) if plan.options.order == "key" else order
    )


def pairs_of_groups(
    index: Index, fetch: Fetch, plan: PairPlan, ledger: Ledger, groups: Iterable[int]
) -> Iterator[Numbers]:
    """The pairs of some groups, by number."""
    _, strategy = strategy_named(plan.options.strategy)
    for contest in contests(index, fetch, plan, ledger, groups):
        ledger.groups += 1
        chosen = strategy(contest.group, plan.options) if contest.group.scores else ()
        pairs = islice(chosen, plan.options.max_pairs_per_group)
        first = next(pairs, None)
        if first is None:
            ledger.groups_without_pair[contest.why_no_pair()] += 1
            continue
        yield contest.member(first[0]), contest.member(first[1])
        for best, worst in pairs:
            yield contest.member(best), contest.member(worst)


def contests(
    index: Index, fetch: Fetch, plan: PairPlan, ledger: Ledger, groups: Iterable[int]
) -> Iterator[Contest]:
    """The groups as strategies see them, each rollout once."""
    keys = index.group_keys()
    for group in groups:
        members, told_apart = fair_members(index, group, fetch, plan, ledger)
        yield Contest(index, members, fetch, keys[group], told_apart=told_apart)


def refuse_too_many(index: Index, fetch: Fetch, plan: PairPlan) -> None:
    """Raise if more pairs would come out than anyone wants by accident; none are made."""
    if index.most_pairs() <= MOST_PAIRS:
        return
    _, strategy = strategy_named(plan.options.strategy)
    pairs = 0
    for contest in contests(index, fetch, plan, Ledger(), group_order(index, plan)):
        chosen = strategy(contest.group, plan.options)
        pairs += len(chosen) if isinstance(chosen, Sized) else sum(1 for _ in chosen)
    if pairs > MOST_PAIRS:
        raise TooManyPairs(pairs, MOST_PAIRS)


def made(numbers: Numbers, index: Index, fetch: Fetch) -> Pair:
    """The pair of two candidates. The index compared digests; here their contents are."""
    better, worse = numbers
    chosen, rejected = fetch(better), fetch(worse)
    _, prompt, tools = index.question(better)
    digests = Digests(prompt, tools, index.digest(better), index.digest(worse))
    if not index.same_question(better, worse):
        index.confirm(better, chosen, better)
        index.confirm(worse, rejected, worse)
        return make_pair(chosen, rejected, digests, index.question(worse)[1])
    if not index.confirmed.issuperset(numbers):
        if not _same_question(chosen, rejected):
            raise InputChanged(chosen.origin.rpartition(":")[0])
        index.confirm(better, chosen, worse)
    return make_pair(chosen, rejected, digests)


def _same_question(chosen: Candidate, rejected: Candidate) -> bool:
    if chosen.prompt == rejected.prompt and chosen.tools == rejected.tools:
        return True
    same = canonical(chosen.prompt, "user") == canonical(rejected.prompt, "user")
    return same and digest_tools(chosen.tools) == digest_tools(rejected.tools)
