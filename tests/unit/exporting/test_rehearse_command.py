"""The options of rehearse, and its output without a trainer."""

from pathlib import Path
from typing import Any

import pytest
from command_call import called

from prefpairs.cli.commands.rehearse import RehearseOptions, rehearse
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.errors import DoesNotTrain, FileError, UnknownWord
from prefpairs.option import REQUIRED, options_in


def _run(path: Path | str, **words: Any) -> None:
    called(rehearse, **{"path": str(path), **words})


def test_words() -> None:
    """Defaults are TRL, a byte-level tokenizer and no truncation."""
    assert {option.field: option.default for option in options_in(RehearseOptions)} == {
        "path": REQUIRED,
        "to": "trl",
        "tokenizer": None,
        "max_length": None,
        "json": False,
    }


@pytest.mark.parametrize("word", ["nemo-rl", "trl-kto", "TRL", ""])
def test_another_trainer(tmp_path: Path, word: str) -> None:
    """Another trainer is rejected before the dataset is opened."""
    with pytest.raises(UnknownWord) as caught:
        _run(tmp_path / "nothing", to=word)
    assert (caught.value.what, caught.value.word, list(caught.value.known)) == (
        "--to",
        word,
        ["trl"],
    )


@pytest.mark.parametrize("as_json", [False, True])
def test_missing_dataset(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    """A missing dataset is an error without figures."""
    with pytest.raises(FileError) as caught:
        _run(tmp_path / "nothing", json=as_json)
    assert caught.value.path == str(tmp_path / "nothing")
    assert capfd.readouterr().out == ""


def test_dataset_that_does_not_train() -> None:
    """Each problem is printed, and the exit code is 4."""
    problems = ["there is no gradient", "2 of 4 rows have equal sides"]
    error = DoesNotTrain(problems)
    assert error.exit_code == 4
    assert error_sentences(error) == (
        problems,
        None,
    )
