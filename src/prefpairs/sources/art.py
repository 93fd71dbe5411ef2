"""ART (OpenPipe): a record is a group of trajectories of one task, each with its reward.

In JSON lines, what the model wrote is a choice of a completion; in Parquet, whose rows of a group
are one record, it is a message marked as trainable. A reward is for all turns of the model.
"""

from collections.abc import Sequence
from typing import Any

from prefpairs.errors import BadField
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import (
    RowOutcome,
    Unusable,
    begin_row,
    check_end,
    objects_in,
)
from prefpairs.model.candidate import read_tools
from prefpairs.model.identity import digest
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import Message, read_message
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]


def looks_like(record: bytes) -> bool:
    """Whether a record is a group: its trajectories have conversations and rewards."""
    row = decode_object(record)
    given = None if row is None else row.get("trajectories")
    return isinstance(given, list) and any(
        isinstance(one, dict)
        and "reward" in one
        and ("messages_and_choices" in one or isinstance(one.get("messages"), list))
        for one in given
    )


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the groups of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    task = [digest("group", record.strip()).hex()]
    given = objects_in(row, "trajectories")
    tools, known = _tools(given)
    for place, trajectory in enumerate(given):
        try:
            answer = _answer(trajectory, f"trajectories.{place}", options, reading.noticed)
        except Unusable as loss:
            reading.lost.append(loss.reason)
            continue
        answer = answer._replace(task=task, index=place, tools=tools[place] or known)
        kept = len(reading.kept)
        add_candidate(answer, options, label, reading)
        if known and not tools[place] and len(reading.kept) > kept:
            reading.noticed.append("tools_of_group")
    if not given:
        reading.row_lost = "no_response"
    return reading


def _tools(trajectories: Sequence[Row]) -> tuple[list[list[Any] | None], list[Any] | None]:
    """The tools of each trajectory, and those of the group, if all that name tools agree.

    A program that sets them for some of its trajectories asked all of them the same question.
    """
    tools = [
        read_tools(one.get("tools"), f"trajectories.{place}.tools")
        for place, one in enumerate(trajectories)
    ]
    named = [one for one in tools if one]
    return tools, named[0] if named and all(one == named[0] for one in named) else None


def _answer(trajectory: Row, field: str, options: ReadOptions, noticed: list[str]) -> Answer:
    if trajectory.get("additional_histories"):
        raise Unusable("branched")
    turns = _turns(trajectory, field, options, noticed)
    own = [place for place, (_, trained) in enumerate(turns) if trained]
    if not own:
        raise Unusable("no_response")
    messages = [message for message, _ in turns]
    told = (place for place in range(own[0], own[-1]) if messages[place]["role"] == "assistant")
    if not {*own}.issuperset(told):
        noticed.append("inserted_turn")
    return Answer(
        row=trajectory,
        prompt=messages[: own[0]],
        response=messages[own[0] : own[-1] + 1],
        scores=[(f"{field}.reward", 1.0, trajectory.get("reward"))],
    )


def _turns(
    trajectory: Row, field: str, options: ReadOptions, noticed: list[str]
) -> list[tuple[Message, bool]]:
    """The messages of a trajectory, each with whether it is the model's own and trained on."""
    name = "messages_and_choices" if "messages_and_choices" in trajectory else "messages"
    turns: list[tuple[Message, bool]] = []
    ended: Any = "stop"
    for place, given in enumerate(objects_in(trajectory, name)):
        where = f"{field}.{name}.{place}"
        if "finish_reason" in given and "message" in given:
            turns.append((read_message(given["message"], f"{where}.message"), True))
            ended = given["finish_reason"]
        else:
            turns.append((read_message(given, where), given.get("trainable") is True))
            if given.get("trainable") not in (None, True, False):
                raise BadField(f"{where}.trainable", given["trainable"], "true or false")
    check_end(ended, options, noticed)
    return turns


SOURCE = Source(looks_like=looks_like, open_reader=open_reader, paths_start_at_row=False)
