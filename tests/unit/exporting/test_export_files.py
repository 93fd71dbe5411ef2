"""Exports pairs to the dataset of a trainer."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import Lines, Row, data_of

from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.errors import BadRecords, CannotHold, NothingCameOut
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.plan import ExportPlan, InputPlan, Plan
from prefpairs.targets import target_named
from prefpairs.targets.export_options import ExportOptions
from run_plans import run_plan

THOUGHT = [{"role": "assistant", "content": "yes", "reasoning_content": "hm"}]
TOOLS = [{"type": "function", "function": {"name": "add"}}]
PLAIN: Row = {"prompt": "Q", "chosen": "yes", "rejected": "no"}
ROWS: list[Row] = [
    {**PLAIN, "prompt": "Q1"},
    {**PLAIN, "prompt": "Q2"},
    {**PLAIN, "prompt": "Q3", "tools": TOOLS, "chosen_score": 1, "rejected_score": 0},
    {**PLAIN, "prompt": [{"role": "assistant", "content": "Q4"}]},
    {**PLAIN, "prompt": "Q5", "rejected": "yes"},
]


def _export(
    folder: Path,
    contents: Mapping[str, bytes] | Sequence[Row],
    to: str = "trl",
    *,
    sides: Mapping[str, str] | None = None,
    ledger: Ledger | None = None,
    **more: Any,
) -> dict[str, list[bytes]]:
    """Export files, each to its split; with splits, also the files next to the data."""
    files = contents if isinstance(contents, Mapping) else {"0.jsonl": data_of(contents)}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    inputs = find_inputs([str(folder / name) for name in files])
    target = target_named(to)
    read = {key: more.pop(key) for key in ("on_error", "limit", "dialect") if key in more}
    allow_empty = more.pop("allow_empty", True)
    options = ExportOptions(tool_args=target.tool_args, **more)
    names = list(dict.fromkeys((sides or dict.fromkeys(files, WHOLE)).values()))
    outputs = {name: Lines() for name in [*names, *(target.extra_names if sides else ())]}
    given = [(sides or {}).get(os.path.basename(one.path), WHOLE) for one in inputs]
    plan = Plan(
        read=InputPlan(inputs=inputs, **read),
        sides=dict(zip(inputs, given, strict=True)),
        export=ExportPlan(target=target, options=options, temp_dir=str(folder)),
    )
    before = sorted(os.listdir(folder))
    try:
        run_plan(plan, outputs, ledger or Ledger(), allow_empty=allow_empty)
    finally:
        assert sorted(os.listdir(folder)) == before
    return {name: output.lines for name, output in outputs.items()}


def _rows(lines: Sequence[bytes]) -> list[Row]:
    return [json.loads(line) for line in lines]


def test_rows(tmp_path: Path) -> None:
    """Rows with new columns come first, and all rows have all columns."""
    found = _rows(_export(tmp_path, ROWS)[WHOLE])
    assert [row["prompt"][0]["content"] for row in found] == ["Q1", "Q3", "Q2"]
    assert [row["score_gap"] for row in found] == [None, 1.0, None]
    assert [row["tools"] for row in found] == [
        "[]",
        '[{"type":"function","function":{"name":"add"}}]',
        "[]",
    ]
    assert len({tuple(row) for row in found}) == 1


def test_report(tmp_path: Path) -> None:
    """The ledger has rows, the stage, and the pairs written."""
    ledger = Ledger()
    _export(tmp_path, ROWS, ledger=ledger)
    (stage,) = ledger.stages
    assert (ledger.rows_read, ledger.rows_used, ledger.rows_dropped) == (5, 4, {"sides_equal": 1})
    assert (stage.name, stage.found, stage.kept) == ("export", 4, 3)
    assert (stage.dropped, stage.noticed, stage.notes) == ({"prompt_is_answer": 1}, {}, [])
    assert (ledger.pairs, ledger.gaps.summary()) == (3, {"mean": 1.0, "min": 1.0, "max": 1.0})
    assert ledger.example == ("Q1", "yes", "no")


def test_what_is_noticed(tmp_path: Path) -> None:
    """Notes are counted only for pairs that are written."""
    ledger = Ledger()
    rows = [{**PLAIN, "chosen": THOUGHT}, {**PLAIN, "chosen": THOUGHT, "rejected": "hm"}]
    _export(tmp_path, [*rows, ROWS[0]], ledger=ledger)
    assert ledger.stages[0].noticed == {"reasoning_as_text": 2}
    dropping = Ledger()
    found = _export(tmp_path, [*rows, ROWS[0]], ledger=dropping, lossy="drop")
    assert (len(found[WHOLE]), dropping.stages[0].noticed) == (1, {})
    assert dropping.stages[0].dropped == {"cannot_be_held": 2}


def test_losses_that_are_refused(tmp_path: Path) -> None:
    """With --lossy refuse, the error names the pair, the target and the loss."""
    with pytest.raises(CannotHold) as caught:
        _export(tmp_path, [{**PLAIN, "chosen": THOUGHT, "tools": TOOLS}], "nemo-rl", lossy="refuse")
    assert caught.value.codes == ["reasoning_as_text", "tools_as_text"]


def test_sides(tmp_path: Path) -> None:
    """Each input goes to its split; all splits have the same columns, and the files list both."""
    files = {
        "a.jsonl": data_of(ROWS[:2]),
        "b.jsonl": data_of(ROWS[2:3]),
        "c.jsonl": data_of([{**PLAIN, "prompt": "Q9"}]),
    }
    sides = {"a.jsonl": "train", "b.jsonl": "val", "c.jsonl": "train"}
    found = _export(tmp_path, files, sides=sides)
    assert list(found) == ["train", "val", "README.md", "dpo.sh"]
    train, val = _rows(found["train"]), _rows(found["val"])
    assert [row["prompt"][0]["content"] for row in train] == ["Q1", "Q2", "Q9"]
    assert {tuple(row) for row in train} == {tuple(val[0])}
    assert train[0]["tools"] == "[]"
    card = b"".join(found["README.md"]).decode()
    assert "- train: 3 rows\n- validation: 1 rows\n" in card
    assert "  - name: score_gap\n    dtype: float64\n" in card


def test_target_that_needs_no_types(tmp_path: Path) -> None:
    """For a target without typed columns, rows are written in input order."""
    found = _rows(_export(tmp_path, ROWS, "openai")[WHOLE])
    assert [row["input"]["messages"][0]["content"] for row in found] == ["Q1", "Q2", "Q3"]
    assert ["tools" in row["input"] for row in found] == [False, False, True]


def test_answers_one_by_one(tmp_path: Path) -> None:
    """Each answer once, none with two labels; prompts alternate, and a note has the counts."""
    ledger = Ledger()
    rows = [
        {**PLAIN, "prompt": "Q1"},
        {**PLAIN, "prompt": "Q1", "rejected": "never"},
        {**PLAIN, "prompt": "Q2"},
        {**PLAIN, "prompt": "Q2", "chosen": "no", "rejected": "yes"},
        {**PLAIN, "prompt": "Q3"},
    ]
    found = _rows(_export(tmp_path, rows, "trl-kto", ledger=ledger)[WHOLE])
    answers = [
        (row["prompt"][0]["content"], row["completion"][0]["content"], row["label"])
        for row in found
    ]
    assert sorted(answers) == [
        ("Q1", "never", False),
        ("Q1", "no", False),
        ("Q1", "yes", True),
        ("Q3", "no", False),
        ("Q3", "yes", True),
    ]
    assert len({prompt for prompt, *_ in answers[:2]}) == 2
    (stage,) = ledger.stages
    assert stage.noticed == {"label_contradicted": 4, "answer_repeated": 1}
    assert (ledger.pairs, stage.notes) == (
        5,
        ["10 answers = 5 written + 1 repeated + 4 both chosen and rejected"],
    )


def test_rows_of_other_trainers(tmp_path: Path) -> None:
    """Rows written for one target can be exported to another."""
    for name in ("nemo-rl", "openai", "ms-swift", "llamafactory"):
        lines = _export(tmp_path, ROWS, name)[WHOLE]
        again = _rows(_export(tmp_path, {"x.jsonl": b"".join(lines)}, "trl")[WHOLE])
        assert {row["prompt"][-1]["content"] for row in again} == {"Q1", "Q2", "Q3"}
    (row,) = _rows(
        _export(
            tmp_path,
            [{"messages": [], "prompt": "Q", "chosen": "yes", "rejected": "no"}],
            dialect="trl",
        )[WHOLE]
    )
    assert row["prompt"] == [{"role": "user", "content": "Q"}]


def test_nothing_came_out(tmp_path: Path) -> None:
    """An empty result is an error, unless allowed; then the files next to it are written, too."""
    with pytest.raises(NothingCameOut):
        _export(tmp_path, ROWS[3:], allow_empty=False)
    found = _export(tmp_path, ROWS[3:], sides={"0.jsonl": "train"})
    assert found["train"] == []
    assert b"- train: 0 rows\n" in b"".join(found["README.md"])


@pytest.mark.parametrize("name", ["trl", "trl-kto", "llamafactory"])
def test_bad_row(tmp_path: Path, name: str) -> None:
    """A bad row fails the run, or is skipped without affecting others."""
    torn = {"0.jsonl": data_of(ROWS[:2]) + b"{torn\n" + data_of(ROWS[2:])}
    with pytest.raises(BadRecords):
        _export(tmp_path, torn, name)
    expected = _export(tmp_path, ROWS, name)
    assert _export(tmp_path, torn, name, on_error="skip") == expected


def test_limit(tmp_path: Path) -> None:
    """A limit counts the rows of all inputs."""
    assert len(_export(tmp_path, ROWS, limit=2)[WHOLE]) == 2
