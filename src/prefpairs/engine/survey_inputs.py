"""Surveys of pairs, whether the inputs hold pairs or rollouts."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from prefpairs.analysis.survey import WHAT_IF_GAPS, PairSurvey, Survey, WhatIf, survey_groups
from prefpairs.engine.pairs.pair_io import open_pairs
from prefpairs.engine.pairs.pairs_from_candidates import PairsFromCandidates
from prefpairs.engine.store.decide import decide
from prefpairs.files.input_file import Input
from prefpairs.files.pipe_spool import peeked_input
from prefpairs.ledger import Ledger
from prefpairs.model.pair import Pair
from prefpairs.plan import PairPlan, Plan
from prefpairs.sources.detect import kind_of
from prefpairs.stages.base import IndexedPair

Look = Callable[[IndexedPair, Pair], None]
"""Called with each pair of a survey."""

_WIDEST_FIRST = ("best-vs-worst", "exhaustive")
"""Strategies of which a larger `--min-gap` only takes the narrowest pairs away."""


def survey(plan: Plan, ledger: Ledger, look: Look | None = None) -> Survey:
    """A survey of all pairs of the plan; `look` is shown each of them, too."""
    found = PairSurvey()
    ready: list[bytes] = []
    with open_pairs(plan, ledger, keep="nothing") as pairs:
        for entry in pairs.entries():
            pair = pairs.pair(entry)
            found.add(entry, pair)
            if entry.gap is None and plan.pair is not None:
                ready.append(entry.prompt + entry.tools)
            if look is not None:
                look(entry, pair)
            ledger.add_pair(pair.gap, pair.chosen_score, pair.rejected_score)
        if plan.pair is None or not isinstance(pairs, PairsFromCandidates):
            return Survey(found, found.what_if())
        whole = range(pairs.candidates.columns.groups)
        ranked = pairs.candidates.rank(whole, plan.pair, Ledger())
        groups = survey_groups(one.group.scores for one in ranked)
        return Survey(found, _what_if(found, pairs, plan.pair, ready), groups)


def _what_if(
    found: PairSurvey, pairs: PairsFromCandidates, plan: PairPlan, ready: list[bytes]
) -> list[WhatIf]:
    """What each `--min-gap` would leave; most strategies then make other pairs.

    Pairs that the rollouts already contain have no gap, and stay.
    """
    if plan.options.strategy_name in _WIDEST_FIRST:
        return found.what_if(unknown_stay=True)
    return [_decided_again(least, pairs, plan, ready) for least in WHAT_IF_GAPS]


def _decided_again(
    least: float, pairs: PairsFromCandidates, plan: PairPlan, ready: list[bytes]
) -> WhatIf:
    options = replace(plan.options, min_gap=max(least, plan.options.min_gap), yes_all=True)
    again = replace(plan, options=options)
    number, prompts = len(ready), set(ready)
    for chosen, _ in decide(pairs.candidates, again, Ledger()):
        number += 1
        prompts.add(b"".join(pairs.candidates.columns.question(chosen)[1:]))
    return WhatIf(least, number, len(prompts))


def kind_of_inputs(inputs: Sequence[Input]) -> str | None:
    """The kind of the first row that has one: that of all rows, or the run ends."""
    for source in inputs:
        with peeked_input(source) as opened:
            for record in opened.records:
                if record.whole and record.refused is None and (kind := kind_of(record.data)):
                    return kind
    return None
