"""Episodes of rLLM to candidates: one test per rule."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.sources.detect import source_of
from prefpairs.sources.rllm import open_reader

Row = dict[str, Any]
ASKED = ("system", "S"), ("user", "Q")
SAID = "assistant", "A"


def _step(*turns: tuple[str, str]) -> Row:
    return {"chat_completions": [{"role": role, "content": content} for role, content in turns]}


def _trajectory(*steps: Row, **more: Any) -> Row:
    given = [*(steps or (_step(*ASKED, SAID),))]
    return {"name": "solver", "uid": "u", "reward": 0.5, "steps": given, **more}


def _episode(*trajectories: Row, **more: Any) -> Row:
    episode: Row = {"episode_id": "t:1:3", "task_hash": "h", "is_correct": True}
    episode |= {"termination_reason": "env_done"}
    return {**episode, "trajectories": [*(trajectories or (_trajectory(),))], **more}


def _read(row: Row, **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), "e.json").read(json.dumps(row).encode())


def test_a_trajectory_is_a_candidate() -> None:
    """The group is the task and the agent; the number of the rollout is the index."""
    (found,) = _read(_episode()).kept
    assert [turn["content"] for turn in found.prompt] == ["S", "Q"]  # type: ignore[index]
    assert found.response == [{"role": "assistant", "content": "A"}]
    assert (found.score, found.index, json.loads(found.group)) == (0.5, 3, ["t:1", "h", "solver"])
    assert source_of(json.dumps(_episode()).encode()) == "rllm"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (_episode(termination_reason="error"), "failed"),
        (_episode(termination_reason="max_turns_exceeded"), "incomplete"),
        (_episode(termination_reason="timeout"), "incomplete"),
        (_episode(_trajectory(reward=None)), "no_score"),
        (_episode(_trajectory(steps=[])), "no_response"),
        (_episode(_trajectory(_step(*ASKED))), "turns_unclear"),
        (_episode(_trajectory(_step(*ASKED, SAID), _step(("user", "Q2"), SAID))), "branched"),
        (_episode(_trajectory(_step(*ASKED, SAID), _step(*ASKED, SAID))), "branched"),
        (_episode(episode_id=None, task_hash=None), "no_task"),
    ],
)
def test_trajectories_that_are_dropped(row: Row, reason: str) -> None:
    """The reward of 0 of a failed episode has no meaning, so its trajectories are dropped."""
    reading = _read(row)
    assert (reading.kept, reading.lost) == ([], [reason])


@pytest.mark.parametrize(("reason", "row"), [("failed", "error"), ("no_response", "env_done")])
def test_episodes_without_trajectories(reason: str, row: str) -> None:
    """A row without trajectories is dropped with a reason."""
    assert _read(_episode(trajectories=[], termination_reason=row)).row_lost == reason


@pytest.mark.parametrize(("reason", "ended"), [("failed", "error"), ("incomplete", "timeout")])
def test_keep_rows(reason: str, ended: str) -> None:
    """--keep-rows uses failed and truncated episodes."""
    assert _read(_episode(termination_reason=ended), keep_rows=frozenset({reason})).kept


def test_steps() -> None:
    """Each step has the whole conversation so far; an inserted assistant turn gives a note."""
    second = _step(*ASKED, SAID, ("user", "seen"), ("assistant", "B"))
    (found,) = _read(_episode(_trajectory(_step(*ASKED, SAID), second))).kept
    assert [turn["content"] for turn in found.response] == ["A", "seen", "B"]  # type: ignore[index]
    added = _step(*ASKED, SAID, ("assistant", "put"), ("user", "seen"), ("assistant", "B"))
    assert _read(_episode(_trajectory(_step(*ASKED, SAID), added))).noticed == ["inserted_turn"]


def test_agents_and_tasks_are_apart() -> None:
    """Other agents and tasks have other groups, since a judge's score is not a solver's."""
    rows = [_episode(), _episode(_trajectory(name="judge")), _episode(task_hash="g")]
    assert len({_read(row).kept[0].group for row in [*rows, _episode(episode_id="u:3")]}) == 4


def test_score_of_the_episode() -> None:
    """--score names fields of the trajectory, or of its episode."""
    assert _read(_episode(), scores=(("is_correct", 1.0),)).kept[0].score == 1.0


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (_episode(trajectories=[1]), "trajectories"),
        (_episode(_trajectory(steps=1)), "steps"),
        (_episode(_trajectory({"chat_completions": 1})), "trajectories.0.steps.0.chat_completions"),
    ],
)
def test_episodes_of_another_shape_are_bad_rows(row: Row, field: str) -> None:
    """The error names the field."""
    with pytest.raises(BadField) as caught:
        _read(row)
    assert caught.value.field == field
