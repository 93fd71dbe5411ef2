"""verifiers before 0.4: a line of `results.jsonl` is one rollout of one example.

The rubric also scores rollouts that failed, and answers that never came, so `reward` means
something only where `error` is null.
"""

from collections.abc import Sequence
from typing import Any

from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.responses_api import chat_tool
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row, drop_unless_kept
from prefpairs.model.candidate import read_text, read_tools
from prefpairs.model.identity import canonical_json, digest
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import Text
from prefpairs.sources.base import RecordReader, Source

_ITS_OWN = frozenset({"is_completed", "stop_condition", "timing", "metrics", "generation_ms"})
_BEFORE_EXAMPLE_ID = frozenset({"id", "task", "reward", "generation_ms"})
"""Columns of versions that call the number of the example `id`."""
_CUT_OFF = ("timeout_reached", "max_total_completion_tokens_reached", "prompt_too_long")
"""Limits that end a rollout, whatever `is_truncated` says. (`max_turns_reached` is no such limit: a
rollout of one turn always ends so.)"""


def looks_like(record: bytes) -> bool:
    """Whether a record is a rollout: an example's prompt and completion, and how the run went."""
    row = decode_object(record)
    if row is None or not row.keys() >= {"prompt", "completion"}:
        return False
    if "example_id" not in row:
        return row.keys() >= _BEFORE_EXAMPLE_ID
    return not _ITS_OWN.isdisjoint(row)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the rollouts of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    try:
        _check_fit(row, options)
        add_candidate(_answer(row), options, label, reading)
    except Unusable as loss:
        reading.lost.append(loss.reason)
    return reading


def _check_fit(row: dict[str, Any], options: ReadOptions) -> None:
    """Raise the first reason why this rollout should not be trained on."""
    cut_off = row.get("is_truncated") is True or row.get("stop_condition") in _CUT_OFF
    drop_unless_kept(options, failed=row.get("error"), incomplete=cut_off)


def _answer(row: dict[str, Any]) -> Answer:
    tools = read_tools(row.get("tool_defs"), "tool_defs")
    return Answer(
        row=row,
        prompt=_text(row, "prompt"),
        response=_text(row, "completion"),
        scores=[("reward", 1.0, row.get("reward"))],
        task=_task(row),
        tools=tools and [chat_tool({"type": "function", **tool}) for tool in tools],
    )


def _text(row: dict[str, Any], field: str) -> Text | None:
    return None if row.get(field) is None else read_text(row[field], field)


def _task(row: dict[str, Any]) -> list[Any]:
    """The example, with its answer and what else only the environment knows of it.

    Numbers of examples begin anew in every run and environment.
    """
    task = [row.get("example_id", row.get("id")), row.get("task")]
    given = [name for name in ("answer", "info") if row.get(name) is not None]
    return task + [digest(name, canonical_json(row[name])).hex() for name in given]


SOURCE = Source(looks_like=looks_like, open_reader=open_reader)
