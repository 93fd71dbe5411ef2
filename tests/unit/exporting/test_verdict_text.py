"""What a trainer does with a row, in words."""

import pytest

from prefpairs.dataset.row_rules import Effect, Finding
from prefpairs.reasons import TRAPS


def test_effects() -> None:
    """Their words stand in summaries, on which scripts rely."""
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
    """The effect and the code come first, and no field means the row as a whole."""
    assert Finding(Effect.CRASH, "tied_ranks") == (Effect.CRASH, "tied_ranks", "")
    assert Finding(Effect.DROP, "wrong_type", "chosen")[:2] == ("is dropped", "wrong_type")


def test_sentence() -> None:
    """What the code means."""
    finding = Finding(Effect.CRASH, "tied_ranks", "completions")
    assert finding.sentence == "both completions have the same rank"


def test_code_that_nobody_knows() -> None:
    """It has no sentence, so that a slip in a rule is seen."""
    assert "tide_ranks" not in TRAPS
    with pytest.raises(KeyError):
        _ = Finding(Effect.CRASH, "tide_ranks").sentence
