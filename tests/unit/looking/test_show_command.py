"""The options of show, and its output."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_call import called

from prefpairs.cli.commands.show import ShowInputs, ShowOptions, show
from prefpairs.cli.main import main
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.errors import NotThere, UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.pair import pair_of
from prefpairs.strategies.options import PairOptions

ROWS = [
    {"prompt": f"Q{number}", "chosen": f"it is {number}", "rejected": "it is not", "gap": number}
    for number in range(1, 9)
]
IDS = [pair_of(row)[0].id for row in ROWS]
ROLLOUTS = [
    {"group": "g", "prompt": "Q", "response": answer, "score": score}
    for answer, score in (("aye", 1.0), ("nay", 0.0), ("well", 0.9))
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write("p.jsonl", ROWS)
    _write("r.jsonl", ROLLOUTS)


def _write(name: str, rows: list[Any]) -> None:
    Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def _run(*inputs: str, **words: Any) -> None:
    called(show, **{"paths": [*inputs] or ["p.jsonl"], **words})


def _shown(capfd: pytest.CaptureFixture[str], *inputs: str, **words: Any) -> list[str]:
    """The selection of shown pairs: numbers, IDs, positions."""
    _run(*inputs, **words)
    return [line for line in capfd.readouterr().out.splitlines() if line.startswith("── ")]


@contextmanager
def _stdin(data: bytes) -> Iterator[None]:
    before, (ours, theirs) = os.dup(0), os.pipe()
    os.write(theirs, data)
    os.close(theirs)
    os.dup2(ours, 0)
    os.close(ours)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


# Options ----------------------------------------------------------------------------------


def test_plan_of_no_options() -> None:
    """By default, the first five pairs of a file."""
    plan = ShowInputs(paths=["p.jsonl"]).pairs_plan(ShowOptions(), 0)
    assert (plan.most, plan.ids, plan.worst, plan.seed) == (5, [], None, None)
    assert (plan.read.limit, plan.read.dialect) == (None, "auto")


def test_plan_of_all_options() -> None:
    """Each option sets its field; -n is the number of pairs, not of rows."""
    reading = ShowInputs(paths=["p.jsonl"], limit=3, source="trl", on_error="skip")
    plan = reading.pairs_plan(ShowOptions(worst="length_ratio"), 0)
    assert (plan.most, plan.worst, plan.seed) == (3, "length-ratio", None)
    assert (plan.read.limit, plan.read.dialect, plan.read.on_error) == (None, "trl", "skip")
    assert reading.pairs_plan(ShowOptions(random=True), 7).seed == 7


def test_plan_of_ids() -> None:
    """All requested IDs are shown, unless -n gives a number."""
    choice = ShowOptions(ids=["ABCD,1234", "abcd"])
    plan = ShowInputs(paths=["p.jsonl"]).pairs_plan(choice, 0)
    assert (plan.most, plan.ids) == (sys.maxsize, ["abcd", "1234"])
    assert ShowInputs(paths=["p.jsonl"], limit=1).pairs_plan(choice, 0).most == 1


def test_ids_of_standard_input() -> None:
    """`--id -` reads an ID per line, as `diff --ids` prints them."""
    with _stdin(f"{IDS[0]}\n\n{IDS[1].upper()}\n".encode()):
        plan = ShowInputs(paths=["p.jsonl"]).pairs_plan(ShowOptions(ids=["-", "abcd"]), 0)
    assert plan.ids == [IDS[0], IDS[1], "abcd"]


def test_no_ids_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without IDs on standard input, nothing is shown instead of all."""
    with _stdin(b"\n"), pytest.raises(NotThere) as none:
        _run(ids=["-"])
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(NotThere) as closed:
        _run(ids=["-"])
    for caught in (none, closed):
        assert (caught.value.names, caught.value.hint) == ((), "no ids came")


def test_no_text_on_standard_input() -> None:
    """Bytes that are not text are rejected as IDs."""
    error = pytest.raises(UsageError, match="expected 4 to 32 hexadecimal digits")
    with _stdin(b"\x1f\x8b\xff"), error:
        _run(ids=["-"])


