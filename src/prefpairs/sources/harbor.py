"""Harbor: a trial's directory has its result, with the agent's trajectory (ATIF) next to it.

A trial whose agent crashed or ran out of time may be verified all the same, so its reward counts
only where no exception was recorded. A verifier names its rewards as it likes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from prefpairs.errors import BadField, TwoReadings
from prefpairs.fields.answers_in_row import WeightedScore
from prefpairs.fields.choose_field import check_direction, score_choices
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.responses_api import chat_tool
from prefpairs.fields.row_outcome import (
    RowOutcome,
    Unusable,
    begin_row,
    drop_unless_kept,
    objects_in,
)
from prefpairs.model.candidate import read_tools
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import Message, read_message
from prefpairs.model.path import MISSING, look_up
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]

_TRAJECTORY = "agent/trajectory.json"
_ONLY = "reward"
"""What Harbor itself calls the reward of a verifier that gives just a number."""
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}


def looks_like(record: bytes) -> bool:
    """Whether a record is the result of a trial."""
    row = decode_object(record)
    return row is not None and row.keys() >= {"task_name", "trial_name", "verifier_result"}


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the trials of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    try:
        _check_fit(row, options)
        answer = _answer(row, options, reading.noticed)
    except Unusable as loss:
        reading.lost.append(loss.reason)
    else:
        add_candidate(answer, replace(options, scores=()), label, reading)
    return reading


def _check_fit(row: Row, options: ReadOptions) -> None:
    """Raise if the trial failed: its reward may be that of an agent that ran out of time."""
    drop_unless_kept(options, failed=row.get("exception_info"))


def _answer(row: Row, options: ReadOptions, noticed: list[str]) -> Answer:
    scores = _scores(row, options)
    trajectory = row.get(_TRAJECTORY)
    if not isinstance(trajectory, dict):
        raise Unusable("no_response")
    if trajectory.get("continued_trajectory_ref") or row.get("step_results"):
        raise Unusable("branched")
    turns = [*_turns(trajectory)]
    own = [place for place, (_, sampled) in enumerate(turns) if sampled]
    if not own:
        raise Unusable("no_response")
    messages = [message for message, _ in turns]
    put = [place for place in range(own[0], own[-1]) if messages[place]["role"] == "assistant"]
    if not set(put).issubset(own):
        noticed.append("inserted_turn")
    tools = read_tools(_found(trajectory, "agent.tool_definitions"), "tool_definitions")
    return Answer(
        row={key: row[key] for key in row if key != _TRAJECTORY},
        prompt=messages[: own[0]],
        response=messages[own[0] :],
        scores=scores,
        task=_task(row, scores),
        tools=tools and [chat_tool(tool) for tool in tools],
    )


def _scores(row: Row, options: ReadOptions) -> list[WeightedScore]:
    """The only reward, or those that are named; TwoReadings if there are several.

    Names are for the tasks that have several rewards: where there is just `reward`, it counts.
    """
    rewards = _found(row, "verifier_result.rewards")
    if rewards is not None and not isinstance(rewards, dict):
        raise BadField("verifier_result.rewards", rewards, "an object")
    if not rewards:
        raise Unusable("no_score")
    if options.scores and [*rewards] != [_ONLY]:
        return [
            (path, weight, look_up({**rewards, **row}, path)) for path, weight in options.scores
        ]
    if len(rewards) > 1:
        names = sorted(rewards)
        listed = " and ".join(f'"{name}"' for name in names)
        problem = f"the verifier gives several rewards, {listed}: which of them counts?"
        raise TwoReadings(problem, score_choices(names, options))
    check_direction(next(iter(rewards)), options)
    return [(f"verifier_result.rewards.{name}", 1.0, value) for name, value in rewards.items()]


def _task(row: Row, scores: Sequence[WeightedScore]) -> list[Any]:
    """The task in one version, with the agent and the model that were given it."""
    who = [_found(row, f"agent_info.{path}") for path in ("name", "version", "model_info.name")]
    if who[-1] is None:  # older versions know the model only with its provider
        who[-1] = _found(row, "config.agent.model_name")
    return [row.get("task_name"), row.get("task_checksum"), *who, *(path for path, *_ in scores)]


def _turns(trajectory: Row) -> Iterator[tuple[Message, bool]]:
    """The messages of a trajectory, each with whether the model wrote it in this trial.

    The environment's answer is in the agent's own step, and follows it here.
    """
    for place, step in enumerate(objects_in(trajectory, "steps")):
        field = f"steps.{place}"
        role = _ROLES.get(str(step.get("source")))
        if role is None:
            raise BadField(f"{field}.source", step.get("source"), "system, user or agent")
        calls = [
            {
                "id": call.get("tool_call_id"),
                "name": call.get("function_name"),
                "arguments": call.get("arguments"),
            }
            for call in objects_in(step, "tool_calls")
        ]
        said = {"role": role, "content": step.get("message")}
        said |= {"reasoning_content": step.get("reasoning_content"), "tool_calls": calls}
        copied = step.get("is_copied_context") or step.get("llm_call_count") == 0
        yield read_message(said, field), role == "assistant" and not copied
        observation = step.get("observation")
        if observation is None:
            continue
        if not isinstance(observation, dict):
            raise BadField(f"{field}.observation", observation, "an object")
        for result in objects_in(observation, "results"):
            seen: Row = {"role": "tool" if calls else "user", "content": result.get("content")}
            if calls and result.get("source_call_id") is not None:
                seen["tool_call_id"] = result["source_call_id"]
            yield read_message(seen, f"{field}.observation"), False


def _found(row: Row, path: str) -> Any:
    """The value at a path; None if there is none."""
    value = look_up(row, path)
    return None if value is MISSING else value


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    paths_start_at_row=False,
    advice={
        "no_response": "the agent wrote no agent/trajectory.json beside the trial's result.json; "
        "name the directory of the job, or use an agent that supports ATIF",
    },
)
