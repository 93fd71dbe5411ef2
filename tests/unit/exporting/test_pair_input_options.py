"""The options of every command that takes pairs."""

from pathlib import Path

import pytest
from prefpairs.cli.pair_input_options import PairInputWords

from prefpairs.errors import UnknownWord


@pytest.mark.parametrize("word", ["auto", "trl"])
def test_plan_knows_the_dialect(tmp_path: Path, word: str) -> None:
    """It is part of what is read."""
    (tmp_path / "r.jsonl").touch()
    words = PairInputWords(inputs=[str(tmp_path / "r.jsonl")], dialect=word)
    assert words.input_plan().dialect == word


def test_unknown_dialect() -> None:
    """It is an error before anything is opened."""
    with pytest.raises(UnknownWord) as caught:
        PairInputWords(inputs=["nothing.jsonl"], dialect="tlr").input_plan()
    assert caught.value.word == "tlr"