def test_group_plan() -> None:
    """--group accepts all options of `pair`; -n is the number of candidates, not of rows."""
    reading = ShowInputs(paths=["r.jsonl"], limit=3, source="candidates")
    rows = ReadOptions(scores=(("x", 1.0),))
    plan = reading.group_plan(rows, PairOptions(min_gap=0.3, seed=7), "/tmp")  # noqa: S108
    assert (plan.read.limit, plan.read.source) == (None, "candidates")
    assert (plan.options.min_gap, plan.options.seed, plan.temp_dir) == (0.3, 7, "/tmp")  # noqa: S108
    assert plan.read.options.scores == (("x", 1.0),)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"ids": ["abcd"], "worst": "gap"}, "--id and --worst cannot be used together"),
        ({"random": True, "worst": "gap"}, "--worst and --random cannot be used together"),
        ({"random": True, "group": "g"}, "--random and --group cannot be used together"),
        ({"seed": 1}, "--seed requires --random or --group"),
        ({"ids": ["abc"]}, "--id abc: expected 4 to 32 hexadecimal digits"),
        ({"ids": ["abcg"]}, "--id abcg: expected 4 to 32 hexadecimal digits"),
        ({"ids": ["a" * 33]}, "expected 4 to 32"),
        ({"ids": ["-"], "paths": ["-"]}, "--id - reads standard input"),
        ({"ids": ["-"], "paths": None}, "--id - reads standard input"),
        ({"min_gap": 0.1}, "--min-gap requires --group"),
        ({"scores": ["x"]}, "--score requires --group"),
        ({"cast_score": True}, "--cast-score requires --group"),
        ({"keep_rows": ["masked"]}, "--keep-rows requires --group"),
        ({"temp_dir": "."}, "--temp-dir requires --group"),
        (
            {"group": "g", "across_prompts": True, "strategy": "stratified"},
            "--across-prompts and --group cannot be used together",
        ),
        (
            {"group": "g", "assume_grouped": True},
            "--assume-grouped and --group cannot be used together",
        ),
        ({"worst": "best"}, "unknown --worst: best"),
        ({"source": "nemo-gym"}, "nemo-gym"),
        ({"source": "trl", "group": "g"}, "trl"),
        (
            {"on_error": "quarantine", "quarantine": "p.jsonl"},
            "p.jsonl is both input and output",
        ),
        ({"on_error": "quarantine", "quarantine": ""}, "the name of an output is empty"),
    ],
)
def test_contradictory_options(words: dict[str, Any], message: str) -> None:
    """Contradictory options give an error that names them."""
    with pytest.raises(UsageError) as caught:
        _run(**words)
    assert message in error_sentences(caught.value)[0][0]


# Pairs ------------------------------------------------------------------------------------


def test_the_first_ones(capfd: pytest.CaptureFixture[str]) -> None:
    """Five pairs by default, with number, ID and position."""
    rules = _shown(capfd)
    assert len(rules) == 5
    assert rules[1].startswith(f"── 2 ─ {IDS[1]} ─")
    assert rules[1].endswith(" p.jsonl:2 ──")
    assert len(_shown(capfd, limit=7)) == 7


def test_by_id(capfd: pytest.CaptureFixture[str]) -> None:
    """An ID may be abbreviated."""
    (rule,) = _shown(capfd, ids=[IDS[6][:6].upper()])
    assert rule.startswith(f"── 1 ─ {IDS[6]} ─")


def test_worst_and_random(capfd: pytest.CaptureFixture[str]) -> None:
    """--worst and --random select other pairs than the first."""
    _write("p.jsonl", ROWS[::-1])
    (rule,) = _shown(capfd, worst="gap", limit=1)
    assert rule.endswith(" p.jsonl:8 ──")
    drawn = {_shown(capfd, random=True, seed=seed, limit=1)[0] for seed in range(9)}
    assert len(drawn) > 1


