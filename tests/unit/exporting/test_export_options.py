"""The options of export, and runs of it."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_call import called

from prefpairs.cli.commands.export import export
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.errors import (
    CannotHold,
    GateNotMet,
    NothingCameOut,
    OptionsConflict,
    UnknownWord,
    UsageError,
)
from prefpairs.files.input_file import side_of
from prefpairs.option import filled
from prefpairs.plan.export_plan import export_plan
from prefpairs.targets import TARGETS, target_named
from prefpairs.targets.base import ChatSupport
from prefpairs.targets.export_options import ExportOptions

ROWS = [
    {"prompt": f"Q{n}", "chosen": "yes", "rejected": "no", "chosen_score": 1, "rejected_score": 0}
    for n in range(4)
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    for name, rows in (("train", ROWS[:3]), ("val", ROWS[3:])):
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        Path("in", f"{name}.jsonl").write_text(lines, "utf-8")


def _run(**words: Any) -> None:
    called(export, **{"paths": ["in"], "to": "trl", "quiet": True, **words})


def _files(folder: str) -> dict[str, int]:
    """The number of lines in each file."""
    found = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): len(path.read_bytes().splitlines()) for path in sorted(found)
    }


def _plan(to: str, **words: Any) -> Any:
    return export_plan(to, filled(ExportOptions, words), None)


# Options ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TARGETS)
def test_plan_of_no_options(name: str) -> None:
    """Defaults are the target's, for its newest release."""
    plan, target = _plan(name), target_named(name)
    release = target.releases[-1] if target.releases else ""
    assert plan.target is target
    assert plan.options == ExportOptions(
        tool_args=target.tool_args, reasoning_as="text", system="keep", release=release
    )


def test_plan_of_all_options() -> None:
    """Each option sets its field."""
    words = {
        "turns": "all",
        "lossy": "drop",
        "tool_args": "string",
        "reasoning_as": "field",
        "system": "merge",
        "text": True,
    }
    assert _plan("trl", **words).options == ExportOptions(**words, tool_args_known=True, release="")  # type: ignore[arg-type]
    assert _plan("customizer", last_message=True).options.last_message is True
    assert _plan("nemo_rl", release="v0.3.1").options.release == "0.1"
    assert export_plan("trl", ExportOptions(), "/x").temp_dir == "/x"


def test_host() -> None:
    """--host selects the variant of the target."""
    assert _plan("openai", host="together").target.supports == ChatSupport()
    default = target_named("openai")
    assert _plan("openai", host="azure").target == replace(default, note="")
    assert [_plan("openai", host=host).target.note[:12] for host in (None, *default.hosts)] == [
        "without --ho",
        "",
        "",
        "",
        "OpenAI accep",
    ]


@pytest.mark.parametrize(
    ("to", "words", "message"),
    [
        ("openrlhf", {"tool_args": "dict"}, "a form of its own for calls: no --tool-args"),
        ("openai", {"host": "fireworks", "tool_args": "string"}, "no --tool-args"),
        ("nemo-rl", {"reasoning_as": "field"}, "has no field for thinking"),
        ("axolotl", {"turns": "all"}, "no --turns all"),
        ("trl", {"last_message": True}, "--last-message and --to trl cannot be used together"),
        ("nemo-rl", {"text": True}, "--text and --to nemo-rl cannot be used together"),
        ("trl", {"release": "1.0"}, "no --release"),
        ("trl", {"host": "azure"}, "no --host"),
        ("openai", {"host": "gemini"}, "--host"),
        ("trl", {"turns": "second"}, "--turns"),
        ("trl", {"lossy": "maybe"}, "--lossy"),
        ("trl", {"tool_args": "yaml"}, "--tool-args"),
        ("trl", {"reasoning_as": "tags"}, "--reasoning-as"),
        ("trl", {"system": "drop"}, "--system"),
        ("nemo-rl", {"release": "main"}, "--release main"),
    ],
)
def test_options_that_a_target_does_not_have(to: str, words: dict[str, Any], message: str) -> None:
    """An option that the target does not have is an error that names it."""
    with pytest.raises(UsageError) as caught:
        _plan(to, **words)
    assert message in error_sentences(caught.value)[0][0]


