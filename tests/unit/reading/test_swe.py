"""Published trajectories that fix issues, and runs of OpenHands and SWE-agent, to candidates."""

import json
from pathlib import Path
from typing import Any

import pytest

from prefpairs.errors import BadField, TwoReadings
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.files.input_paths import find_inputs
from prefpairs.model.message import as_chat
from prefpairs.sources import LAYOUTS, openhands, swe, swe_agent
from prefpairs.sources.detect import source_of

Row = dict[str, Any]
ASKED = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]
SAID = {"role": "assistant", "content": "A"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def _row(**more: Any) -> Row:
    return {"instance_id": "i", "trajectory": [*ASKED, SAID], "resolved": 1, **more}


def _reply(number: str | None = None, **message: Any) -> Row:
    reply: Row = {"choices": [{"message": {**SAID, **message}}]}
    return reply if number is None else {**reply, "id": number}


EVENTS: list[Row] = [
    {"id": 0, "source": "agent", "action": "system", "args": {"content": "S", "tools": [TOOL]}},
    {"id": 1, "source": "user", "action": "message", "args": {"content": "Q"}},
    {"id": 2, "source": "agent", "action": "message", "args": {"content": "A"}},
]


def _run(*events: Row, **more: Any) -> Row:
    row: Row = {"instance_id": "i", "history": [*EVENTS[:2], *(events or EVENTS[2:])]}
    row |= {"metadata": {"agent_class": "C", "llm_config": {"model": "m"}}, "error": None}
    return {**row, "test_result": {"git_patch": "", "report": {"resolved": True}}, **more}


def _traj(*turns: Row, results: Any = None, **more: Any) -> Row:
    given = [*ASKED, *(turns or (SAID,))]
    row: Row = {"history": [{"agent": "main", **turn} for turn in given], "trajectory": [{}]}
    row["replay_config"] = {"problem_statement": {"id": "i"}}
    results = {"resolved_ids": ["i"]} if results is None else results
    return {**row, "info": {"exit_status": "submitted"}, "results.json": results, **more}


def _read(row: Row, source: Any = swe, **options: Any) -> RowOutcome:
    reader = source.open_reader([], ReadOptions(**options), "runs/i.traj")
    outcome: RowOutcome = reader.read(json.dumps(row).encode())
    return outcome


@pytest.mark.parametrize(
    ("row", "source", "name"),
    [
        (_row(), swe, "swe"),
        (_row(trajectory=None, messages=json.dumps([*ASKED, SAID])), swe, "swe"),
        (_run(), openhands, "openhands"),
        (_traj(), swe_agent, "swe-agent"),
    ],
)
def test_a_run_is_a_candidate(row: Row, source: Any, name: str) -> None:
    """The issue is the group."""
    (found,) = _read(row, source).kept
    assert (found.prompt, found.response, found.score) == (ASKED, [SAID], 1)
    assert json.loads(found.group)[0] == "i"
    assert source_of(json.dumps(row).encode()) == name


@pytest.mark.parametrize(
    ("row", "source", "reason"),
    [
        (_row(resolved=-1), swe, "no_score"),
        (_row(resolved=None), swe, "no_score"),
        (_row(exit_status="submitted (exit_cost)"), swe, "incomplete"),
        (_row(exit_status="early_exit"), swe, "incomplete"),
        (_row(exit_status="exit_environment_error"), swe, "failed"),
        (_row(trajectory=ASKED), swe, "no_response"),
        (_row(trajectory=None), swe, "no_response"),
        (_row(instance_id=None), swe, "no_task"),
        (_run(test_result={"git_patch": ""}), openhands, "no_score"),
        (
            _run(test_result={"report": {"resolved": False, "error_eval": True}}),
            openhands,
            "failed",
        ),
        (_run(report={"resolved": 0, "test_timeout": True}, test_result={}), openhands, "failed"),
        (_run(error="lost"), openhands, "failed"),
        (_run({"id": 2, "source": "agent", "action": "condensation"}), openhands, "branched"),
        (_run({"id": 2, "source": "agent", "action": "run"}), openhands, "unsupported_item"),
        (_run({"id": 2, "source": "user", "action": "message"}), openhands, "no_response"),
        (_run(instance_id=None), openhands, "no_task"),
        (_traj(results={}), swe_agent, "no_score"),
        (_traj(results={"error_ids": ["i"]}), swe_agent, "failed"),
        (_traj(info={"exit_status": "exit_cost"}), swe_agent, "incomplete"),
        (_traj(trajectory=[{}, {}, {}]), swe_agent, "branched"),
        (_traj(SAID, {**SAID, "agent": "sub"}), swe_agent, "branched"),
        (_traj({**SAID, "is_demo": True}), swe_agent, "no_response"),
    ],
)
def test_runs_that_are_dropped(row: Row, source: Any, reason: str) -> None:
    """A verdict of 0 may also be a limit or a failure of the infrastructure."""
    reading = _read(row, source)
    assert (reading.kept, reading.lost) == ([], [reason])


@pytest.mark.parametrize(
    ("row", "source", "reason"),
    [
        (_row(exit_status="exit_cost"), swe, "incomplete"),
        (_run(error="lost"), openhands, "failed"),
        (_traj(info={"exit_status": "exit_cost"}), swe_agent, "incomplete"),
    ],
)
def test_keep_rows(row: Row, source: Any, reason: str) -> None:
    """--keep-rows uses runs that are dropped otherwise."""
    assert _read(row, source, keep_rows=frozenset({reason})).kept


@pytest.mark.parametrize(
    ("more", "score"),
    [
        ({"resolved": True}, 1),
        ({"resolved": False}, 0),
        ({"resolved": 1.0}, 1),
        ({"exit_status": "submitted"}, 1),
    ],
)
def test_verdicts(more: Row, score: float) -> None:
    """The column may be of any type that has two values; --score reads it the same way."""
    assert _read(_row(**more)).kept[0].score == score
    assert _read(_row(**more), scores=(("resolved", 1.0),)).kept[0].score == score
    assert _read(_row(resolved=-1), scores=(("resolved", 1.0),)).lost == ["no_score"]


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"reward": 0.5}, ["resolved", "reward"]),
        ({"target": False, "score": 1.0}, ["resolved", "target"]),
    ],
)
def test_another_score_that_differs(more: Row, names: list[str]) -> None:
    """The run stops, with a command for each score; equal scores and missing verdicts are fine."""
    with pytest.raises(TwoReadings) as caught:
        _read(_row(**more), swe)
    assert caught.value.choices == [("--score", name) for name in names]
    last = names[-1]
    assert _read(_row(**more), swe, scores=((last, 1.0),)).kept[0].score == float(more[last])
    assert _read(_row(reward=1.0, target=-1), swe).kept[0].score == 1.0
    assert _read(_row(reward=1.0, resolved=-1), swe).lost == ["no_score"]


