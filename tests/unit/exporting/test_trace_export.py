"""Exports traces to token rows in one file."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import Lines

from prefpairs.chat.hints import hint_of
from prefpairs.chat.model_spans import ChatRenderer
from prefpairs.chat.template import TemplateFacts
from prefpairs.dataset.row_rules import Row
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.errors import BadField, BadRecords, NothingCameOut
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Trace
from prefpairs.plan import InputPlan, Plan, TracePlan
from prefpairs.sources.traces import read_trace
from prefpairs.targets import sdpo
from prefpairs.targets.base import TraceForm, TraceRow
from prefpairs.targets.sdpo import TARGET
from run_plans import run_plan

SOURCE = "{%- for m in messages %}{{- '<' + m.role + '>' + m.content + '</>' }}{%- endfor %}"
SOURCE += "{{- '<assistant>' if add_generation_prompt }}"
OPTIONS = TraceForm(
    encode=lambda text: ([*map(ord, text)], [(at, at + 1) for at in range(len(text))]),
    chat=ChatRenderer(SOURCE, {}),
    facts=TemplateFacts("dict", reasoning=True, system=True),
    hint=partial(hint_of, hints={"gone": "Hint."}),
)
ASKED = {"role": "user", "content": "Q"}
TURNS = [ASKED, {"role": "assistant", "content": "a"}, {"role": "tool", "content": "no"}]
TURNS += [{"role": "assistant", "content": "b", "tool_error": "gone"}]
TRACE = {"trace_id": "t", "final_reward": 0.1 + 0.2, "turns": TURNS}


def _run(
    folder: Path, *rows: Any, traces: TracePlan | None = None, **words: Any
) -> tuple[list[dict[str, Any]], Ledger]:
    path = folder / "t.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    output, ledger = Lines(), Ledger()
    read = InputPlan(inputs=find_inputs([str(path)]), **words)
    plan = Plan(read=read, traces=traces or TracePlan(TARGET, OPTIONS))
    try:
        run_plan(plan, {WHOLE: output}, ledger)
    finally:
        written = [json.loads(line) for line in output.lines]
    return written, ledger


def test_row(tmp_path: Path) -> None:
    """The row has its origin and reward next to the tokens."""
    (row,), ledger = _run(tmp_path, TRACE)
    assert (row["trace_id"], row["reward"], row["origin"]) == ("t", 0.3, "t.jsonl:1")
    text = "".join(map(chr, row["teacher_input_ids"]))
    assert text == "<user>Q</><assistant>a</><tool>no</><system>Hint.</><assistant>b</>"
    assert (ledger.traces, ledger.rows_used, ledger.sources) == (1, 1, [("t.jsonl", "traces")])
    assert (ledger.stages[0].found, ledger.stages[0].kept) == (1, 1)


def test_rewards_that_are_no_numbers(tmp_path: Path) -> None:
    """Written as null and counted; a missing one is only null."""
    rows, ledger = _run(
        tmp_path,
        {**TRACE, "final_reward": math.nan},
        {**TRACE, "final_reward": -math.inf},
        {**TRACE, "final_reward": None},
    )
    assert [row["reward"] for row in rows] == [None] * 3
    assert ledger.noticed == {"reward_not_finite": 2}


def test_rewards_in_quotes() -> None:
    """Quoted rewards are never cast: no hint names --cast-score, which export does not have."""
    record = json.dumps({**TRACE, "final_reward": "0.3"}).encode()
    with pytest.raises(BadField) as caught:
        read_trace(record, None, with_pairs=False)
    assert (caught.value.field, caught.value.expected) == ("final_reward", "a JSON number")


@pytest.mark.parametrize(
    ("score", "reward", "noticed"),
    [("passed", 1.0, 0), ("judge.score", 0.25, 0), ("none", None, 1), (None, 0.3, 0)],
)
def test_rewards_of_another_field(
    tmp_path: Path, score: str | None, reward: float | None, noticed: int
) -> None:
    """The one that is named; rows without it are counted."""
    row = {**TRACE, "passed": True, "judge": {"score": 0.25}}
    (made,), ledger = _run(tmp_path, row, traces=TracePlan(TARGET, replace(OPTIONS, score=score)))
    assert (made["reward"], ledger.noticed["no_score"]) == (reward, noticed)


def test_batches(tmp_path: Path) -> None:
    """Each batch has the requested number of traces, the last one the rest; losses are counted."""
    seen = []

    def batch(rows: Sequence[Row], _form: TraceForm) -> Row:
        seen.append(len(rows))
        return {"ids": [row["trace_id"] for row in rows]}

    def row_of(trace: Trace, form: TraceForm) -> TraceRow:
        return sdpo.row_of(trace, form)._replace(pairs_lost=[*trace.pairs_lost, "sides_equal"])

    target = replace(TARGET, batch=batch, row=row_of, pairs_as="tokens")
    held = {"state_messages": [ASKED], "chosen": "A", "rejected": "B"}
    rows = [{**TRACE, "trace_id": n, "dpo_pairs": [held, {**held, "chosen": "B"}]} for n in "abc"]
    form = replace(OPTIONS, batch_size=2)
    made, ledger = _run(tmp_path, *rows, traces=TracePlan(target, form))
    assert made == [{"ids": ["a", "b"]}, {"ids": ["c"]}]
    assert (seen, ledger.traces) == ([2, 1], 3)
    pairs = ledger.stages[1]
    assert (pairs.name, pairs.found, pairs.dropped) == ("pairs", 6, {"sides_equal": 6})


def test_traces_that_are_no_rows(tmp_path: Path) -> None:
    """Dropped with a reason; the others stay."""
    rows, ledger = _run(tmp_path, {"turns": [ASKED]}, TRACE, {"turns": TURNS[1:]})
    assert len(rows) == 1
    assert ledger.rows_dropped == {"no_response": 1, "prompt_is_answer": 1}
    with pytest.raises(NothingCameOut):
        _run(tmp_path, {"turns": [ASKED]})


def test_rows_that_cannot_be_read(tmp_path: Path) -> None:
    """By default, nothing is written after the first bad row, and the run fails."""
    with pytest.raises(BadRecords):
        _run(tmp_path, {"turns": 1}, TRACE)
    rows, ledger = _run(tmp_path, {"turns": 1}, TRACE, on_error="skip")
    assert (len(rows), ledger.rows_bad) == (1, 1)
    _, ledger = _run(tmp_path, TRACE, TRACE, limit=1)
    assert ledger.rows_read == 1
