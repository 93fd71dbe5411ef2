"""The codes for losses, changes and bad rows."""

import re
from pathlib import Path

import prefpairs
from prefpairs.reasons import ALL, LOSSES, PAIRS, SWITCHABLE, TABLES

SOURCE = "".join(path.read_text("utf-8") for path in Path(prefpairs.__file__).parent.rglob("*.py"))


def test_a_code_has_one_meaning() -> None:
    """No code is in two tables."""
    assert len(ALL) == sum(map(len, TABLES.values()))


def test_switchable_reasons_are_losses() -> None:
    """--keep-rows accepts only reasons for which rows are dropped."""
    assert set(SWITCHABLE) <= set(LOSSES)


def test_every_loss_that_is_raised_has_a_sentence() -> None:
    """Every reason used in the code is in the table."""
    raised = set(re.findall(r'Unusable\("(\w+)"\)', SOURCE))
    assert len(raised) > 8
    assert raised - {"environment_differs"} <= set(LOSSES)
    assert "environment_differs" in PAIRS  # for ready-made pairs in rows


def test_every_code_is_used() -> None:
    """Every reason in the table is used in the code."""
    assert [code for code in ALL if SOURCE.count(f'"{code}"') < 2] == []
