"""The options of validate, and its output."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command_call import called

from prefpairs.cli.commands.validate import ValidateOptions, validate
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.dataset.row_checks import LengthLimit
from prefpairs.errors import FileError, UnknownWord, UsageError, WouldBeLost
from prefpairs.files.input_file import Input
from prefpairs.targets import target_named
from prefpairs.targets.openai import check_strictly

ROW = {"prompt": "Q", "chosen": " aye", "rejected": " nay"}
EQUAL = {**ROW, "rejected": " aye"}
WARNED = {**ROW, "margin": 1.0}
CARD = "---\ndataset_info:\n  features: []\n---\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write("in.jsonl", ROW)


def _write(name: str, *rows: Any) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def _run(**words: Any) -> None:
    called(validate, **{"inputs": ["in.jsonl"], "to": "trl", **words})


def _plan(to: str = "trl", **words: Any) -> Any:
    return ValidateOptions(**{"inputs": ["in.jsonl"], "to": to, **words}).plan()


def _labels(*words: str, to: str = "trl") -> list[str]:
    return [given.label for given in _plan(to, inputs=list(words)).inputs]


# Options ----------------------------------------------------------------------------------


def test_plan_of_no_options() -> None:
    """Defaults: one file, the rules of the target, no length."""
    plan = _plan("nemo_rl")
    assert plan.inputs == [Input("in.jsonl", "in.jsonl")]
    assert plan.target is target_named("nemo-rl")
    assert (plan.length, plan.batch, plan.limit, plan.typed) == (None, 0, None, frozenset())


def test_plan_of_all_options() -> None:
    """Each option sets its field."""
    plan = _plan("openai", host="together", max_chars=9, batch_size=4, limit=2)
    assert plan.target.rules.check is check_strictly
    assert (plan.length, plan.batch, plan.limit) == (LengthLimit(9), 4, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"to": "trl", "host": "azure"}, "--to trl is for one reader: no --host"),
        ({"max_tokens": 9}, "--max-tokens N and --tokenizer FILE must be given together"),
        ({"tokenizer": "t.json"}, "--max-tokens N and --tokenizer FILE must be given together"),
        ({"max_tokens": 9, "tokenizer": "t.json", "max_chars": 9}, "cannot be used together"),
        ({"summary": "-"}, "--summary -: standard output is for findings"),
        ({"to": "openai", "host": "gemini"}, "unknown --host: gemini"),
        ({"to": "torch"}, "torch"),
    ],
)
def test_contradictory_options(words: dict[str, Any], message: str) -> None:
    """Contradictory options give an error that names them."""
    with pytest.raises(UsageError) as caught:
        _run(**words)
    assert message in error_sentences(caught.value)[0][0]


def test_summary_over_its_input() -> None:
    """A summary over an input is rejected."""
    with pytest.raises(UsageError):
        _run(summary="in.jsonl")
    assert json.loads(Path("in.jsonl").read_bytes()) == ROW


def test_missing_file() -> None:
    """The error names the missing file."""
    with pytest.raises(FileError, match="nothing"):
        _run(inputs=["nothing.jsonl"])


def test_files_of_a_folder() -> None:
    """The files that the trainer reads, in its order, if they have its names; else all."""
    for name in ("val.jsonl", "train.jsonl", "notes.jsonl"):
        _write(f"d/{name}", ROW)
    assert _labels("d") == ["train.jsonl", "val.jsonl"]
    assert _labels("d", to="ultrafeedback") == ["notes.jsonl", "train.jsonl", "val.jsonl"]
    _write("c/training/training_file.jsonl", ROW)
    _write("c/other/x.jsonl", ROW)
    assert _labels("c", to="customizer") == ["training_file.jsonl"]
    assert _labels("in.jsonl", "d") == ["in.jsonl", "train.jsonl", "val.jsonl"]


def test_a_file_of_a_folder_that_cannot_be_looked_at() -> None:
    """A broken link is an error, not skipped."""
    _write("d/train.jsonl", ROW)
    Path("d/val.jsonl").symlink_to("val.jsonl")
    with pytest.raises(FileError, match=r"d/val\.jsonl"):
        _labels("d")


@pytest.mark.parametrize("second", ["in.jsonl", "./in.jsonl", "link.jsonl", "data"])
def test_a_file_that_is_named_twice(second: str) -> None:
    """A duplicate is rejected, also by a link or inside a folder, since rows would count twice."""
    os.symlink("in.jsonl", "link.jsonl")
    Path("data").mkdir()
    os.link("in.jsonl", "data/train.jsonl")
    with pytest.raises(UsageError, match="is named twice"):
        _plan(inputs=["in.jsonl", second])


def test_files_of_one_name() -> None:
    """Findings tell them apart, however they were given."""
    _write("x/a.jsonl", EQUAL)
    _write("y/a.jsonl", EQUAL)
    assert _labels("x/a.jsonl", "y") == ["x/a.jsonl", "y/a.jsonl"]
    assert _labels("x/a.jsonl", "in.jsonl") == ["a.jsonl", "in.jsonl"]


@pytest.mark.parametrize(
    ("card", "typed"),
    [
        (CARD, True),
        ("---\nlicense: mit\ndataset_info:\n---\n", True),
        ("# Data\ndataset_info:\n", False),
        ("---\nlicense: mit\n---\n", False),
        ("---\nlicense: mit\n# no dataset_info:\n---\n", False),
        ("", False),
    ],
)
def test_card(card: str, typed: bool) -> None:
    """A card next to the file gives column types."""
    _write("d/train.jsonl", ROW)
    Path("d/README.md").write_text(card, "utf-8")
    plan = _plan(inputs=["d", "in.jsonl"])
    assert {given.path for given in plan.typed} == ({"d/train.jsonl"} if typed else set())


# Runs -------------------------------------------------------------------------------------


def test_sound_file(capfd: pytest.CaptureFixture[str]) -> None:
    """A sound file has no findings; the summary goes to standard error."""
    _run()
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == (
        "",
        "rows                1 read = 1 fine + 0 lost\n",
    )


def test_findings(capfd: pytest.CaptureFixture[str]) -> None:
    """One finding per line, then the counts, and an error at the end."""
    _write("in.jsonl", ROW, EQUAL, WARNED)
    with pytest.raises(WouldBeLost) as caught:
        _run()
    assert (caught.value.rows, caught.value.of, caught.value.target) == (1, 3, "trl")
    assert (caught.value.files, caught.value.exit_code) == ([], 4)
    captured = capfd.readouterr()
    assert captured.out == (
        "in.jsonl:2: trains on nothing: chosen and rejected are the same, so the loss stays "
        "at ln 2 (equal_sides)\n"
        "in.jsonl:3: warning: margin: this column changes what the trainer does "
        "(reserved_column)\n"
    )
    assert captured.err == (
        "rows                3 read = 2 fine + 1 lost\n"
        "                 1  trains on nothing: chosen and rejected are the same, so the loss "
        "stays at ln 2 (equal_sides)\n"
        "warnings            1\n"
        "                 1  reserved_column: this column changes what the trainer does\n"
    )


def test_file_that_is_lost(capfd: pytest.CaptureFixture[str]) -> None:
    """The finding has no line number, and the name is escaped."""
    Path("odd\x1b.jsonl").write_bytes(b"")
    with pytest.raises(WouldBeLost) as caught:
        _run(inputs=["odd\x1b.jsonl"])
    assert (caught.value.rows, caught.value.files) == (0, ["odd\\x1b.jsonl"])
    captured = capfd.readouterr()
    assert captured.out == "odd\\x1b.jsonl: fails to load: the file has no rows (no_rows)\n"
    assert "cannot be loaded    odd\\x1b.jsonl\n" in captured.err


def test_warnings_lose_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """The first five of each kind per file are printed, and all are counted."""
    _write("in.jsonl", *[WARNED] * 7)
    _write("more.jsonl", *[WARNED] * 2)
    _run(inputs=["in.jsonl", "more.jsonl"])
    captured = capfd.readouterr()
    places = [line.partition(": ")[0] for line in captured.out.splitlines()]
    assert places == [
        *(f"in.jsonl:{line}" for line in range(1, 6)),
        "more.jsonl:1",
        "more.jsonl:2",
    ]
    assert "warnings            9\n" in captured.err


def test_all_losses_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """All losses are printed, however many."""
    _write("in.jsonl", *[EQUAL] * 7)
    with pytest.raises(WouldBeLost):
        _run()
    assert len(capfd.readouterr().out.splitlines()) == 7


def test_json(capfd: pytest.CaptureFixture[str]) -> None:
    """An object per finding; a finding for the whole file has no line."""
    _write("in.jsonl", EQUAL)
    with pytest.raises(WouldBeLost):
        _run(json=True, quiet=True, batch_size=2)
    captured = capfd.readouterr()
    assert captured.err == ""
    assert [json.loads(line) for line in captured.out.splitlines()] == [
        {
            "file": "in.jsonl",
            "line": 1,
            "effect": "trains on nothing",
            "code": "equal_sides",
            "field": "",
            "message": "chosen and rejected are the same, so the loss stays at ln 2",
        },
        {
            "file": "in.jsonl",
            "line": None,
            "effect": "warning",
            "code": "fewer_than_a_batch",
            "field": "",
            "message": "there are fewer rows than a batch (--batch-size), so there is no training "
            "step",
        },
    ]


def test_summary() -> None:
    """The counts are written, also if rows are lost."""
    _write("in.jsonl", ROW, EQUAL, WARNED)
    with pytest.raises(WouldBeLost):
        _run(summary="s.json")
    assert json.loads(Path("s.json").read_bytes()) == {
        "files": ["in.jsonl"],
        "rows": {"read": 3, "fine": 2, "lost": 1},
        "files_lost": [],
        "lost": {"trains on nothing": {"equal_sides": 1}},
        "warnings": {"reserved_column": 1},
    }


def test_hint() -> None:
    """Overlong rows suggest filter, all others export."""
    _write("in.jsonl", {"prompt": "a question", "chosen": "a", "rejected": "b"})
    with pytest.raises(WouldBeLost) as caught:
        _run(max_chars=5)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("limit lengths with filter: ")
    _write("in.jsonl", {"prompt": "a question", "chosen": "a", "rejected": "b"}, EQUAL)
    with pytest.raises(WouldBeLost) as caught:
        _run(max_chars=5)
    assert caught.value.hint == "prefpairs export --to trl --on-error skip in.jsonl"


def test_unknown_host() -> None:
    """The error lists the known hosts."""
    with pytest.raises(UnknownWord) as caught:
        _plan("openai", host="gemini")
    assert list(caught.value.known) == ["azure", "together", "fireworks", "openai"]


def test_nothing_is_left_behind() -> None:
    """The command writes no file."""
    _run()
    assert os.listdir() == ["in.jsonl"]
