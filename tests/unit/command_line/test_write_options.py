"""What is written and said around a run."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefpairs.cli.write_options import FolderWords, WriteWords, check_written

from prefpairs.errors import (
    BadRecords,
    FileError,
    GateNotMet,
    NothingCameOut,
    UnknownWord,
    UsageError,
)
from prefpairs.files.inputs import Input
from prefpairs.files.output import write_file
from prefpairs.ledger import Ledger
from prefpairs.plan import ReadPlan

PLAN = ReadPlan(inputs=[Input("r.jsonl", "r.jsonl")], quarantine="bad.jsonl")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.jsonl").write_bytes(b"in\n")


def _run(error: Exception | None = None, **words: Any) -> None:
    ledger = Ledger(rows_read=3)
    with WriteWords(**words).opened("pair", PLAN, ledger) as output:
        output.write(b"a\n")
        ledger.add_pair(0.5, 1.0, 0.5)
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
    ledger = Ledger(rows_read=1, example=("Q", "A", "B"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with WriteWords(output="o.jsonl").opened("pair", ReadPlan(inputs=[]), ledger):
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


def test_gate_that_is_met() -> None:
    """The file appears."""
    _run(output="o.jsonl", require=["pairs>=1", "rows.read==3"], quiet=True)
    assert Path("o.jsonl").read_bytes() == b"a\n"


def test_gate_that_is_not_met(capsys: pytest.CaptureFixture[str]) -> None:
    """The old file stays, and the counts are said and written all the same."""
    Path("o.jsonl").write_bytes(b"old\n")
    with pytest.raises(GateNotMet) as caught:
        _run(output="o.jsonl", summary="s.json", require=["pairs>=1", "pairs>=2", "pairs>=3"])
    assert (caught.value.gate, caught.value.actual) == ("pairs>=2", 1)
    assert Path("o.jsonl").read_bytes() == b"old\n"
    assert json.loads(Path("s.json").read_bytes())["pairs"] == 1
    said = capsys.readouterr().err
    assert (said.startswith("rows  "), "wrote" in said) == (True, False)
    assert sorted(os.listdir()) == ["o.jsonl", "r.jsonl", "s.json"]


def test_gate_that_is_no_gate() -> None:
    """It is told before anything is opened."""
    for word in ("pairs", "oddity>=1"):
        with pytest.raises(UsageError):
            _run(output="o.jsonl", require=[word])
    assert os.listdir() == ["r.jsonl"]


def test_run_that_failed_meets_no_gate() -> None:
    """Its own error is the one that counts."""
    with pytest.raises(BadRecords):
        _run(BadRecords(1, []), output="o.jsonl", require=["pairs>=9"], quiet=True)


def test_other_files_that_are_read() -> None:
    """An output is neither an input nor a file that inputs are held against."""
    bench = Input("bench.jsonl", "bench.jsonl")
    Path("bench.jsonl").write_bytes(b"in\n")
    words = WriteWords(output="bench.jsonl")
    with (
        pytest.raises(UsageError, match="is both input and output"),
        words.opened("dedupe", PLAN, Ledger(), also_read=[bench]),
    ):
        pass
    assert Path("bench.jsonl").read_bytes() == b"in\n"


@pytest.mark.parametrize("twice", [["a", "./a"], ["d/../a", "a"], ["link", "a"]])
def test_one_file_twice(twice: list[str]) -> None:
    """However it is spelt, and through links."""
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
    """What is wrong is told before the run and when the file is begun, and no file comes."""
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
"""A row as we write them."""


def _split(error: Exception | None = None, side: str = "val", **words: Any) -> None:
    ledger = Ledger(rows_read=3)
    plan = ReadPlan(inputs=[Input("r.jsonl", "r.jsonl")], quarantine="bad.jsonl")
    with FolderWords(**words).opened(["train", side], plan, ledger) as outputs:
        outputs[side].write(b"a\n")
        ledger.add_pair(0.5, 1.0, 0.5)
        if error is not None:
            raise error


@pytest.mark.parametrize("side", ["val", "test"])
def test_files_of_a_split(capsys: pytest.CaptureFixture[str], side: str) -> None:
    """One of each side that was asked for; the others of an earlier run go."""
    Path("d").mkdir()
    for name in ("train.jsonl", "val.jsonl", "test.jsonl", "other.jsonl"):
        Path("d", name).write_bytes(OURS)
    _split(out_dir="d", side=side, summary="d/s.json")
    assert sorted(os.listdir("d")) == sorted(
        ["other.jsonl", "s.json", f"{side}.jsonl", "train.jsonl"]
    )
    assert Path("d", f"{side}.jsonl").read_bytes() == b"a\n"
    assert Path("d", "train.jsonl").read_bytes() == b""
    assert capsys.readouterr().err.endswith(f"wrote d/train.jsonl, d/{side}.jsonl\n")


@pytest.mark.parametrize("error", [BadRecords(1, []), NothingCameOut("pair"), None])
def test_split_that_fails(error: Exception | None) -> None:
    """Nothing appears and nothing goes, of a new folder or an old one; nor if a gate is not met."""
    Path("old").mkdir()
    Path("old", "test.jsonl").write_bytes(OURS)
    for folder in ("old", "new"):
        with pytest.raises((BadRecords, NothingCameOut, GateNotMet)):
            _split(error, out_dir=folder, require=["sides.val>=1"] if error else ["pairs>=2"])
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
def test_words_of_a_split_that_do_not_fit(words: dict[str, Any]) -> None:
    """Without a folder, or one file for two things: nothing is made."""
    with pytest.raises((UsageError, UnknownWord)):
        _split(**words)
    assert os.listdir() == ["r.jsonl"]


@pytest.mark.parametrize("name", ["train", "val", "test"])
def test_split_over_its_input(name: str) -> None:
    """A side of an earlier run, as input, is neither written over nor swept away."""
    Path("r.jsonl").rename(f"{name}.jsonl")
    Path("r.jsonl").symlink_to(f"{name}.jsonl")
    with pytest.raises(UsageError, match="is both input and output"):
        _split(out_dir=".")
    assert Path(f"{name}.jsonl").read_bytes() == b"in\n"
