"""Detects the source of a row."""

import json
from itertools import combinations

import pytest

from prefpairs.engine.inputs.source_choice import named_paths
from prefpairs.fields.field_names import OUTPUTS
from prefpairs.fields.read_options import ReadOptions
from prefpairs.sources import GENERIC, SOURCES, source_named
from prefpairs.sources.detect import SOURCE_COLUMNS, source_of

CANDIDATE = b'{"group":"g","prompt":"Q","response":"A","score":1.0,"index":null,"origin":"f:1"}'
ROLLOUT = b'{"responses_create_params": {"input": "Q"}, "response": {"output": []}, "reward": 1}'
ITEM = b'{"id": 1, "question": "Q", "answer": "A", "score": 1, "intermediate_steps": []}'
STEP = b'{"parent_id": "a", "payload": {"event_type": "TTC_END"}}'
PAYLOAD = b'{"event_type": "TTC_END"}'
TRACE = b'{"turns": [{"role": "user"}], "trace_id": "t"}'
EXPERIENCE = b'{"eid": {}, "prompt_length": 3}'
ROW = b'{"prompt": "Q", "response": "A", "score": 1}'
BOTH = b'{"responses_create_params":{},"group":"g","prompt":"","response":"","score":1,"origin":""}'


@pytest.mark.parametrize(
    ("record", "source"),
    [
        (CANDIDATE, "candidates"),
        (ROLLOUT, "nemo-gym"),
        (b"<PLACEHOLDER ROW>\n", "nemo-gym"),
        (ITEM, "nat"),
        (STEP, "nat"),
        (PAYLOAD, "nat"),
        (TRACE, "traces"),
        (EXPERIENCE, "trinity"),
        (BOTH, "nemo-gym"),
        (ROW, "generic"),
        (b'{"origin": "web", "prompt": "Q"}', "generic"),
        (b'{"eid": 1, "turns": 3, "payload": {}}', "generic"),
        (b'{"responses_create_params": null, "reward": NaN}', "generic"),
        (b'{"responses_create_params": {}, "reward": NaN}', "nemo-gym"),
        (b"{torn", "generic"),
        (b"", "generic"),
    ],
)
def test_source_of(record: bytes, source: str) -> None:
    """The first source that recognizes the record; generic if none does."""
    assert source_of(record) == source


@pytest.mark.parametrize(
    "more", [{"resolved": True}, {"resolved": True, "messages": [], "response": "A"}]
)
def test_rows_of_your_own_about_issues(more: dict[str, object]) -> None:
    """A row with an answer beside its conversation is read by its own names."""
    assert source_of(json.dumps({"instance_id": "i", "prompt": "Q", **more}).encode()) == "generic"


def test_field_of_a_common_name_does_not_make_a_nat_row() -> None:
    """A "trajectory" next to prompt, response and score does not make a NAT row."""
    row = b'{"prompt": "Q", "response": "A", "score": 1, "trajectory": [{"action": "ls"}]}'
    assert source_of(row) == "generic"


VALUES = {
    "responses_create_params": {},
    "origin": "f:1",
    "intermediate_steps": [],
    "trajectory": [{"event_type": "TTC_END"}],
    "payload": {"event_type": "TTC_END"},
    "event_type": "TTC_END",
    "turns": [{"tool_error": 1}],
    "eid": {},
    "traces": [{"nodes": []}],
    "example_id": 1,
    "generation_ms": 7.5,
    "eval": {"task": "t"},
    "epoch": 1,
    "trial_name": "t",
    "rewards": [1.0],
    "input_lengths": [3],
    "env_class": "e",
    "episode_id": "t:0",
    "masks": [],
    "instance_id": "i",
    "test_result": {},
    "history": [{"role": "user", "agent": "main"}],
    "trajectories": [{"reward": 1, "messages": []}],
    "overall_preference": 1,
    "preference_strength": 1,
    "conversation_a": [],
    "comparison": {"prompt_conversation": [], "completion_A": [], "completion_B": []},
    "human_ref_A": "A",
    "num_correct": 1,
    "completions": [{"response": "A", "annotations": {}, "fine-grained_score": 1}],
    "filtered_resps": ["A"],
}


def test_sources_know_rows_by_their_signs() -> None:
    """The check for a source's columns skips no row that the source recognizes."""
    for columns in (*combinations(SOURCE_COLUMNS, 1), *combinations(SOURCE_COLUMNS, 2)):
        record = _record_with(columns)
        knowing = [name for name in SOURCES if source_named(name).looks_like(record)]
        assert knowing[0] == source_of(record) != GENERIC, columns


def _record_with(columns: tuple[str, ...]) -> bytes:
    """A row with these columns and all that sources look for beside them."""
    fields = {"group": "g", "prompt": "Q", "response": "A", "score": 1, "prompt_length": 1}
    fields |= {"completion": "A", "timing": {}, "samples": [], "id": 1, "task": "t", "reward": 1}
    fields |= {"content": [["Q"]], "idx": 0, "input_prompt": "Q", "output_response": "A"}
    fields |= {"tokens": [], "trajectories": [{"reward": 1, "messages": []}]}
    fields |= {"task_name": "t", "verifier_result": None}
    fields |= {"context": "Q", "response1": "A", "response2": "B", "label": "A"}
    fields |= {"response_1": "A", "response_2": "B", "conversation_b": [], "winner": "tie"}
    fields |= {"history": "Q", "human_ref_B": "B", "labels": 1, "chosen": [], "rejected": []}
    fields |= {"instruction": "Q", "doc_id": 0, "doc": {}, "arguments": {}, "resps": [["A"]]}
    fields |= {"input": "Q", "target": "T", "messages": [], "scores": {}, "resolved": 1}
    if "instance_id" in columns:  # such a row has no answer beside its conversation
        fields = {name: value for name, value in fields.items() if name not in OUTPUTS}
    return json.dumps({**fields, **{column: VALUES[column] for column in columns}}).encode()


@pytest.mark.parametrize(
    ("options", "option", "path"),
    [
        (ReadOptions(scores=(("x", 1.0),)), "--score", "x"),
        (ReadOptions(prompt="x"), "--prompt", "x"),
        (ReadOptions(response="x"), "--response", "x"),
        (ReadOptions(context=("x",)), "--context", "x"),
        (ReadOptions(group_by=("x",)), "--group-by", "x"),
        (ReadOptions(keep=("c.0",)), "--keep", "c.0"),
        (ReadOptions(preference="x"), "--preference", "x"),
        (ReadOptions(response_a="x"), "--response-a", "x"),
        (ReadOptions(response_b="x"), "--response-b", "x"),
    ],
)
def test_named_paths(options: ReadOptions, option: str, path: str) -> None:
    """Every path into a row, with the option that names it."""
    assert named_paths(options) == [(option, path)]