def test_rows_of_swe_agent_trajectories() -> None:
    """Their model is called ai, and the text of the system message is in its own field."""
    said = [("system", None, "S"), ("user", "Q", None), ("ai", "A", None)]
    turns = [{"role": role, "text": text, "system_prompt": more} for role, text, more in said]
    row = {"instance_id": "i", "target": False, "trajectory": turns, "model_name": "m"}
    (found,) = _read(row).kept
    assert (found.prompt, found.response, found.score) == (ASKED, [SAID], 0)
    assert json.loads(found.group) == ["i", "m"]
    assert source_of(json.dumps(row).encode()) == "swe"


def test_the_conversation_may_be_named() -> None:
    """Naming the columns of the conversation and the score gives the same result."""
    assert _read(_row(), prompt="trajectory", scores=(("resolved", 1.0),)) == _read(_row())


def test_tools_whose_parameters_are_text() -> None:
    """Parameters may be JSON in a string, as in tables where they differ from row to row."""
    function = {"name": "f", "parameters": '{"type": "object"}'}
    tools = [json.dumps({"type": "function", "function": function})]
    assert _read(_row(tools=tools)).kept[0].tools == [TOOL]


@pytest.mark.parametrize("kind", [None, [], {}, "recall"])
def test_events_of_the_program(kind: Any) -> None:
    """Events that the model neither caused nor saw are not turns."""
    event = {"id": 9, "source": "environment", "observation": kind, "content": "x"}
    (found,) = _read(_run(EVENTS[2], event), openhands).kept
    assert found.response == [SAID]


