"""Notes on truncated, failed or twice-judged answers: their commands work."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from prefpairs.cli.main import main

ROWS = [
    {"prompt": "Q", "response": "A", "score": 1, "finish_reason": "length"},
    {"prompt": "Q", "response": "B", "score": 0, "error": "boom", "finish_reason": "stop"},
    {"prompt": "Q", "response": "C", "score": 0.75, "error": "", "finish_reason": None},
    {"prompt": "Q", "response": "D", "score": 0.5},
]
"""The best answer is truncated, the worst failed; the others are fine."""

RECIPE = '[read]\ninputs = "rows.jsonl"\n\n[pair]\n\n[write]\noutput = "pairs.jsonl"\n'
_COMMAND = re.compile(r"^  to .*?: prefpairs (.*)$", re.MULTILINE)


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps(row) for row in ROWS]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return tmp_path


def _pairs(folder: Path) -> list[tuple[Any, Any]]:
    lines = (folder / "pairs.jsonl").read_text().splitlines()
    return [(pair["chosen"], pair["rejected"]) for pair in map(json.loads, lines)]


@pytest.mark.parametrize("words", [["pair", "rows.jsonl", "-o", "pairs.jsonl"], ["run"]])
def test_commands_of_the_note_work(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command settles one mark; repeated, they leave none."""
    assert main(words) == 0
    told = capsys.readouterr().err
    assert "of the answers in pairs, 1 chosen and 0 rejected are truncated" in told
    assert "of the answers in pairs, 0 chosen and 1 rejected have an error" in told
    drop_cut_off, keep_cut_off, drop_failed, keep_failed = _COMMAND.findall(told)
    for command, left, pairs in (
        (drop_cut_off, 1, [("C", "B")]),
        (keep_cut_off, 1, [("A", "B")]),
        (drop_failed, 1, [("A", "D")]),
        (keep_failed, 1, [("A", "B")]),
    ):
        assert main(shlex.split(command)) == 0
        told = capsys.readouterr().err
        assert len(_COMMAND.findall(told)) == 2 * left
        assert _pairs(folder) == pairs
    assert main(shlex.split(drop_cut_off)) == 0
    for command in _COMMAND.findall(capsys.readouterr().err)[:1]:
        assert main(shlex.split(command)) == 0
        assert "in pairs," not in capsys.readouterr().err
        assert _pairs(folder) == [("C", "D")]


def test_marks_travel_with_candidates(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`extract | pair` reports and drops the same answers as `pair`."""
    assert main(["extract", "rows.jsonl", "-o", "candidates.jsonl", "-q"]) == 0
    assert main(["pair", "candidates.jsonl", "-o", "pairs.jsonl"]) == 0
    assert len(_COMMAND.findall(capsys.readouterr().err)) == 4
    both = ["--drop-rows", "failed,incomplete"]
    assert main(["pair", "candidates.jsonl", "-o", "pairs.jsonl", *both]) == 0
    assert _pairs(folder) == [("C", "D")]
    assert "note: of the answers" not in capsys.readouterr().err


def test_counts_are_in_the_summary(folder: Path) -> None:
    """The counts are in the summary, so a gate can limit them."""
    words = ["pair", "rows.jsonl", "-o", "pairs.jsonl", "--summary", "summary.json", "-q"]
    assert main(words) == 0
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["marked"] == {"chosen_incomplete": 1, "rejected_failed": 1}


def test_ignored_columns_are_no_marks(capsys: pytest.CaptureFixture[str]) -> None:
    """A column given to --ignore sets no mark."""
    assert main(["pair", "rows.jsonl", "--ignore", "error,finish_reason", "-o", "p.jsonl"]) == 0
    assert "in pairs," not in capsys.readouterr().err


def test_a_named_column_is_no_mark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A column that is used as the answer sets no mark."""
    rows = [{"prompt": "Q", "error": text, "score": score} for text, score in (("A", 1), ("B", 0))]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(["pair", "rows.jsonl", "--response", "error", "-o", "pairs.jsonl"]) == 0
    assert "in pairs," not in capsys.readouterr().err
    assert _pairs(folder) == [("A", "B")]


def test_a_reason_is_kept_or_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    """The same reason in --keep-rows and --drop-rows is a contradiction."""
    words = ["pair", "rows.jsonl", "--keep-rows", "failed", "--drop-rows", "incomplete,failed"]
    assert main(words) == 2
    assert "--keep-rows and --drop-rows both name failed" in capsys.readouterr().err


def test_a_wrong_reason(capsys: pytest.CaptureFixture[str]) -> None:
    """Only reasons that rows themselves can state are accepted."""
    assert main(["pair", "rows.jsonl", "--drop-rows", "masked"]) == 2
    assert "--drop-rows" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["pair", "rows.jsonl", "-o", "pairs.jsonl"], ["run"]])
def test_commands_for_answers_judged_twice_work(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers both better and worse than another can be dropped, or kept without a note."""
    judged = [("A", 1), ("A", 0), ("B", 0.5), ("C", 0.25)]
    rows = [{"prompt": "Q", "response": said, "score": score} for said, score in judged]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(words) == 0
    told = capsys.readouterr().err
    note = "note: 1 answer is both better and worse than another one, because of several scores\n"
    assert note in told
    drop, keep = _COMMAND.findall(told)
    for command, pairs in ((drop, [("B", "C")]), (keep, [("A", "C")])):
        assert main(shlex.split(command)) == 0
        assert not _COMMAND.findall(capsys.readouterr().err)
        assert _pairs(folder) == pairs


def test_what_was_to_be_dropped_is_not_offered_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If no pair is left, no hint suggests keeping rows that were dropped on request."""
    rows = [{"prompt": "Q", "response": "A", "score": score} for score in (1, 0)]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(["pair", "--drop-rows", "conflicting_scores", "rows.jsonl"]) == 3
    assert "--keep-rows conflicting_scores rows" not in capsys.readouterr().err


def test_dedupe_settles_what_was_judged_twice(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no note if the recipe drops contradictions."""
    judged = [("A", 1), ("A", 0), ("B", 0.5)]
    rows = [{"prompt": "Q", "response": said, "score": score} for said, score in judged]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    stages = '[pair]\nstrategy = "exhaustive"\n\n[dedupe]\nconflicts = "drop"\n'
    (folder / "recipe.toml").write_text(RECIPE.replace("[pair]\n", stages))
    assert main(["run", "--allow-empty"]) == 0
    assert "several scores" not in capsys.readouterr().err
