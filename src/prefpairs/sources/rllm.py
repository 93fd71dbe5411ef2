"""rLLM: a file of `episodes/<step>/` is an episode, with the trajectories of its agents.

Each step of a trajectory has the whole conversation so far. Episodes that failed have a reward of
0, and those that met a limit are scored as well.
"""

from collections.abc import Sequence
from typing import Any

from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import (
    RowOutcome,
    Unusable,
    begin_row,
    check_end,
    objects_in,
)
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import Message, read_messages
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]

_ENDS = {
    "env_done": "stop",
    "max_turns_exceeded": "length",
    "max_response_length_exceeded": "length",
    "max_prompt_length_exceeded": "length",
    "timeout": "length",
    "error": "error",
    "unknown": None,
}
"""The reasons for the end of an episode, as finish reasons."""


def looks_like(record: bytes) -> bool:
    """Whether a record is an episode: it has an id, and a list of trajectories."""
    row = decode_object(record)
    return row is not None and "episode_id" in row and isinstance(row.get("trajectories"), list)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the episodes of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    for place, trajectory in enumerate(objects_in(row, "trajectories")):
        try:
            ended = str(row.get("termination_reason") or "unknown")
            check_end(_ENDS.get(ended, ended), options, reading.noticed)
            answer = _answer(row, trajectory, f"trajectories.{place}", reading.noticed)
        except Unusable as loss:
            reading.lost.append(loss.reason)
        else:
            add_candidate(answer, options, label, reading)
    if not reading.kept and not reading.lost:
        reading.row_lost = "failed" if row.get("termination_reason") == "error" else "no_response"
    return reading


def _answer(row: Row, trajectory: Row, field: str, noticed: list[str]) -> Answer:
    messages, spoken = _conversation(trajectory, field)
    first = spoken[0]
    told = (place for place in range(first, spoken[-1]) if messages[place]["role"] == "assistant")
    if not {*spoken}.issuperset(told):
        noticed.append("inserted_turn")
    episode = str(row["episode_id"]) if row.get("episode_id") is not None else ""
    task, _, number = episode.rpartition(":")
    if not (task or row.get("task_hash")):
        raise Unusable("no_task")
    return Answer(
        row={**row, **trajectory},
        prompt=messages[:first],
        response=messages[first:],
        scores=[(f"{field}.reward", 1.0, trajectory.get("reward"))],
        task=[task, row.get("task_hash"), trajectory.get("name")],
        index=int(number) if number.isascii() and number.isdigit() and len(number) < 18 else None,
    )


def _conversation(trajectory: Row, field: str) -> tuple[list[Message], list[int]]:
    """The conversation of the last step, and the places of the turns that the model wrote.

    Unusable if a later step was not asked what the earlier ones led to, because the history was
    shortened or rewritten: then no single prompt leads to what was scored.
    """
    messages: list[Message] = []
    spoken: list[int] = []
    for place, step in enumerate(objects_in(trajectory, "steps")):
        given = step.get("chat_completions") or []
        so_far = read_messages(given, f"{field}.steps.{place}.chat_completions")
        if not so_far or so_far[-1]["role"] != "assistant":
            raise Unusable("turns_unclear")
        if so_far[: len(messages)] != messages or len(so_far) == len(messages):
            raise Unusable("branched")
        messages = so_far
        spoken.append(len(messages) - 1)
    if not spoken:
        raise Unusable("no_response")
    return messages, spoken


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    paths_start_at_row=False,
    advice={"no_score": "--score is_correct uses the verdict on the whole episode"},
)
