"""The effect of a row on a trainer, in words."""

import pytest

from prefpairs.dataset.row_rules import Effect, Finding
from prefpairs.reasons import TRAPS


def test_effects() -> None:
    """The words of effects are fixed, since scripts use summaries."""
    assert [str(effect) for effect in Effect] == [
        "fails to load",
        "crashes",
        "is dropped",
        "trains on nothing",
        "trains on the wrong thing",
        "leaks",
        "warning",
    ]


def test_finding() -> None:
    """The effect and the code come first; no field means the whole row."""
    assert Finding(Effect.CRASH, "tied_ranks") == (Effect.CRASH, "tied_ranks", "")
    assert Finding(Effect.DROP, "wrong_type", "chosen")[:2] == ("is dropped", "wrong_type")


def test_sentence() -> None:
    """The sentence explains the code."""
    finding = Finding(Effect.CRASH, "tied_ranks", "completions")
    assert finding.sentence == "both completions have the same rank"


def test_unknown_code() -> None:
    """An unknown code has no sentence, so typos in rules are found."""
    assert "tide_ranks" not in TRAPS
    with pytest.raises(KeyError):
        _ = Finding(Effect.CRASH, "tide_ranks").sentence
