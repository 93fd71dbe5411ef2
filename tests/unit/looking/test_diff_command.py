"""The options of diff, and its output."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_call import called

from prefpairs.cli.commands.diff import DiffInputs, diff
from prefpairs.cli.main import main
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.errors import FileError, UsageError
from prefpairs.model.pair import pair_of

ROWS = [
    {
        "prompt": f"Q{number}",
        "chosen": "aye" * number,
        "rejected": "nay",
        "chosen_score": 1.0,
        "rejected_score": 0.25 * number,
    }
    for number in range(1, 4)
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write("a.jsonl", ROWS)
    _write("b.jsonl", ROWS[1:])


def _write(name: str, rows: list[Any]) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def _run(*inputs: str, **words: Any) -> None:
    called(diff, **{"paths": [*inputs] or ["a.jsonl", "b.jsonl"], **words})


def _labels(*inputs: str) -> tuple[list[str], list[str]]:
    plan = DiffInputs(paths=[*inputs]).diff_plan()
    before, after = ([given.label for given in side.inputs] for side in (plan.before, plan.after))
    return before, after


# Options ----------------------------------------------------------------------------------


def test_names_tell_the_files_apart() -> None:
    """Files of the two sides get different labels; one file on both sides has one."""
    for name in ("one/p.jsonl", "two/p.jsonl", "two/q.jsonl"):
        _write(name, ROWS)
    assert _labels("one", "two") == (["one/p.jsonl"], ["two/p.jsonl", "q.jsonl"])
    assert _labels("a.jsonl", "a.jsonl") == (["a.jsonl"], ["a.jsonl"])
    assert _labels("a.jsonl", "-") == (["a.jsonl"], ["stdin"])


def test_reading_options_apply_to_both() -> None:
    """The format and the treatment of bad rows apply to both sides."""
    plan = DiffInputs(paths=["a.jsonl", "b.jsonl"], dialect="trl", limit=2).diff_plan()
    assert [(side.dialect, side.limit) for side in (plan.before, plan.after)] == [("trl", 2)] * 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"paths": None}, "diff compares two sets of pairs"),
        ({"paths": ["a.jsonl"]}, "diff compares two sets of pairs"),
        ({"paths": ["a.jsonl", "b.jsonl", "a.jsonl"]}, "diff compares two sets of pairs"),
        ({"paths": ["-", "-"]}, "standard input can be read once only"),
        ({"ids": "lost", "json": True}, "--ids and --json cannot be used together"),
        ({"ids": "kept"}, "unknown --ids: kept"),
        (
            {"on_error": "quarantine", "quarantine": "b.jsonl"},
            "b.jsonl is both input and output",
        ),
        ({"on_error": "quarantine", "quarantine": ""}, "the name of an output is empty"),
    ],
)
def test_contradictory_options(words: dict[str, Any], message: str) -> None:
    """Contradictory options give an error that names them."""
    with pytest.raises(UsageError) as caught:
        _run(**words)
    assert message in error_sentences(caught.value)[0][0]


def test_missing_file() -> None:
    """The error names the missing file."""
    with pytest.raises(FileError, match=r"nothing\.jsonl"):
        _run("a.jsonl", "nothing.jsonl")


# Output -----------------------------------------------------------------------------------


def test_table(capfd: pytest.CaptureFixture[str]) -> None:
    """Figures of both sides, the changes, and what happened to prompts and pairs."""
    _run()
    captured = capfd.readouterr()
    assert captured.err == ""
    assert captured.out == (
        "before    a.jsonl\n"
        "after     b.jsonl\n"
        "\n"
        "                              before       after      change\n"
        "pairs                              3           2          -1\n"
        "distinct pairs                     3           2          -1\n"
        "prompts                            3           2          -1\n"
        "gap, mean                        0.5       0.375      -0.125\n"
        "gap, median                      0.5       0.375      -0.125\n"
        "chosen chars, mean                 6         7.5        +1.5\n"
        "chosen chars, median               6         7.5        +1.5\n"
        "rejected chars, mean               3           3           0\n"
        "rejected chars, median             3           3           0\n"
        "\n"
        "prompts   2 kept, 1 lost, 0 added\n"
        "pairs     2 kept (0 of them rescored), 1 lost, 0 added, 0 flipped\n"
    )


def test_numbers_of_every_size(capfd: pytest.CaptureFixture[str]) -> None:
    """Numbers are short enough to read; unknown ones are a dash."""
    _write("a.jsonl", [{**ROWS[0], "chosen": "x" * 123_456}, {**ROWS[0], "chosen": "x" * 3}])
    _write("b.jsonl", [{"prompt": "Q", "chosen": "aye", "rejected": "nay"}])
    _run()
    shown = capfd.readouterr().out
    assert "gap, mean                       0.75           -           -\n" in shown
    assert "chosen chars, mean          61,729.5           3   -61,726.5\n" in shown


def test_several_files(capfd: pytest.CaptureFixture[str]) -> None:
    """Of several files, the first is named, with escapes."""
    _write("d/a\x1b.jsonl", ROWS[:1])
    _write("d/b.jsonl", ROWS[1:])
    _run("d", "a.jsonl")
    assert capfd.readouterr().out.startswith("before    a\\x1b.jsonl and 1 more\nafter")


def test_json(capfd: pytest.CaptureFixture[str]) -> None:
    """--json gives the same figures."""
    _run(json=True)
    told = json.loads(capfd.readouterr().out)
    assert told["before"] == {
        "pairs": 3,
        "distinct": 3,
        "prompts": 3,
        "gap": {"mean": 0.5, "median": 0.5},
        "chosen_chars": {"mean": 6.0, "median": 6.0},
        "rejected_chars": {"mean": 3.0, "median": 3.0},
    }
    assert told["prompts"] == {"kept": 2, "lost": 1, "added": 0}
    assert told["pairs"] == {"kept": 2, "rescored": 0, "lost": 1, "added": 0, "flipped": 0}
    assert [*told] == ["before", "after", "prompts", "pairs"]


def test_ids(capfd: pytest.CaptureFixture[str]) -> None:
    """--ids prints an ID per line, and nothing else."""
    _run(ids="lost")
    assert capfd.readouterr() == (f"{pair_of(ROWS[0])[0].id}\n", "")
    _run(ids="added")
    assert capfd.readouterr().out == ""


def test_empty_sides(capfd: pytest.CaptureFixture[str]) -> None:
    """Empty sides are no error, since both could be read."""
    _write("b.jsonl", [])
    _run()
    captured = capfd.readouterr()
    assert captured.out.endswith(" 3 lost, 0 added, 0 flipped\n")
    assert captured.err == "note: b.jsonl is empty\n"
    _run(quiet=True)
    assert capfd.readouterr().err == ""


def test_exit_codes(capfd: pytest.CaptureFixture[str]) -> None:
    """0 whatever differs; 4 with --exit-code; 1 for bad rows."""
    words = ["diff", "a.jsonl", "b.jsonl"]
    assert main(words) == 0
    assert main([*words, "--exit-code"]) == 4
    assert main(["diff", "a.jsonl", "a.jsonl", "--exit-code"]) == 0
    assert main([*words, "--ids", "lost", "--exit-code"]) == 4
    assert capfd.readouterr().err == ""
    Path("b.jsonl").write_bytes(b"{oops\n")
    assert main(words) == 1


def test_exit_is_no_error() -> None:
    """Exit code 4 prints no error message besides the report."""
    with pytest.raises(SystemExit) as ended:
        _run(exit_code=True)
    assert ended.value.code == 4


def test_ids_of_another_identity_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Pairs are compared by content; a note names the file whose IDs have another version."""
    for name, sign in (("old.jsonl", "0"), ("new.jsonl", "")):
        ids = [f"{place:032x}" if sign else pair_of(row)[0].id for place, row in enumerate(ROWS)]
        _write(name, [{"id": one, **row} for one, row in zip(ids, ROWS, strict=True)])
    _run("old.jsonl", "new.jsonl", exit_code=True)
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note")]
    assert [note.partition(": most")[0] for note in notes] == ["note: old.jsonl"]
    _write("theirs.jsonl", [{"id": place, **row} for place, row in enumerate(ROWS)])
    _run("theirs.jsonl", "new.jsonl", exit_code=True)
    assert "note" not in capsys.readouterr().err
