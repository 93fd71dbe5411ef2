"""Outputs and messages of a run."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prefpairs.cli.run_with_summary import run_with_summary
from prefpairs.engine.outputs.destination import check_written
from prefpairs.errors import (
    BadRecords,
    FileError,
    GateNotMet,
    NothingCameOut,
    UnknownWord,
    UsageError,
)
from prefpairs.files.input_file import Input
from prefpairs.files.output import write_file
from prefpairs.plan import InputPlan, PairPlan, Plan, ReadPlan, WritePlan
from prefpairs.stages.split import Split

PAIR = b'{"prompt": "Q", "chosen": "A", "rejected": "B", "gap": 0.5}\n'
NO_PAIR = b'{"prompt": "Q", "chosen": "A", "rejected": "A"}\n'
TORN = b"{\n"
ROWS = PAIR + 2 * NO_PAIR
ROLLOUTS = (
    b'{"prompt": "Q", "response": "A", "score": 1}\n{"prompt": "Q", "response": "B", "score": 0}\n'
)
IN = Input("r.jsonl", "r.jsonl")
READ = InputPlan(inputs=[IN], on_error="quarantine", quarantine="bad.jsonl")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.jsonl").write_bytes(ROWS)


def _run(*, read: InputPlan | None = None, **write: Any) -> None:
    run_with_summary(Plan(read=read or InputPlan(inputs=[IN]), write=WritePlan(**write)))


def _summary() -> Any:
    return json.loads(Path("summary.json").read_bytes())


def test_good_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines go to the file, counts to the summary and to standard error."""
    _run(output="o.jsonl", summary="summary.json")
    (line,) = Path("o.jsonl").read_bytes().splitlines()
    assert json.loads(line)["chosen"] == "A"
    assert (_summary()["rows"]["read"], _summary()["pairs"]) == (3, 1)
    assert capsys.readouterr().err.endswith("wrote o.jsonl\n")


def test_quiet_run(capsys: pytest.CaptureFixture[str]) -> None:
    """--quiet prints nothing; the summary file is still written."""
    _run(output="o.jsonl", summary="summary.json", quiet=True)
    assert (capsys.readouterr().err, _summary()["pairs"]) == ("", 1)


def test_failed_run(capsys: pytest.CaptureFixture[str]) -> None:
    """A failed run writes a summary file, but no output file and no summary text."""
    Path("r.jsonl").write_bytes(ROWS + TORN)
    with pytest.raises(BadRecords):
        _run(output="o.jsonl", summary="summary.json")
    assert sorted(os.listdir()) == ["r.jsonl", "summary.json"]
    assert (capsys.readouterr().err, _summary()["rows"]["read"]) == ("", 4)


def test_run_that_gave_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty result keeps the old file, prints the counts, and the error has the reason."""
    Path("r.jsonl").write_bytes(NO_PAIR)
    Path("o.jsonl").write_bytes(b"old\n")
    with pytest.raises(NothingCameOut) as caught:
        _run(output="o.jsonl")
    hint = "1 row: chosen and rejected have the same content"
    assert (caught.value.what, caught.value.hint) == ("pair", hint)
    assert Path("o.jsonl").read_bytes() == b"old\n"
    said = capsys.readouterr().err
    assert ("rows  " in said, "wrote" in said) == (True, False)


def test_example_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, an example and the next step are shown."""
    Path("r.jsonl").write_bytes(ROLLOUTS)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    read = ReadPlan(inputs=[IN])
    run_with_summary(Plan(read=read, pair=PairPlan(read=read), write=WritePlan(output="o.jsonl")))
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
    """Output, summary and quarantine must be different files, and none of them an input."""
    with pytest.raises(UsageError):
        _run(read=READ, **words, quiet=True)
    assert Path("r.jsonl").read_bytes() == ROWS
    assert os.listdir() == ["r.jsonl"]


def test_gate_that_is_met() -> None:
    """If the gate is met, the file appears."""
    _run(output="o.jsonl", require=["pairs>=1", "rows.read==3"], quiet=True)
    assert len(Path("o.jsonl").read_bytes().splitlines()) == 1


def test_gate_that_is_not_met(capsys: pytest.CaptureFixture[str]) -> None:
    """If the gate is not met, the old file stays; counts are still printed and written."""
    Path("o.jsonl").write_bytes(b"old\n")
    with pytest.raises(GateNotMet) as caught:
        _run(output="o.jsonl", summary="s.json", require=["pairs>=1", "pairs>=2", "pairs>=3"])
    assert (caught.value.gate, caught.value.actual) == ("pairs>=2", 1)
    assert Path("o.jsonl").read_bytes() == b"old\n"
    assert json.loads(Path("s.json").read_bytes())["pairs"] == 1
    said = capsys.readouterr().err
    assert ("rows  " in said, "wrote" in said) == (True, False)
    assert sorted(os.listdir()) == ["o.jsonl", "r.jsonl", "s.json"]


def test_gate_that_is_no_gate() -> None:
    """An invalid gate is reported before anything is opened."""
    for word in ("pairs", "oddity>=1"):
        with pytest.raises(UsageError):
            _run(output="o.jsonl", require=[word])
    assert os.listdir() == ["r.jsonl"]


