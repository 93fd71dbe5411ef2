"""The options of filter, and runs of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_call import called

from prefpairs.cli.commands.filter import filter  # noqa: A004 - the word that is typed
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.engine.pairs.reference_files import with_files
from prefpairs.errors import FileError, UsageError
from prefpairs.option import filled
from prefpairs.stages.filter import Filter


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({}, "filter has no condition"),
        ({"min_gap": 0.5, "max_gap": 0.25}, "--min-gap 0.5 is above --max-gap 0.25"),
        (
            {"min_chosen_score": 1, "max_chosen_score": 0},
            "--min-chosen-score 1 is above --max-chosen-score 0",
        ),
        (
            {"min_rejected_score": 1, "max_rejected_score": 0},
            "--min-rejected-score 1 is above --max-rejected-score 0",
        ),
        (
            {"min_prompt_chars": 2, "max_prompt_chars": 1},
            "--min-prompt-chars 2 is above --max-prompt-chars 1",
        ),
        (
            {"min_answer_chars": 2, "max_answer_chars": 1},
            "--min-answer-chars 2 is above --max-answer-chars 1",
        ),
        ({"max_tokens": 9}, "--max-tokens N and --tokenizer FILE must be given together"),
        (
            {"min_gap": 0, "tokenizer": "tokenizer.json"},
            "--max-tokens N and --tokenizer FILE must be given together",
        ),
    ],
)
def test_contradictory_options(words: dict[str, Any], problem: str) -> None:
    """Contradictory options are rejected before anything is read."""
    with pytest.raises(UsageError) as caught:
        with_files(filled(Filter, words))
    assert error_sentences(caught.value)[0] == [problem]


def test_bounds_may_meet() -> None:
    """Minimum and maximum may be equal."""
    bounds = {"min_gap": 0.5, "max_gap": 0.5, "min_prompt_chars": 3, "max_prompt_chars": 3}
    assert filled(Filter, bounds) == Filter(**bounds)  # type: ignore[arg-type]


def test_tokenizer(tmp_path: Path) -> None:
    """The tokenizer is opened before any pair is read."""
    with pytest.raises(FileError):
        with_files(Filter(max_tokens=9, tokenizer=str(tmp_path / "tokenizer.json")))


def test_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passing pairs are written to the file."""
    monkeypatch.chdir(tmp_path)
    rows = [{"prompt": "Q", "chosen": "A", "rejected": "B", "gap": gap} for gap in (0.1, 0.5)]
    Path("p.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    called(filter, paths=["p.jsonl"], output="o.jsonl", quiet=True, min_gap=0.5)
    assert [json.loads(line)["gap"] for line in Path("o.jsonl").read_bytes().splitlines()] == [0.5]
