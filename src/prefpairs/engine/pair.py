"""pair: index all candidates, decide group by group, fetch the winners and write them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from itertools import chain, groupby, islice

from prefpairs.engine.across_prompts import pairs_across_prompts
from prefpairs.engine.candidate_index import Index, Place
from prefpairs.engine.candidate_reader import reading_inputs
from prefpairs.engine.group_workers import Shares
from prefpairs.engine.index_fill import candidates_of, fill
from prefpairs.engine.pair_writer import WHOLE, PairLines, Sink, open_sink
from prefpairs.engine.plan import MOST_PAIRS, ExportPlan, PairPlan
from prefpairs.engine.processes import CAN_FORK, processes_for
from prefpairs.engine.ranked_group import Contest, Fetch, fair_members
from prefpairs.engine.ready_pairs import ReadyPairs
from prefpairs.engine.record_fetch import Candidates
from prefpairs.engine.seen_rows import Memory
from prefpairs.errors import BadInput, InputChanged, NothingCameOut, TooManyPairs
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger
from prefpairs.ledger.progress import Activity, Step
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import canonical, digest_tools
from prefpairs.model.pair import Digests, Pair, make_pair
from prefpairs.strategies import strategy_named

_WORTH_A_SHARE = 20_000
"""Candidates: their pairs take 80 ms, and to fork takes 10."""

_APART = "the candidates of a group do not stand together"

Numbers = tuple[int, int]
"""A chosen and a rejected candidate, by their numbers in the index."""


def pair(
    plan: PairPlan,
    outputs: Mapping[str, Output],
    ledger: Ledger,
    *,
    export: ExportPlan | None = None,
    allow_empty: bool = False,
) -> None:
    """Write the pairs that the plan makes of its inputs, as they are or for a trainer."""
    with (
        open_sink(outputs, ledger, export, allow_empty=allow_empty) as sink,
        Candidates() as library,
    ):
        if plan.options.assume_grouped:
            _pair_as_it_comes(plan, library, sink, ledger)
        else:
            lines = outputs if export is None else None
            _pair_by_index(plan, library, sink, ledger, lines)
    if not ledger.lines_written.total() and not allow_empty:
        raise NothingCameOut("pair")


def _pair_by_index(
    plan: PairPlan,
    library: Candidates,
    sink: Sink,
    ledger: Ledger,
    lines: Mapping[str, Output] | None,
) -> None:
    """Write to the sink; or to `lines`, if pairs go out as they are and several can write."""
    index, ready = Index(), ReadyPairs(plan, library, ledger)
    with reading_inputs(plan.read, ledger, ready) as reader:
        fill(index, library, reader, plan)
    _write(ready.pairs(), plan, sink, ledger)
    fetch = partial(library.fetch, index)

    def write(groups: Iterable[int], outputs: Mapping[str, Output], ledger: Ledger) -> None:
        numbers = _pairs_of_groups(index, fetch, plan, ledger, groups)
        _write(_made(numbers, index, fetch), plan, PairLines(outputs, ledger), ledger)
        library.check()

    number = _shares_worth(index, plan)
    if lines is not None and number > 1:
        if _may_flood(plan):
            _refuse_too_many(index, fetch, plan)
        Shares(write, _order(index, plan), number, plan.temp_dir).write(lines, ledger)
        return
    ledger.progress.begin_step(partial(step_of_groups, "writing", index, plan, ledger))
    pairs = _made(decide(index, fetch, plan, ledger), index, fetch)
    _write(pairs, plan, sink, ledger)
    library.check()


def step_of_groups(verb: Activity, index: Index, plan: PairPlan, ledger: Ledger) -> Step:
    """How many groups have had their turn; pairs across all of them are merely counted."""
    if plan.options.across_prompts:
        return Step(verb, ledger.pairs, None, "pairs")
    return Step(verb, ledger.groups, index.groups, "groups")


def _shares_worth(index: Index, plan: PairPlan) -> int:
    """How many processes should write: one, unless each has enough to do."""
    if plan.options.across_prompts or not CAN_FORK:
        return 1
    return processes_for(plan.options.workers, len(index), _WORTH_A_SHARE)


def decide(index: Index, fetch: Fetch, plan: PairPlan, ledger: Ledger) -> Iterator[Numbers]:
    """The pairs of all groups, by number, in the order in which they are written."""
    if plan.options.across_prompts:
        return pairs_across_prompts(index, fetch, plan, ledger)
    if _may_flood(plan):
        _refuse_too_many(index, fetch, plan)
    return _pairs_of_groups(index, fetch, plan, ledger, _order(index, plan))


def _may_flood(plan: PairPlan) -> bool:
    return plan.options.max_pairs_per_group is None and not plan.options.yes_all


def _order(index: Index, plan: PairPlan) -> Sequence[int]:
    """The groups in the order in which their pairs are written."""
    order = range(index.groups)
    return (
        sorted(order, key=index.group_keys().__getitem__) if plan.options.order == "key" else order
    )


def _pairs_of_groups(
    index: Index, fetch: Fetch, plan: PairPlan, ledger: Ledger, groups: Iterable[int]
) -> Iterator[Numbers]:
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


def _refuse_too_many(index: Index, fetch: Fetch, plan: PairPlan) -> None:
    """Raise if more pairs would come out than anyone wants by accident; none are made."""
    if index.most_pairs() <= MOST_PAIRS:
        return
    _, strategy = strategy_named(plan.options.strategy)
    pairs = 0
    for contest in contests(index, fetch, plan, Ledger(), _order(index, plan)):
        chosen = strategy(contest.group, plan.options)
        pairs += len(chosen) if isinstance(chosen, Sized) else sum(1 for _ in chosen)
    if pairs > MOST_PAIRS:
        raise TooManyPairs(pairs, MOST_PAIRS)


def _pair_as_it_comes(plan: PairPlan, library: Candidates, sink: Sink, ledger: Ledger) -> None:
    """Pair inputs whose groups stand together, with one group in memory at a time."""
    ready = ReadyPairs(plan, library, ledger)
    with reading_inputs(plan.read, ledger, ready) as reader:
        candidates = chain.from_iterable(candidates_of(given.readings) for given in reader.inputs())
        seen, constant = Memory(), 0
        for key, run in groupby(candidates, key=Index.group_key):
            index, members = Index(), list(run)
            if seen.has(key):
                label = members[0].origin.partition(":")[0]
                raise BadInput(label, _APART, "sort by group, or leave --assume-grouped away")
            for candidate in members:
                index.add(candidate, Place(0, 0, 0, 0, 0))
            reader.formats.shown.check_answers(index.constant_groups)
            constant += index.constant_groups()
            fetch = members.__getitem__
            numbers = _pairs_of_groups(index, fetch, plan, ledger, range(1))
            _write(_made(numbers, index, fetch), plan, sink, ledger)
        reader.formats.shown.check_answers(lambda: constant)  # rivals may stand in later rows
    _write(ready.pairs(), plan, sink, ledger)


def _write(pairs: Iterable[Pair], plan: PairPlan, sink: Sink, ledger: Ledger) -> None:
    for made_pair in pairs:
        sink.put(made_pair, WHOLE)
        if plan.options.assume_grouped and ledger.pairs > MOST_PAIRS and _may_flood(plan):
            raise TooManyPairs(ledger.pairs, MOST_PAIRS)


def _made(pairs: Iterable[Numbers], index: Index, fetch: Fetch) -> Iterator[Pair]:
    return map(partial(made, index=index, fetch=fetch), pairs)


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
