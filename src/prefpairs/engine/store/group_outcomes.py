"""The candidates of a group, and the outcome of each when pairs were made."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from shlex import quote
from typing import NamedTuple

from prefpairs.analysis.candidate_outcome import CandidateOutcome, candidate_outcomes
from prefpairs.engine.store.candidate_store import CandidateStore
from prefpairs.engine.store.ranking import RankedGroup, excluded_members
from prefpairs.errors import NotJson, NotThere, UsageError
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest
from prefpairs.model.json_codec import decode
from prefpairs.plan import PairPlan
from prefpairs.strategies import strategy_named

_MOST_NAMES = 5


class Member(NamedTuple):
    """One candidate of a group, and its outcome: a reason, if it did not compete."""

    number: int
    candidate: Candidate
    outcome: CandidateOutcome | str


class ShownGroup(NamedTuple):
    """A group, how many candidates and pairs it has, and its members, the best first."""

    best: Candidate
    candidates: int
    pairs: int
    members: Iterator[Member]


def show_group(plan: PairPlan, name: str, ledger: Ledger) -> Iterator[ShownGroup]:
    """All groups of this name, or of the one name that begins so or is a list with this item."""
    with CandidateStore(plan) as store:
        store.index(ledger)
        for group in _groups_called(name, store):
            yield _shown(group, store, plan)
        store.check()


def _groups_called(name: str, store: CandidateStore) -> list[int]:
    """The groups with this name, which the columns hold only as a digest."""
    columns = store.columns
    called = digest("name", name.encode("utf-8", "surrogateescape"))
    firsts = [columns.members(group)[0] for group in range(columns.groups)]
    exact = [group for group, first in enumerate(firsts) if columns.question(first)[0] == called]
    if exact:
        return exact
    names = {group: store.fetch(first).group for group, first in enumerate(firsts)}
    meant = [group for group, known in names.items() if _may_mean(name, known)]
    found = dict.fromkeys(names[group] for group in meant)
    if len(found) > 1:
        raise UsageError(f"--group {name}: it may mean several groups", _listed([*found]))
    if not found:
        raise NotThere("group", [name], _listed([*dict.fromkeys(names.values())]))
    return meant


def _may_mean(name: str, known: str) -> bool:
    """Whether a group's name begins so, or is a JSON list with such an item.

    >>> _may_mean("prompt:2d", "prompt:2d67"), _may_mean("7", '["agent",7]')
    (True, True)
    """
    if known.startswith(name):
        return True
    items = None
    if known.startswith("["):
        with suppress(NotJson):
            items = decode(known.encode("utf-8", "surrogateescape"))
    return isinstance(items, list) and name in map(str, items)


def _listed(names: Sequence[str]) -> str | None:
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    shown = ", ".join(map(quote, names[:_MOST_NAMES]))
    return f"there are {shown}{more}" if names else None


def _shown(group: int, store: CandidateStore, plan: PairPlan) -> ShownGroup:
    columns, fetch = store.columns, store.fetch
    everyone, distinct = columns.ranked(group)
    excluded = excluded_members(columns, everyone, fetch, plan.read.options)
    competing = [number for number in everyone if number not in excluded]
    key = columns.keys[group]
    ranked = RankedGroup(columns, competing, fetch, key, distinct=distinct)
    order = [ranked.member(place) for place in range(len(competing))]
    everyone = sorted([*order, *excluded], key=columns.rank)
    called = {number: place for place, number in enumerate(everyone, 1)}
    _, strategy = strategy_named(plan.options.strategy)
    pairs = strategy(ranked.group, plan.options) if competing else ()
    found, count = candidate_outcomes(
        ranked.group,
        plan.options,
        islice(pairs, plan.options.max_pairs_per_group),
        [called[number] for number in order],
    )
    outcomes: dict[int, CandidateOutcome | str] = {
        **excluded,
        **dict(zip(order, found, strict=True)),
    }
    members = (Member(called[number], fetch(number), outcomes[number]) for number in everyone)
    return ShownGroup(fetch(everyone[0]), len(everyone), count, members)
