"""The outcome of a candidate in words."""

from dataclasses import replace
from typing import Any

import pytest

from prefpairs.analysis.candidate_outcome import CandidateOutcome, Obstacle, Others
from prefpairs.cli.terminal.outcome_text import describe_outcome
from prefpairs.engine.store.group_outcomes import Member
from prefpairs.model.candidate import Candidate
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.reasons import LOSSES
from prefpairs.strategies import STRATEGIES
from prefpairs.strategies.options import PairOptions

OPTIONS = PairOptions(min_gap=0.25, max_gap=2.0, min_chosen_score=0.5)


def _word(
    outcome: CandidateOutcome | str,
    strategy: str = "best-vs-worst",
    pairs: int = 1,
    **options: Any,
) -> Any:
    member = Member(4, Candidate("g", "Q", "A", 1.0), outcome)
    asked = PairOptions(**options) if options else OPTIONS
    plan = PairPlan(read=ReadPlan(inputs=[]), options=replace(asked, strategy=strategy))
    return describe_outcome(member, pairs, plan)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (CandidateOutcome(chosen_over=Others([5], 1)), ("chosen over #5", "chosen")),
        (CandidateOutcome(rejected_by=Others([1], 1)), ("rejected in favour of #1", "rejected")),
        (
            CandidateOutcome(chosen_over=Others([5, 6], 2), rejected_by=Others([1, 2, 3], 9)),
            ("chosen over #5 and #6; rejected in favour of #1, #2, #3 and 6 more", "chosen"),
        ),
        (
            "duplicate_rollout",
            (f"dropped: {LOSSES['duplicate_rollout']} (duplicate_rollout)", ""),
        ),
        (CandidateOutcome(alone=True), ("not used: it is the only candidate in its group", "")),
        (
            CandidateOutcome(like=(Obstacle.TIE, 3)),
            ("not used: the same score as #3, which ranks first", ""),
        ),
        (CandidateOutcome(like=(Obstacle.TIE, 5)), ("not used: the same score as #5", "")),
        (
            CandidateOutcome(like=(Obstacle.SAME_ANSWER, 1)),
            ("not used: the same answer as #1, which ranks first", ""),
        ),
        (
            CandidateOutcome(),
            ("not used: best-vs-worst takes the widest allowed pair of each group", ""),
        ),
    ],
)
def test_words(outcome: CandidateOutcome | str, words: tuple[str, str]) -> None:
    """The outcome, and the style of its side."""
    assert _word(outcome) == words


@pytest.mark.parametrize(
    ("obstacle", "words"),
    [
        (Obstacle.SAME_ANSWER, "the same answer as #1"),
        (Obstacle.TIE, "the same score as #1"),
        (Obstacle.NARROW, "the gap to #1 is below --min-gap 0.25"),
        (Obstacle.WIDE, "the gap to #1 is above --max-gap 2"),
        (Obstacle.LOW, "against #1, the higher score is below --min-chosen-score 0.5"),
    ],
)
def test_obstacles(obstacle: Obstacle, words: str) -> None:
    """Each obstacle names its option and value."""
    assert _word(CandidateOutcome(obstacles={obstacle: Others([1], 1)})) == (
        f"not used: {words}",
        "",
    )


def test_several_obstacles() -> None:
    """All obstacles are listed."""
    obstacles = {Obstacle.TIE: Others([1], 1), Obstacle.NARROW: Others([2, 3], 2)}
    assert _word(CandidateOutcome(obstacles=obstacles))[0] == (
        "not used: the same score as #1; the gap to #2 and #3 is below --min-gap 0.25"
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_has_words(strategy: str) -> None:
    """Every strategy has a description of what it takes."""
    assert _word(CandidateOutcome(), strategy)[0].startswith(f"not used: {strategy} takes ")


def test_bound_that_was_reached() -> None:
    """A maximum is mentioned only if it was reached."""
    words = "not used: exhaustive takes all allowed pairs, widest first"
    assert _word(CandidateOutcome(), "exhaustive", pairs=2, max_pairs_per_group=3) == (words, "")
    assert _word(CandidateOutcome(), "exhaustive", pairs=3, max_pairs_per_group=3) == (
        f"{words}, and --max-pairs-per-group 3 of them",
        "",
    )


def test_thresholds_have_their_values() -> None:
    """Thresholds are shown with the values of the options."""
    assert _word(CandidateOutcome(), "stratified", high_threshold=0.75)[0] == (
        "not used: stratified takes scores from --high-threshold 0.75 up against those from "
        "--low-threshold 0.4 down"
    )
