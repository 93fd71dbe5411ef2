"""What is written and said around a run."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from prefpairs.cli.writing import WriteWords
from prefpairs.engines.plan import ReadPlan
from prefpairs.errors import BadRecords, NothingCameOut, UsageError
from prefpairs.files.inputs import Input
from prefpairs.report import Report

PLAN = ReadPlan(inputs=[Input("r.jsonl", "r.jsonl")], quarantine="bad.jsonl")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.jsonl").write_bytes(b"in\n")


def _run(error: Exception | None = None, **words: Any) -> None:
    report = Report(rows_read=3)
    with WriteWords(**words).opened("pair", PLAN, report) as output:
        output.write(b"a\n")
        report.add_pair(0.5, 1.0, 0.5)
        if error is not None:
            raise error


def _summary() -> Any:
    return json.loads(Path("summary.json").read_bytes())


def test_good_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines to the file, counts to the summary and to the user."""
    _run(output="o.jsonl", summary="summary.json")
    assert Path("o.jsonl").read_bytes() == b"a\n"
    assert (_summary()["rows"]["read"], _summary()["pairs"]) == (3, 1)
    assert capsys.readouterr().err.endswith("wrote o.jsonl\n")


def test_quiet_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Not a word; the summary in a file is written all the same."""
    _run(output="o.jsonl", summary="summary.json", quiet=True)
    assert (capsys.readouterr().err, _summary()["pairs"]) == ("", 1)


def test_failed_run(capsys: pytest.CaptureFixture[str]) -> None:
    """No file and no summary for the user, but one for the script."""
    with pytest.raises(BadRecords):
        _run(BadRecords(1, []), output="o.jsonl", summary="summary.json")
    assert sorted(os.listdir()) == ["r.jsonl", "summary.json"]
    assert (capsys.readouterr().err, _summary()["rows"]["read"]) == ("", 3)


def test_run_that_gave_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The old file stays, the counts are said, the error knows why."""
    Path("o.jsonl").write_bytes(b"old\n")
    with pytest.raises(NothingCameOut) as caught:
        _run(NothingCameOut("pair"), output="o.jsonl")
    assert (caught.value.what, caught.value.hint) == ("pair", None)
    assert Path("o.jsonl").read_bytes() == b"old\n"
    assert capsys.readouterr().err.startswith("rows  ")


def test_example_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who looks is told what to do next."""
    report = Report(rows_read=1, example=("Q", "A", "B"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with WriteWords(output="o.jsonl").opened("pair", ReadPlan(inputs=[]), report):
        pass
    assert (
        "next: prefpairs split o.jsonl --val-fraction 0.1 --out-dir data" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "words",
    [
        {"output": "r.jsonl"},
        {"output": "o.jsonl", "summary": "r.jsonl"},
        {"output": "o.jsonl", "summary": "./o.jsonl"},
        {"output": "bad.jsonl"},
        {"output": "o.jsonl", "summary": "bad.jsonl"},
    ],
    ids=[
        "output over input",
        "summary over input",
        "summary over output",
        "output over quarantine",
        "summary over quarantine",
    ],
)
def test_no_file_is_written_over_another(words: dict[str, Any]) -> None:
    """Output, summary and quarantine are three files, and none of them is an input."""
    with pytest.raises(UsageError):
        _run(**words, quiet=True)
    assert Path("r.jsonl").read_bytes() == b"in\n"
