"""Ledgers as `--summary` writes them."""

from collections.abc import Mapping
from typing import Any

from prefpairs.ledger import Ledger, ValidationLedger
from prefpairs.ledger.running_stats import WHAT_IF_GAPS


def extract_summary(ledger: Ledger) -> dict[str, Any]:
    """The summary of `extract`."""
    return {**_rows(ledger), "candidates": _candidates(ledger), **_noticed(ledger)}


def pair_summary(ledger: Ledger) -> dict[str, Any]:
    """The summary of `pair`, and of recipes that begin with it."""
    return {
        **extract_summary(ledger),
        "groups": ledger.groups,
        "groups_without_pair": ordered(ledger.groups_without_pair),
        **stages_summary(ledger),
        **_pairs(ledger),
        "pairs_at_min_gap": {str(gap): ledger.pairs_at_gap[gap] for gap in WHAT_IF_GAPS},
        "pairs_across_prompts": ledger.across_prompts,
        "marked": ordered(ledger.marked),
        **_sides(ledger),
    }


def pair_input_summary(ledger: Ledger) -> dict[str, Any]:
    """The summary of commands that read pairs, and of `export`."""
    return {
        **_rows(ledger),
        **_noticed(ledger),
        **stages_summary(ledger),
        **(_pairs(ledger) if not ledger.traces else {"traces": ledger.traces}),
        **_sides(ledger),
    }


def validate_summary(ledger: ValidationLedger) -> dict[str, Any]:
    """The summary of `validate`."""
    lost: dict[str, dict[str, int]] = {}
    for (effect, code), count in sorted(ledger.lost.items()):
        lost.setdefault(effect, {})[code] = count
    return {
        "files": ledger.files,
        "rows": {
            "read": ledger.rows_read,
            "fine": ledger.rows_read - ledger.rows_lost,
            "lost": ledger.rows_lost,
        },
        "files_lost": ledger.files_lost,
        "lost": lost,
        "warnings": ordered(ledger.warnings),
    }


def _rows(ledger: Ledger) -> dict[str, Any]:
    return {
        "inputs": [{"name": name, "source": source} for name, source in ledger.sources],
        "passed_over": [name for name, _ in ledger.skipped_files],
        "rows": {
            "read": ledger.rows_read,
            "used": ledger.rows_used,
            "dropped": ordered(ledger.rows_dropped),
            "bad": ledger.rows_bad,
        },
    }


def _candidates(ledger: Ledger) -> dict[str, Any]:
    return {
        "found": ledger.candidates_found,
        "kept": ledger.candidates_kept,
        "dropped": ordered(ledger.candidates_dropped),
    }


def _noticed(ledger: Ledger) -> dict[str, Any]:
    return {"noticed": ordered(ledger.noticed), "notes": ledger.notes}


def stages_summary(ledger: Ledger) -> dict[str, Any]:
    """The counts of each stage, if the run has any."""
    if not ledger.stages:
        return {}
    stages = {
        stage.name: {
            "found": stage.found,
            "kept": stage.kept,
            "dropped": ordered(stage.dropped),
            "noticed": ordered(stage.noticed),
            "notes": stage.notes,
        }
        for stage in ledger.stages
    }
    return {"stages": stages}


def _pairs(ledger: Ledger) -> dict[str, Any]:
    chosen, rejected = ledger.chosen_scores.summary(), ledger.rejected_scores.summary()
    return {
        "pairs": ledger.pairs,
        "gap": ledger.gaps.summary(),
        "mean_chosen_score": chosen["mean"] if chosen else None,
        "mean_rejected_score": rejected["mean"] if rejected else None,
    }


def _sides(ledger: Ledger) -> dict[str, Any]:
    return {"sides": ledger.sides} if ledger.sides else {}


def ordered(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts, largest first, then by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
