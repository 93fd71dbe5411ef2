"""The number of processes that read a file does not change the result."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollouts_of_any_format import (
    BLANK_LINES,
    bad_gym_lines,
    candidate_rows,
    every_kind_of_gym_row,
    generic_rows,
    gym_rows,
    nat_rows,
)
from rows_of_any_columns import guessed_rows
from run_in_process import Collected, Row, lines_of

from hypothesis_examples import examples
from prefpairs.cli.main import main
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.errors import BadRecords, DataError, UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.ledger.summaries import pair_summary
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.strategies.options import PairOptions
from run_plans import pair

pytestmark = pytest.mark.full

WORKERS = [1, 2, 3, 7]
OnError = Literal["fail", "skip"]


@st.composite
def files(draw: st.DrawFn) -> dict[str, bytes]:
    """Files of one format each, as various editors and systems write them."""
    kinds = [gym_rows(), gym_rows(), nat_rows(), generic_rows(), guessed_rows(), candidate_rows()]
    named = {}
    for number in range(draw(st.sampled_from([1, 1, 2]))):
        given_lines = lines_of(*draw(st.one_of(kinds)))
        extra = draw(st.sampled_from([[], BLANK_LINES, BLANK_LINES, draw(bad_gym_lines())]))
        given_lines = draw(st.permutations(given_lines * draw(st.integers(1, 3)) + extra))
        if given_lines and draw(st.integers(0, 3)) == 0:
            at = draw(st.integers(0, len(given_lines) - 1))
            given_lines[at] = b" " * 5000 + given_lines[at]
        data = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + b"".join(given_lines)
        if draw(st.integers(0, 3)) == 0:
            data = data.replace(b"\n", b"\r\n")
        if draw(st.integers(0, 2)) == 0:
            data = data.rstrip(b"\r\n")
        named[f"part-{number}.jsonl"] = data
    return named


def all_that_a_run_gives(
    named: Mapping[str, bytes], workers: int, read: Mapping[str, Any], **asked: Any
) -> dict[str, Any]:
    """The output lines of a run, its summary and its other results."""
    ledger, output, bad = Ledger(), Collected(), None
    with tempfile.TemporaryDirectory() as folder:
        for name, data in named.items():
            Path(folder, name).write_bytes(data)
        inputs = find_inputs([str(Path(folder, name)) for name in named])
        options = replace(asked.pop("options", PairOptions()), workers=workers, **asked)
        plan = PairPlan(read=ReadPlan(inputs=inputs, **read), options=options)
        try:
            pair(plan, {WHOLE: output}, ledger, allow_empty=True)
        except BadRecords as error:
            bad = error.count, [(place, one.problem) for place, one in error.first]
        except (DataError, UsageError) as error:
            return {"refused": error_sentences(error)}
    first_bad = [(place, one.problem, one.code) for place, one in ledger.first_bad]
    mends = dict(ledger.noticed), ledger.groups_of_several_tasks, ledger.rows_by_input, ledger.notes
    return {
        "lines": output.lines,
        "summary": json.dumps(pair_summary(ledger)),
        "bad": (bad, first_bad, ledger.rows_bad),
        "besides": (
            mends,
            list(ledger.rows_dropped),
            list(ledger.candidates_dropped),
            ledger.sources,
        ),
    }


@examples(60)
@given(
    named=files(),
    on_error=st.sampled_from(["skip", "skip", "fail"]),
    group_by=st.sampled_from(["auto", "auto", "auto", "prompt", "file"]),
    strategy=st.sampled_from(["best-vs-worst", "exhaustive", "random"]),
)
def test_any_number_of_workers_finds_the_same(
    named: dict[str, bytes], on_error: OnError, group_by: Any, strategy: str
) -> None:
    """Pairs, counts, notes and bad rows with their positions are the same, for all sources."""
    read = {"on_error": on_error, "options": ReadOptions(group_by=group_by)}
    asked = {"strategy": strategy, "options": PairOptions(max_pairs_per_group=5)}
    alone, *others = [all_that_a_run_gives(named, number, read, **asked) for number in WORKERS]
    assert others == [alone] * 3


@pytest.mark.parametrize("order", ["input", "key"])
@pytest.mark.parametrize("across_prompts", [False, True])
def test_many_rows_of_every_kind(order: str, *, across_prompts: bool) -> None:
    """The same with more rows than are scanned at once, in groups that span all blocks."""
    rows = every_kind_of_gym_row(1500)
    named = {"part-0.jsonl": b"".join(lines_of(*rows[::2], *rows[1::2]))}
    asked = {"order": order, "across_prompts": across_prompts, "strategy": "stratified"}
    alone, *others = [all_that_a_run_gives(named, number, {}, **asked) for number in WORKERS]
    assert others == [alone] * 3
    assert len(alone["lines"]) > 20


def rollout(task: int, index: int, reward: Any, **more: Any) -> Row:
    """A rollout with a unique answer."""
    said = [{"type": "output_text", "text": f"A{index}"}]
    return {
        "responses_create_params": {"input": [{"role": "user", "content": "Q"}]},
        "response": {"output": [{"type": "message", "role": "assistant", "content": said}]},
        "reward": reward,
        "_ng_task_index": task,
        "_ng_rollout_index": index,
        **more,
    }


def besides(given_lines: Sequence[bytes], workers: int, **options: Any) -> tuple[Row, int]:
    """What was noticed in a file, and how many tasks were joined."""
    read = {"options": ReadOptions(**options), "on_error": "skip"}
    found = all_that_a_run_gives({"r.jsonl": b"".join(given_lines)}, workers, read)
    (mended, joined, *_), *_ = found["besides"]
    return mended, joined


@pytest.mark.parametrize("workers", WORKERS)
def test_tasks_that_are_joined_far_apart(workers: int) -> None:
    """Two tasks with the same prompt, in different blocks."""
    given_lines = lines_of(*[rollout(number // 10, number, 1.0) for number in range(20)])
    assert besides(given_lines, workers, group_by="prompt") == ({}, 1)


@pytest.mark.parametrize("workers", WORKERS)
def test_items_that_are_repeated_far_apart(workers: int) -> None:
    """The first item of a workflow is repeated at the very end."""
    items = [{"id": number % 19, "intermediate_steps": []} for number in range(20)]
    assert besides(lines_of(*items), workers) == ({"repeated_item_id": 1}, 0)


@pytest.mark.parametrize("workers", WORKERS)
def test_stretches_that_give_nothing(workers: int) -> None:
    """Blocks without candidates: dropped rows, blank lines and repaired text."""
    lost = [rollout(1, number, None, extra="cut \ud83d") for number in range(30)]
    given_lines = [*lines_of(rollout(0, 0, 1.0), rollout(0, 1, 0.0)), b"\n" * 400, *lines_of(*lost)]
    read = {"on_error": "skip"}
    found = all_that_a_run_gives({"r.jsonl": b"".join(given_lines)}, workers, read)
    assert len(found["lines"]) == 1
    summary = json.loads(found["summary"])
    assert summary["rows"] == {"read": 32, "used": 2, "dropped": {"no_score": 30}, "bad": 0}
    assert summary["noticed"] == {"surrogate_replaced": 30}


def words_of_a_run(folder: Path, workers: int, *words: str) -> tuple[int, str, dict[str, bytes]]:
    """The exit code, messages and files of a run."""
    said = StringIO()
    places = ["-o", str(folder / "out.jsonl"), "--summary", str(folder / "summary.json")]
    with redirect_stderr(said):
        code = main(["pair", *words, "--workers", str(workers), *places])
    left = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in set(left) - {"in.jsonl"}:
        (folder / name).unlink()
    return code, said.getvalue(), left


GOOD = lines_of(*[rollout(number // 4, number % 4, float(number % 4)) for number in range(40)])
BAD = [b"{\n", *lines_of(rollout(0, 9, "high")), b"\xff\n", b'"words"\n', b"{}}\n", b"[\n"]


@pytest.mark.parametrize(
    ("words", "code", "left"),
    [
        ([], 1, ["in.jsonl", "summary.json"]),
        (["--on-error=skip"], 0, ["in.jsonl", "out.jsonl", "summary.json"]),
        (["--on-error=skip", "--min-gap=9"], 3, ["in.jsonl", "summary.json"]),
        (["--limit=7", "--on-error=skip"], 0, ["in.jsonl", "out.jsonl", "summary.json"]),
    ],
)
def test_bad_rows_on_the_command_line(
    tmp_path: Path, words: list[str], code: int, left: list[str]
) -> None:
    """Exit code, messages, summary and output are the same, with bad rows in every block."""
    path = tmp_path / "in.jsonl"
    path.write_bytes(
        b"\n".join([b"".join(GOOD[at : at + 8]) + BAD[at // 8] for at in range(0, 40, 8)])
    )
    alone, *others = [words_of_a_run(tmp_path, number, str(path), *words) for number in WORKERS]
    assert others == [alone] * 3
    assert (alone[0], sorted(alone[2])) == (code, left)


@pytest.mark.parametrize("workers", WORKERS)
def test_bad_rows_are_put_aside_with_their_places(tmp_path: Path, workers: int) -> None:
    """Quarantined rows have their line and byte in the file, from any block."""
    path, aside = tmp_path / "in.jsonl", tmp_path / "bad.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"".join([*GOOD[:20], b"\n", BAD[0], *GOOD[20:], BAD[2]]))
    words = ["--on-error=quarantine", f"--quarantine={aside}"]
    code, _, left = words_of_a_run(tmp_path, workers, str(path), *words)
    rows = [json.loads(line) for line in left["bad.jsonl"].splitlines()]
    data = path.read_bytes()
    assert (code, [row["line"] for row in rows]) == (0, [22, 43])
    assert [row["byte"] for row in rows] == [data.index(b"\n{\n") + 1, data.index(b"\xff\n")]


@pytest.mark.parametrize("workers", WORKERS)
def test_standard_input_that_is_a_file(tmp_path: Path, workers: int) -> None:
    """Redirected standard input is read from its current position."""
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"not for us\n" + b"".join(GOOD))
    before = os.dup(0)
    with path.open("rb") as file:
        file.seek(len(b"not for us\n"))
        os.dup2(file.fileno(), 0)
        try:
            code, _, left = words_of_a_run(tmp_path, workers, "-")
        finally:
            os.dup2(before, 0)
            os.close(before)
    rows = [json.loads(line) for line in left["out.jsonl"].splitlines()]
    assert (code, len(rows), rows[9]["chosen_origin"]) == (0, 10, "stdin:40")
