"""OpenHands: a line of an evaluation's `output.jsonl` is a run of an agent on one issue.

The conversation is a list of events: what the agent did (actions) and what it saw (observations).
The evaluation adds a report of whether the issue is resolved (`output.swebench_eval.jsonl`).
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
    drop_unless_kept,
    objects_in,
)
from prefpairs.model.candidate import read_tools
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import Message, read_message
from prefpairs.model.path import MISSING, look_up
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]

_SILENT = frozenset({"null", "recall", "change_agent_state", "agent_state_changed"})
"""Events of the program that the model neither caused nor saw."""
_REWRITTEN = frozenset({"condensation", "condense", "delegate"})
_NO_VERDICT = ("error_eval", "test_timeout")


def looks_like(record: bytes) -> bool:
    """Whether a record is a run: an issue, its events, and the result."""
    row = decode_object(record)
    return (
        row is not None
        and row.keys() >= {"instance_id", "history", "test_result"}
        and isinstance(row["history"], list)
    )


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the runs of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    try:
        report = _report(row)
        _check_fit(row, report, options)
        add_candidate(_answer(row, report), options, label, reading)
    except Unusable as loss:
        reading.lost.append(loss.reason)
    return reading


def _check_fit(row: Row, report: Row, options: ReadOptions) -> None:
    """Raise if the run or its evaluation failed, so that the verdict means nothing."""
    failed = row.get("error") or any(report.get(name) is True for name in _NO_VERDICT)
    drop_unless_kept(options, failed=failed)


def _report(row: Row) -> Row:
    """The report of the evaluation; empty if there was none."""
    for path in ("test_result.report", "report"):
        report = look_up(row, path)
        if report not in (MISSING, None):
            if not isinstance(report, dict):
                raise BadField(path, report, "an object")
            return report
    return {}


def _answer(row: Row, report: Row) -> Answer:
    if row.get("instance_id") is None:
        raise Unusable("no_task")
    events = _Events(objects_in(row, "history"))
    own = [place for place, spoken in enumerate(events.spoken) if spoken]
    if not own:
        raise Unusable("no_response")
    who = [look_up(row, f"metadata.{path}") for path in ("agent_class", "llm_config.model")]
    return Answer(
        row={**report, **row},
        prompt=events.messages[: own[0]],
        response=events.messages[own[0] : own[-1] + 1],
        scores=[("test_result.report.resolved", 1.0, report.get("resolved"))],
        task=[row["instance_id"], *(None if name is MISSING else name for name in who)],
        tools=events.tools,
    )


class _Events:
    """The events of a run as messages."""

    def __init__(self, history: Sequence[Row]) -> None:
        self.messages: list[Message] = []
        self.spoken: list[bool] = []
        """Whether the model wrote each message."""
        self.tools: list[Any] | None = None
        self._calls: dict[Any, Any] = {}
        self._last_reply: Any = None
        for place, event in enumerate(history):
            kind = event.get("observation", event.get("action"))
            if not isinstance(kind, str) or kind in _SILENT:
                continue
            if kind in _REWRITTEN:
                raise Unusable("branched")
            if "observation" in event:
                self._see(event, f"history.{place}")
            elif event.get("source") == "user":
                self._add("user", look_up(event, "args.content"), f"history.{place}")
            elif event.get("source") == "agent":
                self._act(kind, event, f"history.{place}")

    def _see(self, event: Row, field: str) -> None:
        """What the agent saw, as the result of its call if it was one."""
        call = look_up(event, "tool_call_metadata.tool_call_id")
        if call is MISSING:
            call = self._calls.get(str(event.get("cause")))
        seen: Row = {"role": "user" if call is None else "tool", "content": event.get("content")}
        if call is not None:
            seen["tool_call_id"] = call
        self.messages.append(read_message(seen, field))
        self.spoken.append(False)

    def _act(self, kind: str, event: Row, field: str) -> None:
        """What the agent did: the model's whole reply, which may be several actions."""
        reply = look_up(event, "tool_call_metadata.model_response.choices.0.message")
        if reply is not MISSING:
            self._calls[str(event.get("id"))] = look_up(event, "tool_call_metadata.tool_call_id")
            number = look_up(event, "tool_call_metadata.model_response.id")
            if number is MISSING or number != self._last_reply:
                self.messages.append(read_message(reply, f"{field}.tool_call_metadata"))
                self.spoken.append(True)
            self._last_reply = None if number is MISSING else number
        elif kind == "system":
            given = look_up(event, "args.tools")
            self.tools = read_tools(None if given is MISSING else given, f"{field}.args.tools")
            self._add("system", look_up(event, "args.content"), field)
        elif kind == "message":
            self._add("assistant", look_up(event, "args.content"), field)
        elif kind == "finish":
            said = (look_up(event, f"args.{name}") for name in ("final_thought", "thought"))
            words = next((text for text in said if isinstance(text, str) and text), None)
            self._add("assistant", words or event.get("message"), field)
        else:  # the log does not say what the model wrote
            raise Unusable("unsupported_item")

    def _add(self, role: str, content: Any, field: str) -> None:
        content = None if content is MISSING else content
        self.messages.append(read_message({"role": role, "content": content}, field))
        self.spoken.append(role == "assistant")


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    paths_start_at_row=False,
    advice={
        "no_score": "output.jsonl has no verdicts; the evaluation writes them to "
        "output.swebench_eval.jsonl",
    },
)
