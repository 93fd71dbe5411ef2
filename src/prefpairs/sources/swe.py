"""Published trajectories of agents that fix issues: a conversation a row, and whether it did.

Open-SWE-Traces, SWE-rebench and SWE-smith have chat messages under `trajectory` or `messages`;
SWE-agent-trajectories calls the model `ai`. Rollouts of one issue have its `instance_id`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from prefpairs.errors import BadField, NotJson
from prefpairs.fields.answers_in_row import is_number
from prefpairs.fields.choose_field import fields_differ
from prefpairs.fields.field_names import OUTPUTS, SCORES
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row, drop_unless_kept
from prefpairs.model.candidate import read_tools
from prefpairs.model.json_codec import decode, decode_object
from prefpairs.model.message import Message, read_message
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]

_TALKS = ("trajectory", "messages")
_VERDICTS = ("resolved", "target")
_NOT_JUDGED = -1
_DONE = frozenset({"", "submit", "submitted", "submitted_no_patch", "finish", "finished"})
_FAILED = frozenset({"error", "exit_api", "exit_environment_error", "exit_error"})


def looks_like(record: bytes) -> bool:
    """Whether a record is a trajectory: an issue, a conversation and a verdict, no other answer."""
    row = decode_object(record)
    return (
        row is not None
        and isinstance(row.get("instance_id"), str)
        and not row.keys().isdisjoint(_TALKS)
        and not row.keys().isdisjoint(_VERDICTS)
        and row.keys().isdisjoint(OUTPUTS)
    )


def check_status(status: Any, options: ReadOptions) -> None:
    """Raise if a run did not end by itself: the harness submits what there is at a limit, too."""
    if status is None:
        return
    if not isinstance(status, str):
        raise BadField("exit_status", status, "text")
    if status not in _DONE:
        reason = "failed" if status in _FAILED else "incomplete"
        drop_unless_kept(options, **{reason: True})


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the trajectories of one file are read.

    --prompt may name the conversation, as for rows of any kind: its prompt is meant.
    """
    if options.prompt in _TALKS:
        options = replace(options, prompt=None)
    return RecordReader(lambda record: _read(record, options, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    try:
        status = row.get("exit_status")
        check_status(status, options)
        add_candidate(_answer(row, options), options, label, reading)
    except Unusable as loss:
        reading.lost.append(loss.reason)
    return reading


def _answer(row: Row, options: ReadOptions) -> Answer:
    field = next((name for name in _TALKS if row.get(name) is not None), None)
    if field is None:
        raise Unusable("no_response")
    messages = _messages(row[field], field)
    told = [place for place, turn in enumerate(messages) if turn["role"] == "assistant"]
    if not told:
        raise Unusable("no_response")
    if row.get("instance_id") is None:
        raise Unusable("no_task")
    verdicts = {name: _verdict(row[name], name) for name in _VERDICTS if name in row}
    score = next(iter(verdicts), _VERDICTS[0])
    if not options.scores:
        _check_scores({**row, **verdicts}, score)
    model = next((row[name] for name in ("model", "model_name") if row.get(name)), None)
    return Answer(
        row={**row, **verdicts},
        prompt=messages[: told[0]],
        response=messages[told[0] :],
        scores=[(score, 1.0, verdicts.get(score))],
        task=[row["instance_id"], model],
        tools=_tools(row.get("tools")),
    )


def _check_scores(row: Row, score: str) -> None:
    """Raise if a row has another score as well, which differs from its verdict."""
    others = [name for name in (*_VERDICTS, *SCORES) if is_number(row.get(name))]
    differing = [name for name in others if row[name] != row.get(score)]
    if differing and row.get(score) is not None:
        raise fields_differ("score", [score, *differing])


def _messages(talk: Any, field: str) -> list[Message]:
    """The conversation, which may be the text of its JSON."""
    if isinstance(talk, str):
        try:
            talk = decode(talk.encode())
        except (NotJson, UnicodeEncodeError):
            raise BadField(field, talk, "a list of messages") from None
    if not isinstance(talk, list):
        raise BadField(field, talk, "a list of messages")
    return [read_message(_as_chat(turn), f"{field}.{place}") for place, turn in enumerate(talk)]


def _as_chat(turn: Any) -> Any:
    """A turn in the form of SWE-agent-trajectories as a chat message."""
    if not isinstance(turn, dict) or "text" not in turn:
        return turn
    said = turn["text"] if turn["text"] is not None else turn.get("system_prompt")
    role = "assistant" if turn.get("role") == "ai" else turn.get("role")
    return {"role": role, "content": said}


def _verdict(value: Any, name: str) -> int | None:
    """1 if the issue was resolved, 0 if not, None if that is not known (null or -1)."""
    if value is None or (type(value) in (int, float) and value == _NOT_JUDGED):
        return None
    if value in (0, 1) and isinstance(value, (bool, int, float)):
        return int(value)
    raise BadField(name, value, "true, false, 1, 0, or -1 if it was not judged")


def _tools(value: Any) -> list[Any] | None:
    """The tools; their parameters may be the text of a JSON schema."""
    tools = read_tools(value, "tools")
    return tools and [_with_schema(tool) for tool in tools]


def _with_schema(tool: Row) -> Row:
    function = tool.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("parameters"), str):
        return tool
    try:
        schema = decode(function["parameters"].encode())
    except (NotJson, UnicodeEncodeError):
        raise BadField("tools", function["parameters"], "a JSON schema") from None
    return {**tool, "function": {**function, "parameters": schema}}


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    advice={"no_score": "resolved is -1 or null: the trajectories were not evaluated"},
)
