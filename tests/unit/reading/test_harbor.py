"""Harbor trials to candidates: one test per rule."""

import json
from pathlib import Path
from typing import Any

import pytest

from prefpairs.errors import BadField, TwoReadings
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.files.input_paths import find_inputs
from prefpairs.model.message import as_chat
from prefpairs.sources import LAYOUTS
from prefpairs.sources.detect import source_of
from prefpairs.sources.harbor import open_reader

Row = dict[str, Any]
ASKED = [{"source": "system", "message": "S"}, {"source": "user", "message": "Q"}]
SAID = {"source": "agent", "message": "A", "llm_call_count": 1}
KEY = "agent/trajectory.json"


def _trial(*steps: Row, rewards: Any = None, of_trajectory: Row | None = None, **more: Any) -> Row:
    agent = {"name": "a", "version": "1", "model_info": {"name": "m"}}
    trial: Row = {"task_name": "t", "task_checksum": "c", "trial_name": "t__1234567"}
    trial |= {"agent_info": agent, "exception_info": None, "step_results": None}
    trial["verifier_result"] = {"rewards": {"reward": 0.5} if rewards is None else rewards}
    trajectory: Row = {"steps": [*ASKED, *(steps or (SAID,))], **(of_trajectory or {})}
    return {**trial, KEY: trajectory, **more}


def _read(row: Row, **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), "result.json").read(json.dumps(row).encode())


def test_a_trial_is_a_candidate() -> None:
    """The group consists of the task with its version, the agent and the model."""
    (found,) = _read(_trial()).kept
    assert [turn["content"] for turn in as_chat(found.prompt, "user")] == ["S", "Q"]
    assert (found.response, found.score) == ([{"role": "assistant", "content": "A"}], 0.5)
    task = ["t", "c", "a", "1", "m", "verifier_result.rewards.reward"]
    assert json.loads(found.group) == task
    assert source_of(json.dumps(_trial()).encode()) == "harbor"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (_trial(exception_info={"exception_type": "AgentTimeoutError"}), "failed"),
        (_trial(verifier_result=None), "no_score"),
        (_trial(rewards={}), "no_score"),
        (_trial(rewards={"reward": None}), "no_score"),
        (_trial(**{KEY: None}), "no_response"),
        (_trial({"source": "user", "message": "Q2"}), "no_response"),
        (_trial({**SAID, "is_copied_context": True}), "no_response"),
        (_trial({**SAID, "llm_call_count": 0}), "no_response"),
        (_trial({**SAID, "message": ""}), "empty_answer"),
        (_trial(of_trajectory={"continued_trajectory_ref": "x.json"}), "branched"),
        (_trial(step_results=[{"rewards": {"reward": 1}}]), "branched"),
    ],
)
def test_trials_that_are_dropped(row: Row, reason: str) -> None:
    """After a timeout the verifier still runs, but its reward is meaningless."""
    reading = _read(row)
    assert (reading.kept, reading.lost) == ([], [reason])


def test_keep_rows() -> None:
    """--keep-rows uses failed trials."""
    failed = _trial(exception_info={"exception_type": "AgentTimeoutError"})
    assert _read(failed, keep_rows=frozenset({"failed"})).kept


def test_several_rewards() -> None:
    """The run stops with an option for each reward."""
    with pytest.raises(TwoReadings) as caught:
        _read(_trial(rewards={"speed": 0.75, "correct": 1}))
    assert caught.value.choices == [("--score", "correct"), ("--score", "speed")]


@pytest.mark.parametrize(
    ("rewards", "score"),
    [
        ({"speed": 0.75, "correct": 1}, 1.075),
        ({"reward": 0.5}, 0.5),
        ({"speed": 0.75}, None),
        ({"reward": 0.5, "speed": 1}, None),
    ],
)
def test_named_rewards(rewards: Row, score: float | None) -> None:
    """A single `reward` is used; a named reward is never replaced by another one."""
    reading = _read(_trial(rewards=rewards), scores=(("correct", 1.0), ("speed", 0.1)))
    assert [found.score for found in reading.kept] == ([] if score is None else [score])
    assert reading.lost == ([] if score is not None else ["no_score"])


