"""verifiers from 0.4 on, and prime-rl: a line of `traces.jsonl` is an episode with its traces.

A trace is the conversation of one agent, stored as a tree of messages. It has no reward of its
own: that is the sum of its weighted scores. A trace that crashed has none, which is not 0.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from prefpairs.errors import BadField
from prefpairs.fields.answers_in_row import WeightedScore
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.responses_api import chat_tool
from prefpairs.fields.row_outcome import (
    RowOutcome,
    Unusable,
    begin_row,
    check_end,
    drop_unless_kept,
    objects_in,
)
from prefpairs.model.candidate import read_tools
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import Message, read_message
from prefpairs.model.number import read_score
from prefpairs.model.path import MISSING, look_up
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]

_CUT_OFF = (
    "max_turns",
    "max_input_tokens",
    "max_output_tokens",
    "max_total_tokens",
    "compaction_failed",
    "context_length",
)
"""Why a run stopped before its agent was done. (Not a set: what a row has may have no hash.)"""
_OUT_OF_TIME = "agent_timeout"
"""The same, if there was no time left; other stages that run out of time leave no whole score."""


def looks_like(record: bytes) -> bool:
    """Whether a record is an episode: it has traces, and these have nodes."""
    row = decode_object(record)
    traces = None if row is None else row.get("traces")
    return isinstance(traces, list) and any(
        isinstance(trace, dict) and isinstance(trace.get("nodes"), list) for trace in traces
    )


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the episodes of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    traces = objects_in(row, "traces")
    crashed = row.get("ok") is False and all(trace.get("ok") is True for trace in traces)
    for trace in traces:
        try:
            _check_fit(trace, options, crashed=crashed)
            _check_last_call(trace, options, reading.noticed)
            answer = _answer(row, trace, reading)
        except Unusable as loss:
            reading.lost.append(loss.reason)
        else:
            add_candidate(answer, options, label, reading)
    return reading


def _check_fit(trace: Row, options: ReadOptions, *, crashed: bool) -> None:
    """Raise the first reason why this trace should not be trained on.

    `stop_condition` is no help: if scoring crashed, the agent had completed. `errors` decide only
    if there is no `ok`, since they include those from which a retry recovered. A trace is `ok` as
    well if its agent, or its scoring, ran out of time.
    """
    if look_up(trace, "agent.trainable") is False:
        raise Unusable("other_agent")
    ok = trace.get("ok", not trace.get("errors"))
    ended = trace.get("stop_condition")
    unscored = trace.get("is_timeout") is True and ended != _OUT_OF_TIME
    failed = crashed or ok is not True or unscored
    drop_unless_kept(options, failed=failed, incomplete=ended in (*_CUT_OFF, _OUT_OF_TIME))


def _check_last_call(trace: Row, options: ReadOptions, noticed: list[str]) -> None:
    """Raise if the model's last call did not end by itself, whatever ended the trace."""
    calls = objects_in(trace, "calls")
    reasons = [call.get("finish_reason") for call in calls if not call.get("error")]
    if reasons and reasons[-1] is not None:
        check_end(reasons[-1], options, noticed)


def _answer(row: Row, trace: Row, reading: RowOutcome) -> Answer:
    nodes = _conversation(trace)
    spoken = [place for place, (node, _) in enumerate(nodes) if node.get("sampled") is True]
    first = spoken[0] if spoken else len(nodes)
    messages = [message for _, message in nodes]
    told = {place for place, turn in enumerate(messages) if turn["role"] == "assistant"}
    if any(first < place < max(spoken) for place in told.difference(spoken)):
        reading.noticed.append("inserted_turn")
    if not spoken:
        raise Unusable("no_response")
    step = look_up(row, "run.work.step")
    return Answer(
        row={**_numbers(trace), **trace},
        prompt=messages[:first],
        response=messages[first:],
        scores=_scores(trace),
        task=_task(row, trace),
        tools=_tools(trace, nodes[0][0]),
        meta={"step": step} if isinstance(step, int) else None,
    )


def _conversation(trace: Row) -> list[tuple[Row, Message]]:
    """The nodes from the root to the leaf, each with its message; Unusable with several leaves.

    A trace with several leaves was compacted, or its history was rewritten, so that no single
    prompt leads to all that the score is for.
    """
    nodes = objects_in(trace, "nodes")
    parents = [_parent(node, place) for place, node in enumerate(nodes)]
    leaves = {*range(len(nodes))}.difference(parents)
    if len(leaves) > 1:
        raise Unusable("branched")
    path: list[int] = []
    place = leaves.pop() if leaves else None
    while place is not None:
        path.append(place)
        place = parents[place]
    return [
        (nodes[place], read_message(nodes[place].get("message"), f"nodes.{place}.message"))
        for place in reversed(path)
    ]


def _parent(node: Row, place: int) -> int | None:
    """The number of the node before, which is smaller, so that no path goes round."""
    parent = node.get("parent")
    if parent is None or (type(parent) is int and 0 <= parent < place):
        return parent
    raise BadField(f"nodes.{place}.parent", parent, "the number of an earlier node")


def _scores(trace: Row) -> list[WeightedScore]:
    """The rewards that were given, with their weights; without any, there is no score."""
    given = [
        (f"rewards.{name}.score", _weight(name, reward), reward.get("score"))
        for name, reward in _rewards(trace)
    ]
    return given or [("rewards", 1.0, MISSING)]


def _rewards(trace: Row) -> Iterator[tuple[str, Row]]:
    rewards = trace.get("rewards")
    if not isinstance(rewards, dict):
        raise BadField("rewards", rewards, "an object")
    for name, reward in rewards.items():
        if reward is None:
            continue
        if not isinstance(reward, dict):
            raise BadField(f"rewards.{name}", reward, "a score and its weight")
        yield name, reward


def _weight(name: str, reward: Row) -> float:
    return read_score(reward.get("weight", 1.0), f"rewards.{name}.weight")


def _numbers(trace: Row) -> Row:
    """The scores and metrics of a trace by their names, for --score."""
    metrics = trace.get("metrics")
    scores = {name: reward.get("score") for name, reward in _rewards(trace)}
    return {**(metrics if isinstance(metrics, dict) else {}), **scores}


def _task(row: Row, trace: Row) -> list[Any]:
    """What the rollouts of one task share: its group or its key, and who was to solve it."""
    agent = [look_up(trace, path) for path in ("agent.name", "agent.config.model")]
    names = [None if name is MISSING else name for name in agent]
    group = look_up(row, "group.id")
    if group not in (MISSING, None):
        return ["group", group, *names]
    task = trace.get("task", row.get("task"))
    if not isinstance(task, dict):
        raise Unusable("no_task")
    environment = look_up(row, "env.id")
    key = next((task[name] for name in ("key", "hash") if task.get(name) is not None), None)
    if key is None:
        key = look_up(task, "data.idx")
    if key in (MISSING, None):
        raise Unusable("no_task")
    return [None if environment is MISSING else environment, key, *names]


def _tools(trace: Row, root: Row) -> list[Any] | None:
    """The tools of the conversation; those of the trace are of its last request."""
    given = root["tools"] if root.get("tools") is not None else trace.get("tools")
    tools = read_tools(given, "tools")
    return tools and [chat_tool(tool) for tool in tools]


SOURCE = Source(looks_like=looks_like, open_reader=open_reader, paths_start_at_row=False)
