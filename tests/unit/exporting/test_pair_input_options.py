"""The options of every command that takes pairs."""

from pathlib import Path

import pytest

from prefpairs.errors import UnknownWord
from prefpairs.option import filled
from prefpairs.plan.input_plan import PairInputPlan


@pytest.mark.parametrize("word", ["auto", "trl"])
def test_plan_knows_the_dialect(tmp_path: Path, word: str) -> None:
    """It is part of what is read."""
    (tmp_path / "r.jsonl").touch()
    given = filled(PairInputPlan, {"paths": [str(tmp_path / "r.jsonl")], "dialect": word})
    assert given.found().dialect == word


def test_unknown_dialect() -> None:
    """It is an error before anything is opened."""
    with pytest.raises(UnknownWord) as caught:
        filled(PairInputPlan, {"paths": ["nothing.jsonl"], "dialect": "tlr"})
    assert caught.value.word == "tlr"
