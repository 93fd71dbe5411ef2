"""The options that say how pairs are made."""

from typing import Any

import pytest

from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.errors import UnknownWord, UsageError
from prefpairs.option import filled
from prefpairs.strategies.options import PairOptions


@pytest.mark.parametrize("strategy", ["same_prompt", "same-prompt", "best_vs_worst"])
def test_names_of_a_strategy(strategy: str) -> None:
    """Every spelling gives the full name of the strategy."""
    assert filled(PairOptions, {"strategy": strategy}).strategy_name == "best-vs-worst"


@pytest.mark.parametrize("words", [{"strategy": "best"}, {"order": "random"}])
def test_unknown_names(words: dict[str, Any]) -> None:
    """Unknown names are rejected before anything is read."""
    with pytest.raises(UnknownWord):
        filled(PairOptions, words)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"min_gap": 0.5, "max_gap": 0.4}, "--max-gap 0.4 is below --min-gap 0.5"),
        (
            {"strategy": "stratified", "across_prompts": True, "max_pairs_per_group": 2},
            "--max-pairs-per-group and --across-prompts cannot be used together",
        ),
        ({"high_threshold": 0.8}, "--high-threshold requires --strategy stratified"),
        ({"low_threshold": 0.3}, "--low-threshold requires --strategy stratified"),
        ({"rejected_per_chosen": 2}, "--rejected-per-chosen requires --across-prompts"),
        (
            {"strategy": "stratified", "high_threshold": 0.3, "low_threshold": 0.4},
            "--low-threshold 0.4 is above --high-threshold 0.3",
        ),
        (
            {"across_prompts": True},
            "--across-prompts requires --strategy stratified",
        ),
        (
            {"assume_grouped": True, "order": "key"},
            "--assume-grouped and --order key cannot be used together",
        ),
        (
            {"assume_grouped": True, "strategy": "stratified", "across_prompts": True},
            "--assume-grouped and --across-prompts cannot be used together",
        ),
    ],
)
def test_contradictory_options(words: dict[str, Any], problem: str) -> None:
    """Contradictory options are rejected before anything is read."""
    with pytest.raises(UsageError) as caught:
        filled(PairOptions, words)
    assert error_sentences(caught.value)[0] == [problem]


def test_bounds_may_meet() -> None:
    """Minimum and maximum may be equal, and so may both thresholds."""
    thresholds = {"strategy": "stratified", "high_threshold": 0.5, "low_threshold": 0.5}
    assert filled(PairOptions, {"min_gap": 0.5, "max_gap": 0.5, **thresholds}).max_gap == 0.5