def test_replies_and_results() -> None:
    """A reply with two calls is two actions; results answer their calls."""
    meta = {"model_response": _reply("r", tool_calls=[CALL, {**CALL, "id": "d"}])}
    events: list[Row] = [
        {"id": 2, "source": "agent", "action": "run",
         "tool_call_metadata": {**meta, "tool_call_id": "c"}},
        {"id": 3, "source": "agent", "action": "run",
         "tool_call_metadata": {**meta, "tool_call_id": "d"}},
        {"id": 4, "source": "agent", "observation": "run", "content": "1", "cause": 2},
        {"id": 5, "source": "environment", "observation": "agent_state_changed", "content": "x"},
        {"id": 6, "source": "agent", "observation": "run", "content": "2", "cause": 3},
        {"id": 7, "source": "agent", "action": "finish", "args": {"final_thought": "A"}},
    ]  # fmt: skip
    (found,) = _read(_run(*events), openhands).kept
    chat = as_chat(found.response, "assistant")
    assert [turn["role"] for turn in chat] == ["assistant", "tool", "tool", "assistant"]
    assert [turn.get("tool_call_id") for turn in chat] == [None, "call_1", "call_2", None]
    assert found.tools == [TOOL]


@pytest.mark.parametrize(
    ("results", "score"),
    [
        ({"resolved_ids": ["i"], "submitted_ids": ["i"]}, 1),
        ({"unresolved_ids": ["i"]}, 0),
        ({"empty_patch_ids": ["i"]}, 0),
        ({"resolved": ["i"], "generated": ["i"]}, 1),
        ({"resolved": ["j"], "generated": ["i"]}, 0),
        ({"i": {"resolved": False}}, 0),
        ({"i": {"resolved": True}}, 1),
    ],
)
def test_results_beside_a_run(results: Row, score: float) -> None:
    """Lists of ids by outcome, or a report for each id."""
    assert _read(_traj(results=results), swe_agent).kept[0].score == score


@pytest.mark.parametrize("failed", ["error_ids", "install_fail", "test_timeout"])
def test_an_evaluation_that_failed_is_no_verdict(failed: str) -> None:
    """Old results list such issues as generated, too."""
    found = _read(_traj(results={"generated": ["i"], "resolved": [], failed: ["i"]}), swe_agent)
    assert (found.kept, found.lost) == ([], ["failed"])


def test_demonstrations_and_the_name_of_a_run() -> None:
    """Demonstrations belong to the prompt; without an ID, the file name identifies the issue."""
    shown = {**SAID, "is_demo": True}
    (found,) = _read(_traj(shown, ASKED[1], SAID, replay_config=None), swe_agent).kept
    assert (len(found.prompt), json.loads(found.group)) == (4, ["i", None])


def test_directories_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run is read with the results.json of its directory; preds.json is skipped."""
    monkeypatch.chdir(tmp_path)
    for name in ("one/i/i.traj", "one/preds.json", "one/results.json", "two/i/i.traj"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(b"{}")
    found = find_inputs(["one", "two/i"], layouts=LAYOUTS)
    assert [given.path for given in found] == ["one/i/i.traj", "two/i/i.traj"]
    beside = ("results.json", "one/i/../results.json")
    assert [given.beside for given in found] == [beside, None]


@pytest.mark.parametrize(
    ("row", "source", "field"),
    [
        (_row(resolved=0.5), swe, "resolved"),
        (_row(resolved="yes"), swe, "resolved"),
        (_row(trajectory=7), swe, "trajectory"),
        (_row(trajectory="no JSON"), swe, "trajectory"),
        (_row(tools=[{"function": {"parameters": "{"}}]), swe, "tools"),
        (_run(test_result={"report": 1}), openhands, "test_result.report"),
        (_run(history=[1]), openhands, "history"),
        (_traj(results=[1]), swe_agent, "results.json"),
    ],
)
def test_rows_of_another_shape_are_bad_rows(row: Row, source: Any, field: str) -> None:
    """The error names the field."""
    with pytest.raises(BadField) as caught:
        _read(row, source)
    assert caught.value.field == field
