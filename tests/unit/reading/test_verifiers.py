"""Episodes of verifiers 0.4 and of prime-rl to candidates: one test per rule."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.candidate import Candidate
from prefpairs.model.message import as_chat
from prefpairs.sources.detect import source_of
from prefpairs.sources.verifiers import open_reader

Row = dict[str, Any]
REWARDS = {"correct": {"score": 1.0, "weight": 1.0}, "brief": {"score": 1.0, "weight": 0.25}}
TASK = {"type": "T", "data": {"idx": 0}, "key": "k", "hash": "h"}


def _node(role: str, content: Any, parent: int | None = None, **more: Any) -> Row:
    linked = {} if parent is None else {"parent": parent}
    message = {"role": role, "content": content}
    return {"message": message, "sampled": role == "assistant", **linked, **more}


SAID = [_node("system", "S"), _node("user", "Q", 0), _node("assistant", "A", 1)]


def _trace(**more: Any) -> Row:
    agent = {"name": "agent", "trainable": True, "config": {"model": "m"}}
    trace = {"task": TASK, "agent": agent, "nodes": SAID, "calls": [{"finish_reason": "stop"}]}
    return {**trace, "rewards": REWARDS, "metrics": {"words": 3.0}, "ok": True, **more}


def _episode(*traces: Row, **more: Any) -> Row:
    return {"id": "e", "env": {"id": "env"}, "ok": True, "traces": [*traces], **more}


def _read(row: Row, **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), "f.jsonl").read(json.dumps(row).encode())


def _only(row: Row, **options: Any) -> Candidate:
    reading = _read(row, **options)
    assert reading.lost == []
    (candidate,) = reading.kept
    return candidate


def test_a_trace_is_a_candidate() -> None:
    """The prompt ends at the first assistant turn; the score is the weighted sum."""
    found = _only(_episode(_trace()))
    asked = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]
    assert (found.prompt, found.response) == (asked, [{"role": "assistant", "content": "A"}])
    assert (found.score, found.group) == (1.25, '["env","k","agent","m"]')
    assert source_of(json.dumps(_episode(_trace())).encode()) == "verifiers"


def test_what_another_program_calls_traces_is_not_an_episode() -> None:
    """A column named "traces" is not enough."""
    row = b'{"traces": [{"span": 1}], "prompt": "Q", "response": "A", "score": 1}'
    assert source_of(row) == "generic"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"ok": False, "rewards": {}}, "failed"),
        ({"ok": False, "rewards": {"correct": None}}, "failed"),
        ({"ok": False, "stop_condition": "agent_completed"}, "failed"),
        ({"ok": None}, "failed"),
        ({"rewards": {}}, "no_score"),
        ({"rewards": {"correct": None}}, "no_score"),
        ({"rewards": {"correct": {"weight": 1.0}}}, "no_score"),
        ({"rewards": {"correct": {"score": float("nan"), "weight": 1.0}}}, "score_not_finite"),
        ({"stop_condition": "max_turns"}, "incomplete"),
        ({"stop_condition": "context_length"}, "incomplete"),
        ({"stop_condition": "agent_timeout", "is_timeout": True}, "incomplete"),
        ({"stop_condition": "scoring_timeout", "is_timeout": True}, "failed"),
        ({"stop_condition": "finalize_timeout", "is_timeout": True}, "failed"),
        ({"calls": [{"finish_reason": "length"}]}, "incomplete"),
        ({"agent": {"name": "judge", "trainable": False}}, "other_agent"),
        ({"nodes": [*SAID, _node("user", "Q2", 0)]}, "branched"),
        ({"nodes": []}, "no_response"),
        ({"nodes": SAID[:2]}, "no_response"),
        ({"task": {"type": "T"}}, "no_task"),
        ({"task": None}, "no_task"),
    ],
)
def test_traces_that_are_dropped(more: Row, reason: str) -> None:
    """Above all those without a meaningful score: 0 is not the sum of nothing."""
    reading = _read(_episode(_trace(**more)))
    assert (reading.kept, reading.lost) == ([], [reason])


def test_errors_that_a_retry_recovered_from_do_not_matter() -> None:
    """`errors` includes earlier attempts; `ok` is the final result."""
    assert _only(_episode(_trace(errors=[{"type": "ProviderError"}]))).score == 1.25


@pytest.mark.parametrize(("errors", "lost"), [([], []), ([{"type": "E"}], ["failed"])])
def test_without_ok_errors_tell(errors: list[Any], lost: list[str]) -> None:
    """Without `ok`, as in early releases, errors decide."""
    trace = _trace(errors=errors)
    del trace["ok"]
    assert _read(_episode(trace)).lost == lost


def test_an_error_of_the_episode_spoils_its_traces() -> None:
    """A failed episode drops its traces, unless one trace failed by itself."""
    assert _read(_episode(_trace(), _trace(), ok=False)).lost == ["failed", "failed"]
    assert _read(_episode(_trace(), _trace(ok=False), ok=False)).lost == ["failed"]


def test_the_last_call_without_an_error_tells_of_truncation() -> None:
    """An earlier truncated call was retried, so it does not count."""
    calls = [{"finish_reason": "length"}, {"finish_reason": "stop"}, {"error": {"type": "E"}}]
    assert _only(_episode(_trace(calls=calls))).score == 1.25


@pytest.mark.parametrize(
    ("reason", "more"), [("failed", {"ok": False}), ("incomplete", {"stop_condition": "max_turns"})]
)
def test_keep_rows(reason: str, more: Row) -> None:
    """--keep-rows uses dropped traces."""
    found = _only(_episode(_trace(**more)), keep_rows=frozenset({reason}))
    assert found.score == 1.25


def test_the_group_has_the_agent_and_the_task() -> None:
    """Other tasks and agents have other groups; a given group takes precedence over the key."""
    groups = [
        _only(_episode(_trace(**more), **beside)).group
        for more, beside in (
            ({"task": {**TASK, "key": "k2"}}, {}),
            ({"agent": {"name": "solver", "config": {"model": "m"}}}, {}),
            ({"agent": {"name": "agent", "config": {"model": "m2"}}}, {}),
            ({}, {"env": {"id": "env2"}}),
            ({"task": {"hash": "h"}}, {}),
            ({"task": {"data": {"idx": 3}}}, {}),
            ({}, {"group": {"id": "g"}}),
        )
    ]
    assert groups == [
        '["env","k2","agent","m"]',
        '["env","k","solver","m"]',
        '["env","k","agent","m2"]',
        '["env2","k","agent","m"]',
        '["env","h","agent","m"]',
        '["env",3,"agent","m"]',
        '["group","g","agent","m"]',
    ]


def test_best_of_n_is_one_line() -> None:
    """Each trace of an episode is a candidate."""
    reading = _read(_episode(_trace(), _trace(ok=False), _trace(rewards={"a": {"score": 0.5}})))
    assert [candidate.score for candidate in reading.kept] == [1.25, 0.5]
    assert (reading.places, reading.lost) == ([1, 3], ["failed"])


@pytest.mark.parametrize(
    ("path", "score"), [("correct", 1.0), ("words", 3.0), ("rewards.brief.score", 1.0)]
)
def test_score_names_a_reward_or_a_metric(path: str, score: float) -> None:
    """--score accepts a name, or a path in the trace."""
    assert _only(_episode(_trace()), scores=((path, 1.0),)).score == score


def test_turns_that_were_not_sampled_are_the_prompt() -> None:
    """A prompt may contain assistant turns, such as examples."""
    shot = [_node("user", "Q0"), _node("assistant", "A0", 0, sampled=False)]
    nodes = [*shot, _node("user", "Q", 1), _node("assistant", "A", 2)]
    found = _only(_episode(_trace(nodes=nodes)))
    assert [turn["content"] for turn in as_chat(found.prompt, "user")] == ["Q0", "A0", "Q"]


def test_turns_put_into_an_answer_are_noticed() -> None:
    """Turns inserted by the harness give a note."""
    put = _node("assistant", "put in", 2, sampled=False)
    reading = _read(_episode(_trace(nodes=[*SAID, put, _node("assistant", "B", 3)])))
    assert reading.noticed == ["inserted_turn"]
    assert _read(_episode(_trace(nodes=[*SAID, put]))).noticed == []


def test_calls_reasoning_and_tools() -> None:
    """Calls are flat; tools of the root take precedence over those of the last request."""
    call = {"id": "x", "type": "function", "name": "f", "arguments": "{}"}
    said = {"role": "assistant", "reasoning_content": "hm", "tool_calls": [call]}
    nodes = [_node("user", "Q"), {"parent": 0, "message": said, "sampled": True}]
    nodes[0]["tools"] = [{"type": "function", "name": "f", "parameters": {}}]
    found = _only(_episode(_trace(nodes=nodes, tools=[{"name": "g"}])))
    assert found.tools == [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    (turn,) = as_chat(found.response, "assistant")
    assert turn["reasoning_content"] == "hm"
    assert turn["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}


def test_the_step_of_training_is_kept() -> None:
    """The step is kept in meta, since it identifies the policy."""
    row = _episode(_trace(), run={"type": "train", "work": {"step": 7}}, group={"id": "g"})
    assert _only(row).meta == {"step": 7}


@pytest.mark.parametrize("condition", [{"type": "max_turns"}, ["max_turns"], 7])
def test_a_stop_condition_of_another_type_is_no_limit(condition: Any) -> None:
    """An object or a list as stop condition is ignored, though it is not hashable."""
    assert _only(_episode(_trace(stop_condition=condition))).response


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"nodes": [_node("user", "Q", 0)]}, "nodes.0.parent"),
        ({"nodes": [*SAID, _node("user", "Q", 7)]}, "nodes.3.parent"),
        ({"nodes": "x"}, "nodes"),
        ({"calls": [1]}, "calls"),
        ({"rewards": [1.0]}, "rewards"),
        ({"rewards": {"a": 1.0}}, "rewards.a"),
        ({"rewards": {"a": {"score": 1.0, "weight": "1"}}}, "rewards.a.weight"),
    ],
)
def test_traces_of_another_shape_are_bad_rows(more: Row, field: str) -> None:
    """The error names the field."""
    with pytest.raises(BadField) as caught:
        _read(_episode(_trace(**more)))
    assert caught.value.field == field
