"""A survey as data: what `stats --json` writes and `--require` checks."""

from typing import Any

from prefpairs.analysis.distribution import Spread
from prefpairs.analysis.shortcuts import SHORTCUTS
from prefpairs.analysis.survey import GroupSurvey, PairSurvey, Survey
from prefpairs.ledger import Ledger
from prefpairs.ledger.summaries import extract_summary, ordered, stages_summary


def figures(survey: Survey, ledger: Ledger) -> dict[str, Any]:
    """All figures of a survey."""
    pairs = survey.pairs
    return {
        **_ledgers(survey, ledger),
        **(_of_groups(survey.groups, ledger) if survey.groups is not None else {}),
        "pairs": pairs.pairs,
        "prompts": pairs.prompts,
        "duplicates": pairs.duplicates,
        "contradictions": pairs.contradictions,
        "both_sides": pairs.both_sides,
        "pairs_without_gap": pairs.without_gap,
        **{f"{name}_wins": pairs.share(name) for name in SHORTCUTS},
        "shortcuts": [shortcut.summary() for shortcut in pairs.shortcuts()],
        **_spreads(pairs),
        "what_if": [what_if._asdict() for what_if in survey.what_if],
        "wins": {matrix.of: matrix.summary() for matrix in pairs.wins.matrices()},
    }


def _ledgers(survey: Survey, ledger: Ledger) -> dict[str, Any]:
    ledgers = {**extract_summary(ledger), **stages_summary(ledger)}
    if survey.groups is None:
        del ledgers["candidates"]
    return ledgers


def _of_groups(groups: GroupSurvey, ledger: Ledger) -> dict[str, Any]:
    return {
        "groups": groups.groups,
        "groups_with_spread": groups.with_spread,
        "groups_without_pair": ordered(ledger.groups_without_pair),
        "groups_all_equal": groups.all_equal,
        "candidates_per_group": _summary(groups.sizes),
        "scores": _summary(groups.scores),
        "ties": {"pairs": groups.tied_pairs, "of": groups.possible_pairs},
    }


def _spreads(pairs: PairSurvey) -> dict[str, Any]:
    lengths, scores = pairs.lengths(), pairs.scores()
    return {
        "gap": _summary(pairs.gaps()),
        "chosen_scores": _summary(scores.get("chosen")),
        "rejected_scores": _summary(scores.get("rejected")),
        "pairs_per_prompt": _summary(pairs.pairs_per_prompt()),
        "lengths": {side: _summary(lengths.get(side)) for side in ("prompt", "chosen", "rejected")},
    }


def _summary(spread: Spread | None) -> dict[str, Any] | None:
    return None if spread is None else spread.summary()
