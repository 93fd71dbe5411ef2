"""The options of every command that reads pairs."""

from pathlib import Path

import pytest

from prefpairs.errors import UnknownWord
from prefpairs.option import filled
from prefpairs.plan.input_plan import PairInputPlan


@pytest.mark.parametrize("word", ["auto", "trl"])
def test_plan_knows_the_dialect(tmp_path: Path, word: str) -> None:
    """The format is part of the plan for reading."""
    (tmp_path / "r.jsonl").touch()
    given = filled(PairInputPlan, {"paths": [str(tmp_path / "r.jsonl")], "dialect": word})
    assert given.found().dialect == word


def test_unknown_dialect() -> None:
    """An unknown format is rejected before anything is opened."""
    with pytest.raises(UnknownWord) as caught:
        filled(PairInputPlan, {"paths": ["nothing.jsonl"], "dialect": "tlr"})
    assert caught.value.word == "tlr"