def test_how_it_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    """--width and --full are obeyed."""
    _write("p.jsonl", [{**ROWS[0], "prompt": "\n".join(map(str, range(99)))}])
    assert len(_shown(capfd, width=60)[0]) == 60
    _run()
    assert "… 88 more rows (--full)" in capfd.readouterr().out
    _run(full=True)
    assert "          55\n" in capfd.readouterr().out


def test_dropped_rows_are_reported(capfd: pytest.CaptureFixture[str]) -> None:
    """Dropped rows are reported on standard error, unless --quiet is given."""
    _write("p.jsonl", [{**ROWS[0], "rejected": ROWS[0]["chosen"]}, ROWS[1]])
    _run()
    assert capfd.readouterr().err == (
        "rows                2 read = 1 used + 1 dropped + 0 bad\n"
        "                 1  sides_equal: chosen and rejected have the same content\n"
    )
    _run(quiet=True)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("rows", "hint"),
    [
        ([], "the input has no rows"),
        (
            [{**ROWS[0], "chosen": " "}],
            "1 row: the answer is empty: it has no text and no tool call",
        ),
    ],
)
def test_nothing_to_show(rows: list[Any], hint: str) -> None:
    """If there is nothing to show, the hint says why."""
    _write("p.jsonl", rows)
    with pytest.raises(NotThere) as caught:
        _run()
    assert (caught.value.names, caught.value.hint) == ((), hint)


def test_unknown_id(capfd: pytest.CaptureFixture[str]) -> None:
    """Known IDs are shown; exit 3 names the others and explains IDs."""
    assert main(["show", "--id", f"0000,{IDS[0]}", "p.jsonl"]) == 3
    captured = capfd.readouterr()
    assert IDS[0] in captured.out
    assert captured.err == (
        "error: there is no pair 0000\n\nhint: ids name the content, and change with it; "
        "`jq -r .id` lists those of a file\n"
    )


# Groups -----------------------------------------------------------------------------------


def test_group(capfd: pytest.CaptureFixture[str]) -> None:
    """Every candidate is shown, best first, with its outcome, and all losses before."""
    _write("r.jsonl", [*ROLLOUTS, {**ROLLOUTS[0], "score": None}])
    _run("r.jsonl", group="g", min_gap=0.2, source="candidates")
    captured = capfd.readouterr()
    assert captured.out.splitlines() == [
        f"── g {'─' * 55} 3 candidates, 1 pair (best-vs-worst) ──",
        "prompt    Q",
        "",
        "#1    1.0   3 chars   r.jsonl:1",
        "      chosen over #3",
        "      aye",
        "#2    0.9   4 chars   r.jsonl:3",
        "      not used: best-vs-worst takes the widest allowed pair of each group",
        "      well",
        "#3    0.0   3 chars   r.jsonl:2",
        "      rejected in favour of #1",
        "      nay",
        "",
        "dropped before groups were made, in all of the input",
        "                 1  no_score: the score is missing",
    ]
    assert captured.err == ""
    _run("r.jsonl", group="prompt:", quiet=True)
    assert capfd.readouterr().err == ""
    _run("r.jsonl", group="prompt:")
    assert capfd.readouterr().err.startswith("note: guessed: prompt is")


def test_some_of_a_group(capfd: pytest.CaptureFixture[str]) -> None:
    """The candidates that are not shown are counted."""
    _run("r.jsonl", group="g", limit=1, source="candidates")
    assert capfd.readouterr().out.splitlines()[3:] == [
        "#1    1.0   3 chars   r.jsonl:1",
        "      chosen over #3",
        "      aye",
        "... and 2 more",
        "",
    ]


def test_unknown_group() -> None:
    """The hint names other groups, or says why there are none."""
    with pytest.raises(NotThere) as caught:
        _run("r.jsonl", group="h", source="candidates")
    assert (caught.value.names, caught.value.hint) == (["h"], "there are g")
    _write("r.jsonl", [{**ROLLOUTS[0], "score": None}])
    with pytest.raises(NotThere) as caught:
        _run("r.jsonl", group="g", source="candidates")
    assert caught.value.hint == "1 row: the score is missing"
