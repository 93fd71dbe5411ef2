"""The options that say how pairs are made."""

from typing import Any

import pytest

from prefpairs.cli.commands.pair import PairWords
from prefpairs.engine.plan import PairPlan, ReadPlan
from prefpairs.errors import UnknownWord, UsageError
from prefpairs.strategies.allowed_pairs import PairOptions

READ = ReadPlan(inputs=[])


def test_plan_of_no_words() -> None:
    """Best against worst, any gap above nothing."""
    assert PairWords().plan(READ) == PairPlan(
        read=READ,
        strategy="best-vs-worst",
        options=PairOptions(
            min_gap=0.0,
            max_gap=None,
            min_chosen_score=None,
            high_threshold=0.7,
            low_threshold=0.4,
            max_pairs=None,
            rejected_per_chosen=1,
            seed=0,
        ),
        across_prompts=False,
        order="input",
        temp_dir=None,
        assume_grouped=False,
        yes_all=False,
    )


def test_plan_of_all_words() -> None:
    """Each word ends where it belongs."""
    words = PairWords(
        strategy="stratified",
        min_gap=0.1,
        max_gap=0.9,
        min_chosen_score=0.5,
        high_threshold=0.8,
        low_threshold=0.2,
        across_prompts=True,
        rejected_per_chosen=3,
        seed=7,
        yes_all=True,
        order="key",
    )
    assert words.plan(READ, "tmp") == PairPlan(
        read=READ,
        strategy="stratified",
        options=PairOptions(
            min_gap=0.1,
            max_gap=0.9,
            min_chosen_score=0.5,
            high_threshold=0.8,
            low_threshold=0.2,
            rejected_per_chosen=3,
            seed=7,
        ),
        across_prompts=True,
        order="key",
        temp_dir="tmp",
        yes_all=True,
    )


@pytest.mark.parametrize("strategy", ["same_prompt", "same-prompt", "best_vs_worst"])
def test_names_of_a_strategy(strategy: str) -> None:
    """The plan holds the one full name."""
    assert PairWords(strategy=strategy).plan(READ).strategy == "best-vs-worst"


@pytest.mark.parametrize("words", [{"strategy": "best"}, {"order": "random"}])
def test_unknown_words(words: dict[str, Any]) -> None:
    """Mistyped words are told before anything is read."""
    with pytest.raises(UnknownWord):
        PairWords(**words).plan(READ)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"min_gap": 0.5, "max_gap": 0.4}, "--max-gap 0.4 is below --min-gap 0.5"),
        (
            {"strategy": "stratified", "across_prompts": True, "max_pairs_per_group": 2},
            "--max-pairs-per-group does not go with --across-prompts",
        ),
        ({"high_threshold": 0.8}, "--high-threshold goes with --strategy stratified"),
        ({"low_threshold": 0.3}, "--low-threshold goes with --strategy stratified"),
        ({"rejected_per_chosen": 2}, "--rejected-per-chosen goes with --across-prompts"),
        (
            {"strategy": "stratified", "high_threshold": 0.3, "low_threshold": 0.4},
            "--low-threshold 0.4 is above --high-threshold 0.3",
        ),
        (
            {"across_prompts": True},
            "--across-prompts goes with --strategy stratified only",
        ),
        (
            {"assume_grouped": True, "order": "key"},
            "--assume-grouped goes neither with --across-prompts nor --order key",
        ),
        (
            {"assume_grouped": True, "strategy": "stratified", "across_prompts": True},
            "--assume-grouped goes neither with --across-prompts nor --order key",
        ),
    ],
)
def test_words_that_do_not_go_together(words: dict[str, Any], problem: str) -> None:
    """They are told before anything is read."""
    with pytest.raises(UsageError) as caught:
        PairWords(**words).plan(READ)
    assert caught.value.problem == problem


def test_number_of_pairs_of_a_group() -> None:
    """A cap of the pairs of one group."""
    assert PairWords(max_pairs_per_group=4).plan(READ).options.max_pairs == 4


def test_bounds_may_meet() -> None:
    """One exact gap, and one threshold for both sides, are sensible."""
    words = PairWords(
        min_gap=0.5, max_gap=0.5, strategy="stratified", high_threshold=0.5, low_threshold=0.5
    )
    assert words.plan(READ).options.max_gap == 0.5
