"""The candidates of a group, and how each of them fared when pairs were made."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from prefpairs.analysis.candidate_outcome import CandidateOutcome, candidate_outcomes
from prefpairs.engine.candidate_index import Index
from prefpairs.engine.candidate_reader import reading_inputs
from prefpairs.engine.index_fill import fill
from prefpairs.engine.ranked_group import Contest, Fetch, unfair_members
from prefpairs.engine.record_fetch import Candidates
from prefpairs.errors import NotThere, UsageError
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest
from prefpairs.plan import PairPlan
from prefpairs.strategies import strategy_named

_MOST_NAMES = 5


class Member(NamedTuple):
    """One candidate of a group, and what became of it: a reason, if it did not compete."""

    number: int
    candidate: Candidate
    standing: CandidateOutcome | str


class ShownGroup(NamedTuple):
    """A group, how many candidates and pairs it has, and its members, the best first."""

    best: Candidate
    candidates: int
    pairs: int
    members: Iterator[Member]


def show_group(plan: PairPlan, name: str, ledger: Ledger) -> Iterator[ShownGroup]:
    """All groups that have a name, or the one name that begins so."""
    index = Index()
    with Candidates() as library:
        with reading_inputs(plan.read, ledger) as reader:
            fill(index, library, reader, plan)
        fetch = partial(library.fetch, index)
        for group in _groups_called(name, index, fetch):
            yield _shown(group, index, fetch, plan)
        library.check()


def _groups_called(name: str, index: Index, fetch: Fetch) -> list[int]:
    """The groups that have a name, which the index knows only by its digest."""
    called = digest("name", name.encode("utf-8", "surrogateescape"))
    firsts = [index.members(group)[0] for group in range(index.groups)]
    exact = [group for group, first in enumerate(firsts) if index.question(first)[0] == called]
    if exact:
        return exact
    names = {group: fetch(first).group for group, first in enumerate(firsts)}
    begins = [group for group, known in names.items() if known.startswith(name)]
    found = dict.fromkeys(names[group] for group in begins)
    if len(found) > 1:
        raise UsageError(f"--group {name}: several groups begin so", _listed([*found]))
    if not found:
        raise NotThere("group", [name], _listed([*dict.fromkeys(names.values())]))
    return begins


def _listed(names: Sequence[str]) -> str | None:
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return f"there are {', '.join(names[:_MOST_NAMES])}{more}" if names else None


def _shown(group: int, index: Index, fetch: Fetch, plan: PairPlan) -> ShownGroup:
    ranked, told_apart = index.ranked(group)
    unfair = unfair_members(index, ranked, fetch, plan.read.options)
    fair = [number for number in ranked if number not in unfair]
    contest = Contest(index, fair, fetch, index.group_keys()[group], told_apart=told_apart)
    order = [contest.member(place) for place in range(len(fair))]
    everyone = sorted([*order, *unfair], key=index.rank)
    called = {number: place for place, number in enumerate(everyone, 1)}
    _, strategy = strategy_named(plan.options.strategy)
    pairs = strategy(contest.group, plan.options) if fair else ()
    found, count = candidate_outcomes(
        contest.group,
        plan.options,
        islice(pairs, plan.options.max_pairs_per_group),
        [called[number] for number in order],
    )
    fared: dict[int, CandidateOutcome | str] = {**unfair, **dict(zip(order, found, strict=True))}
    members = (Member(called[number], fetch(number), fared[number]) for number in everyone)
    return ShownGroup(fetch(everyone[0]), len(everyone), count, members)