def test_run_that_failed_meets_no_gate() -> None:
    """A failed run reports its own error instead of the gate."""
    Path("r.jsonl").write_bytes(ROWS + TORN)
    with pytest.raises(BadRecords):
        _run(output="o.jsonl", require=["pairs>=9"], quiet=True)


def test_other_files_that_are_read() -> None:
    """An output may not be a reference file, either."""
    bench = Input("bench.jsonl", "bench.jsonl")
    Path("bench.jsonl").write_bytes(b"in\n")
    plan = Plan(read=READ, references=[bench], write=WritePlan(output="bench.jsonl"))
    with pytest.raises(UsageError, match="is both input and output"):
        run_with_summary(plan)
    assert Path("bench.jsonl").read_bytes() == b"in\n"


@pytest.mark.parametrize("twice", [["a", "./a"], ["d/../a", "a"], ["link", "a"]])
def test_one_file_twice(twice: list[str]) -> None:
    """The same file twice is rejected, also by other spellings and through links."""
    Path("link").symlink_to("a")
    with pytest.raises(UsageError, match="a would be written twice"):
        check_written(["b", None, "-", "-", *twice], [])
    check_written(["b", None, "-", "-", twice[0]], [])


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("new/", "is the name of a directory, not of a file"),
        ("link", "there is no directory gone/deep"),
        ("gone/o.jsonl", "there is no directory gone"),
    ],
)
def test_an_output_without_a_place(path: str, problem: str) -> None:
    """A missing folder is reported before the run and when writing, and no file is created."""
    Path("link").symlink_to("gone/deep/o.jsonl")
    writes: list[Callable[[], None]] = [
        lambda: check_written([path], []),
        lambda: write_file(path, b"new"),
    ]
    for write in writes:
        with pytest.raises(FileError) as caught:
            write()
        assert (caught.value.path, caught.value.problem) == (
            path,
            problem.replace("gone/deep", os.path.realpath("gone/deep")),
        )
    assert {*os.listdir()} == {"r.jsonl", "link"}


OURS = (
    b'{"id": "70bbf81c1f01a23af69e2c2b1346a9b7", "group": "g", '
    b'"prompt": "Q", "chosen": "A", "rejected": "B"}\n'
)
"""A row as prefpairs writes it."""


SPLITS = {
    "val": Split(val_fraction=0.5, exact=True),
    "test": Split(val_fraction=0.0, test_fraction=0.5, exact=True),
}


def _split(side: str = "val", **write: Any) -> None:
    run_with_summary(Plan(read=READ, split=SPLITS[side], write=WritePlan(**write)))


@pytest.mark.parametrize("side", SPLITS)
def test_files_of_a_split(capsys: pytest.CaptureFixture[str], side: str) -> None:
    """One file per requested split; the others of an earlier run are removed."""
    Path("r.jsonl").write_bytes(PAIR + PAIR.replace(b"Q", b"R"))
    Path("d").mkdir()
    for name in ("train.jsonl", "val.jsonl", "test.jsonl", "other.jsonl"):
        Path("d", name).write_bytes(OURS)
    _split(out_dir="d", side=side, summary="d/s.json")
    assert sorted(os.listdir("d")) == sorted(
        ["other.jsonl", "s.json", f"{side}.jsonl", "train.jsonl"]
    )
    prompts = {
        name: [json.loads(line)["prompt"] for line in Path("d", name).read_bytes().splitlines()]
        for name in (f"{side}.jsonl", "train.jsonl")
    }
    assert sorted(prompts.values()) == [["Q"], ["R"]]
    assert capsys.readouterr().err.endswith(f"wrote d/train.jsonl, d/{side}.jsonl\n")


@pytest.mark.parametrize(
    ("rows", "error"), [(ROWS + TORN, BadRecords), (NO_PAIR, NothingCameOut), (ROWS, GateNotMet)]
)
def test_split_that_fails(rows: bytes, error: type[Exception]) -> None:
    """A failed split, or an unmet gate, creates and removes nothing, in new and old folders."""
    Path("r.jsonl").write_bytes(rows)
    Path("old").mkdir()
    Path("old", "test.jsonl").write_bytes(OURS)
    plan = Plan(read=InputPlan(inputs=[IN]), split=SPLITS["val"])
    for folder in ("old", "new"):
        write = WritePlan(out_dir=folder, require=["pairs>=2"])
        with pytest.raises(error):
            run_with_summary(replace(plan, write=write))
    assert (os.listdir("old"), sorted(os.listdir())) == (["test.jsonl"], ["old", "r.jsonl"])


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"out_dir": "d", "summary": "d/train.jsonl"},
        {"out_dir": ".", "summary": "bad.jsonl"},
        {"out_dir": "d", "require": ["oddity>1"]},
    ],
)
def test_contradictory_split_options(words: dict[str, Any]) -> None:
    """Without a folder, or with one file for two outputs, nothing is created."""
    with pytest.raises((UsageError, UnknownWord)):
        _split(**words)
    assert os.listdir() == ["r.jsonl"]


@pytest.mark.parametrize("name", ["train", "val", "test"])
def test_split_over_its_input(name: str) -> None:
    """An input from an earlier split is neither overwritten nor removed."""
    Path("r.jsonl").rename(f"{name}.jsonl")
    Path("r.jsonl").symlink_to(f"{name}.jsonl")
    with pytest.raises(UsageError, match="is both input and output"):
        _split(out_dir=".")
    assert Path(f"{name}.jsonl").read_bytes() == ROWS
