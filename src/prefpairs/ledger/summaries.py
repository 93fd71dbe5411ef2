"""A report as `--summary` writes it."""

from collections.abc import Mapping
from typing import Any

from prefpairs.ledger import Report
from prefpairs.ledger.running_stats import WHAT_IF_GAPS


def extract_summary(report: Report) -> dict[str, Any]:
    """The summary of `extract`, as `--summary` writes it."""
    return {**_rows(report), "candidates": _candidates(report), **_noticed(report)}


def pair_summary(report: Report) -> dict[str, Any]:
    """The summary of `pair`, and of recipes that begin with it."""
    return {
        **extract_summary(report),
        "groups": report.groups,
        "groups_without_pair": ordered(report.groups_without_pair),
        **stages_summary(report),
        **_pairs(report),
        "pairs_at_min_gap": {str(gap): report.pairs_at_gap[gap] for gap in WHAT_IF_GAPS},
        "pairs_across_prompts": report.across_prompts,
        "marked": ordered(report.marked),
        **_sides(report),
    }


def sieve_summary(report: Report) -> dict[str, Any]:
    """The summary of the commands that read pairs and write some of them."""
    return {
        **_rows(report),
        **_noticed(report),
        **stages_summary(report),
        **(_pairs(report) if not report.traces else {"traces": report.traces}),
        **_sides(report),
    }


def _rows(report: Report) -> dict[str, Any]:
    return {
        "inputs": [{"name": name, "source": source} for name, source in report.sources],
        "passed_over": report.passed_over,
        "rows": {
            "read": report.rows_read,
            "used": report.rows_used,
            "dropped": ordered(report.rows_dropped),
            "bad": report.rows_bad,
        },
    }


def _candidates(report: Report) -> dict[str, Any]:
    return {"found": report.found, "kept": report.kept, "dropped": ordered(report.dropped)}


def _noticed(report: Report) -> dict[str, Any]:
    return {"noticed": ordered(report.mended), "notes": report.notes}


def stages_summary(report: Report) -> dict[str, Any]:
    """The ledgers of the stages that pairs went through, if there were any."""
    if not report.stages:
        return {}
    stages = {
        stage.name: {
            "found": stage.found,
            "kept": stage.kept,
            "dropped": ordered(stage.dropped),
            "noticed": ordered(stage.noticed),
            "notes": stage.notes,
        }
        for stage in report.stages
    }
    return {"stages": stages}


def _pairs(report: Report) -> dict[str, Any]:
    chosen, rejected = report.chosen_scores.summary(), report.rejected_scores.summary()
    return {
        "pairs": report.pairs,
        "gap": report.gaps.summary(),
        "mean_chosen_score": chosen["mean"] if chosen else None,
        "mean_rejected_score": rejected["mean"] if rejected else None,
    }


def _sides(report: Report) -> dict[str, Any]:
    return {"sides": report.sides} if report.sides else {}


def ordered(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts, most first, then by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
