"""Rollouts of verifiers before 0.4 to candidates: one test per rule."""

import json
from typing import Any

import pytest

from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.files.input_file import Input
from prefpairs.model.message import as_chat
from prefpairs.plan import ReadPlan
from prefpairs.sources.detect import source_of
from prefpairs.sources.verifiers_v0 import open_reader

ASKED = [{"role": "user", "content": "Q"}]
SAID = [{"role": "assistant", "content": "A", "tool_calls": None, "reasoning_content": None}]


def _row(**more: Any) -> dict[str, Any]:
    row = {"example_id": 3, "prompt": ASKED, "completion": SAID, "reward": 0.5, "error": None}
    return {**row, "is_completed": True, "is_truncated": False, "correct": 1.0, **more}


def _read(row: dict[str, Any], **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), "f.jsonl").read(json.dumps(row).encode())


def test_a_row_is_a_candidate() -> None:
    """The example is the group."""
    assert source_of(json.dumps(_row()).encode()) == "verifiers-v0"
    (found,) = _read(_row()).kept
    assert (found.prompt, found.response) == (ASKED, [{"role": "assistant", "content": "A"}])
    assert (found.score, found.group) == (0.5, "[3,null]")


def test_example_that_is_called_id() -> None:
    """Version 0.1.5 calls the number of the example `id`; other rows with an id are not its own."""
    row = {"id": 3, "prompt": ASKED, "completion": SAID, "task": "t", "reward": 0.5, "answer": "4"}
    assert source_of(json.dumps(row).encode()) == "generic"
    row["generation_ms"] = 7.5
    assert source_of(json.dumps(row).encode()) == "verifiers-v0"
    groups = [_read({**row, **more}).kept[0].group for more in ({}, {"answer": "5"}, {"id": 4})]
    assert len({*groups}) == len(groups)


def test_text() -> None:
    """Completion environments have text instead of messages."""
    (found,) = _read(_row(prompt="Q", completion="A")).kept
    assert (found.prompt, found.response) == ("Q", "A")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"error": {"error": "ModelError"}}, "failed"),
        ({"error": "ModelError", "completion": []}, "failed"),
        ({"is_truncated": True}, "incomplete"),
        ({"stop_condition": "timeout_reached"}, "incomplete"),
        ({"stop_condition": "max_total_completion_tokens_reached"}, "incomplete"),
        ({"reward": None}, "no_score"),
        ({"completion": []}, "empty_answer"),
        ({"completion": None}, "no_response"),
    ],
)
def test_rollouts_that_are_dropped(more: dict[str, Any], reason: str) -> None:
    """Failed rollouts are dropped, though the rubric gives them a reward."""
    assert _read(_row(**more)).lost == [reason]


@pytest.mark.parametrize(
    ("reason", "more"), [("failed", {"error": "E"}), ("incomplete", {"is_truncated": True})]
)
def test_keep_rows(reason: str, more: dict[str, Any]) -> None:
    """--keep-rows uses dropped rollouts."""
    assert _read(_row(**more), keep_rows=frozenset({reason})).kept


def test_a_rollout_of_one_turn_ends_at_its_limit_of_turns() -> None:
    """A single-turn rollout that ends at its turn limit is complete."""
    assert _read(_row(stop_condition="max_turns_reached")).lost == []


def test_examples_of_one_number_and_other_answers_are_apart() -> None:
    """Example numbers restart in every run, so the answer and the info are part of the group."""
    rows = [_row(answer="4"), _row(answer="5"), _row(example_id=4, answer="4"), _row(task="sums")]
    rows += [_row(info={"env_id": "sums"}), _row(info={"env_id": "games", "seed": 1}), _row()]
    groups = [_read(row).kept[0].group for row in rows]
    assert len({*groups}) == 7
    assert _read(_row(info={"seed": 1, "env_id": "games"})).kept[0].group == groups[5]


def test_calls_as_text_and_flat_tools() -> None:
    """Each call is JSON text; tool definitions have no type."""
    call = '{"id": "x", "name": "f", "arguments": "{\\"a\\": 1}"}'
    tools: list[Any] = [{"name": "f", "description": "d", "parameters": {}, "strict": None}]
    said = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    (found,) = _read(_row(completion=said, tool_defs=tools)).kept
    function = {"name": "f", "description": "d", "parameters": {}}
    assert found.tools == [{"type": "function", "function": function}]
    (turn,) = as_chat(found.response, "assistant")
    assert turn["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}


def test_rows_of_versions_before_stop_conditions() -> None:
    """Their examples are tasks as well: the answer is the reference, and part of the group."""
    row = {"example_id": 3, "prompt": ASKED, "completion": SAID, "task": "t", "reward": 1.0}
    row |= {"generation_ms": 1.0, "scoring_ms": 1.0, "total_ms": 2.0, "answer": "4"}
    assert source_of(json.dumps(row).encode()) == "verifiers-v0"
    groups = {_read({**row, **more}).kept[0].group for more in ({}, {"answer": "5"})}
    assert len(groups) == 2


def test_score_names_a_metric() -> None:
    """Metrics are columns of the row."""
    (found,) = _read(_row(), scores=(("correct", 1.0),)).kept
    assert found.score == 1.0


def test_rows_of_your_own_may_number_their_examples() -> None:
    """Recognized by the framework's own columns, not by example_id."""
    row = b'{"example_id": 1, "prompt": "Q", "completion": "A", "reward": 1}'
    assert source_of(row) == "generic"


@pytest.mark.parametrize(
    ("names", "skipped"),
    [
        (["run/results.jsonl", "run/metadata.json"], ["run/metadata.json"]),
        (["run/metadata.json"], []),
        (["results.jsonl", "run/metadata.json"], []),
        (["./results.jsonl", "metadata.json"], ["metadata.json"]),
        (["s/all/traces.jsonl", "s/effective/traces.jsonl"], ["s/effective/traces.jsonl"]),
        (["s/effective/traces.jsonl"], []),
        (["s/all/traces.jsonl", "t/effective/traces.jsonl"], []),
    ],
)
def test_files_that_hold_none_or_the_same_rollouts_are_skipped(
    names: list[str], skipped: list[str]
) -> None:
    """They are skipped only next to the file of rollouts: a file named alone is read."""
    plan = ReadPlan(inputs=[Input(name, name) for name in names]).as_rollouts(ReadOptions())
    assert [name for name, _ in plan.skipped_files] == skipped