def test_unknown_target() -> None:
    """An unknown target is rejected before anything is written."""
    with pytest.raises(UnknownWord):
        _run(to="torch", output="out.jsonl")
    assert os.listdir() == ["in"]


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("train.jsonl", "train"),
        ("training_file.jsonl.gz", "train"),
        ("val.jsonl", "val"),
        ("validation_file.jsonl", "val"),
        ("pairs-valid-00001.jsonl", "val"),
        ("DEV.parquet", "val"),
        ("my_test2.jsonl", "test"),
        ("value.jsonl", "train"),
        ("contest.jsonl", "train"),
        ("pairs.jsonl", "train"),
        ("eval.jsonl", "val"),
        ("val/part-0.jsonl", "val"),
        ("validated/part-0.jsonl", "train"),
        ("val/train.jsonl", "train"),
        ("-", "train"),
    ],
)
def test_side_of_a_file(name: str, side: str) -> None:
    """The split is a whole word in the file's name, else the whole name of its folder."""
    assert side_of(f"/test/runs/{name}") == side


# Runs -------------------------------------------------------------------------------------


def test_one_file() -> None:
    """All inputs go to one file, in order."""
    _run(output="out.jsonl")
    rows = [json.loads(line) for line in Path("out.jsonl").read_bytes().splitlines()]
    assert [row["prompt"][0]["content"] for row in rows] == ["Q0", "Q1", "Q2", "Q3"]


@pytest.mark.parametrize(
    ("to", "files"),
    [
        ("trl", {"train.jsonl": 3, "val.jsonl": 1}),
        ("trl-kto", {"train.jsonl": 6, "val.jsonl": 2}),
        ("customizer-rl", {"training.jsonl": 3, "validation.jsonl": 1}),
        (
            "customizer",
            {"training/training_file.jsonl": 3, "validation/validation_file.jsonl": 1},
        ),
        ("ultrafeedback", {"train_prefs.jsonl": 3, "val_prefs.jsonl": 1}),
    ],
)
def test_folder(to: str, files: dict[str, int]) -> None:
    """The splits have the trainer's file names, next to its other files."""
    _run(to=to, out_dir="d")
    found = _files("d")
    around = set(target_named(to).extra_names)
    assert {name: count for name, count in found.items() if name not in around} == files
    assert set(found) == {*files, *around}


def test_folder_without_sides() -> None:
    """All data is for training; splits of an earlier run are removed, and other files stay."""
    _run(out_dir="d")
    Path("d", "notes.txt").write_text("mine", "utf-8")
    _run(out_dir="d", paths=["in/train.jsonl"])
    assert _files("d") == {
        "README.md": len(Path("d/README.md").read_text("utf-8").splitlines()),
        "dpo.sh": len(Path("d/dpo.sh").read_text("utf-8").splitlines()),
        "notes.txt": 1,
        "train.jsonl": 3,
    }


def test_runs_are_the_same() -> None:
    """A second run gives the same bytes, also into an existing folder."""
    _run(out_dir="d", to="llamafactory")
    first = {path.name: path.read_bytes() for path in Path("d").iterdir()}
    _run(out_dir="d", to="llamafactory")
    assert {path.name: path.read_bytes() for path in Path("d").iterdir()} == first


def test_summary() -> None:
    """The summary has the stage and the pairs."""
    _run(output="out.jsonl", summary="s.json")
    summary = json.loads(Path("s.json").read_bytes())
    assert (summary["pairs"], summary["stages"]["export"]["kept"]) == (4, 4)


def test_folder_and_file() -> None:
    """Only one of both options is allowed."""
    with pytest.raises(OptionsConflict):
        _run(out_dir="d", output="out.jsonl")
    assert os.listdir() == ["in"]


def test_failure_leaves_the_old_files() -> None:
    """Any failure keeps the old files."""
    _run(out_dir="d")
    before = {path.name: path.read_bytes() for path in Path("d").iterdir()}
    thought = [{"role": "assistant", "content": "a", "reasoning_content": "b"}]
    Path("x.jsonl").write_text(json.dumps({**ROWS[0], "chosen": thought}), "utf-8")
    with pytest.raises(CannotHold):
        _run(out_dir="d", paths=["x.jsonl"], lossy="refuse")
    with pytest.raises(NothingCameOut):
        _run(out_dir="d", paths=["x.jsonl"], lossy="drop")
    with pytest.raises(GateNotMet):
        _run(out_dir="d", require=["pairs>=5"])
    assert {path.name: path.read_bytes() for path in Path("d").iterdir()} == before


def test_input_that_would_be_written_over() -> None:
    """A folder of splits is not exported into itself."""
    with pytest.raises(UsageError, match="both input and output"):
        _run(out_dir="in")
    assert _files("in") == {"train.jsonl": 3, "val.jsonl": 1}