@pytest.mark.parametrize(
    "more",
    [
        {"task_name": "u"},
        {"task_checksum": "d"},
        {"agent_info": {"name": "b", "version": "1", "model_info": {"name": "m"}}},
        {"agent_info": {"name": "a", "version": "1", "model_info": {"name": "n"}}},
    ],
)
def test_apart(more: Row) -> None:
    """Other tasks and policies have other groups, even if the text is equal."""
    assert _read(_trial(**more)).kept[0].group != _read(_trial()).kept[0].group


def test_a_model_without_a_provider_is_in_the_configuration() -> None:
    """Older versions of Harbor leave it out of agent_info."""
    who = {"name": "a", "version": "1", "model_info": None}
    trials = [_trial(agent_info=who, config={"agent": {"model_name": name}}) for name in "mn"]
    assert [json.loads(_read(trial).kept[0].group)[4] for trial in trials] == ["m", "n"]


def test_the_only_reward_may_be_one_of_which_less_is_better() -> None:
    """The run stops, with a command for each direction."""
    with pytest.raises(TwoReadings) as caught:
        _read(_trial(rewards={"cost": 3.0}))
    assert caught.value.choices == [("--score", "cost:-1"), ("--score", "cost")]
    (found,) = _read(_trial(rewards={"cost": 3.0}), scores=(("cost", -1.0),)).kept
    assert found.score == -3.0
    with pytest.raises(TwoReadings) as caught:
        _read(_trial(rewards={"cost": 3.0, "right": 1.0}))
    assert caught.value.choices == [("--score", "cost:-1"), ("--score", "right")]
    assert _read(_trial(rewards={"cost": 3.0}), lower_is_better=True).kept[0].score == -3.0


def test_calls_and_observations() -> None:
    """An observation is in its step in the file, but is not the model's text."""
    calls = [{"tool_call_id": "x", "function_name": "bash", "arguments": {"cmd": "ls"}}]
    seen = {"results": [{"source_call_id": "x", "content": "a.txt"}]}
    step: Row = {**SAID, "reasoning_content": "hm", "tool_calls": calls, "observation": seen}
    (found,) = _read(_trial(step, SAID, of_trajectory={"agent": {"tool_definitions": []}})).kept
    call = {"name": "bash", "arguments": '{"cmd":"ls"}'}
    assert found.response == [
        {
            "role": "assistant",
            "content": "A",
            "reasoning_content": "hm",
            "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
        },
        {"role": "tool", "content": "a.txt", "tool_call_id": "call_1"},
        {"role": "assistant", "content": "A"},
    ]
    (found,) = _read(_trial({**SAID, "observation": seen}, SAID)).kept
    assert [turn["role"] for turn in as_chat(found.response, "user")][1] == "user"


def test_copied_context() -> None:
    """At the start it is the prompt; later it gets a note."""
    copied = {**SAID, "is_copied_context": True}
    (found,) = _read(_trial(copied, SAID)).kept
    assert len(found.prompt) == 3
    assert _read(_trial(copied, SAID)).noticed == []
    assert _read(_trial(SAID, copied, SAID)).noticed == ["inserted_turn"]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (_trial({"source": "x"}), "steps.2.source"),
        (_trial({**SAID, "observation": 1}), "steps.2.observation"),
        (_trial(of_trajectory={"steps": 1}), "steps"),
        (_trial(rewards=[1]), "verifier_result.rewards"),
    ],
)
def test_trials_of_another_shape_are_bad_rows(row: Row, field: str) -> None:
    """The error names the field."""
    with pytest.raises(BadField) as caught:
        _read(row)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "word", ["jobs", "jobs/one", "jobs/one/t__1234567", "jobs/one/t__1234567/result.json"]
)
def test_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    """Only result files of trials are read, each with its trajectory."""
    monkeypatch.chdir(tmp_path)
    for name in ("result.json", "config.json", "t__1234567/result.json", "t__1234567/lock.json",
                 "t__1234567/agent/trajectory.json", "u__1234567/config.json"):  # fmt: skip
        path = Path("jobs/one", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}")
    trial = "jobs/one/t__1234567"
    found = find_inputs([word], layouts=LAYOUTS)
    assert [(given.path, given.beside) for given in found] == [
        (f"{trial}/result.json", (KEY, f"{trial}/{KEY}"))
    ]
    Path(trial, KEY).unlink()
    assert [given.beside for given in find_inputs([word], layouts=LAYOUTS)] == [None]
