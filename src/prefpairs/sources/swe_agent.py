"""SWE-agent: a `.traj` file is a run of the agent on one issue.

It has no score. Whether the issue is resolved is in the results of the evaluation, which lie
beside the runs (`results.json`, `report.json`), and name issues by their ids.
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
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import Message, read_message
from prefpairs.model.path import MISSING, look_up
from prefpairs.sources.base import RecordReader, Source
from prefpairs.sources.swe import check_status

Row = dict[str, Any]

_RESULTS = "results.json"
_RESOLVED = ("resolved_ids", "resolved")
_NOT_RESOLVED = ("unresolved_ids", "empty_patch_ids", "no_generation", "generated", "applied")
_ERRORS = ("error_ids", "install_fail", "reset_failed", "test_errored", "test_timeout")
"""The evaluation itself failed, so there is no verdict. Old results have all but the first."""
_OF_RUNS = frozenset({"environment", "trajectory", "history", "info", "replay_config", _RESULTS})
_SUFFIX = ".traj"


def looks_like(record: bytes) -> bool:
    """Whether a record is a run, or a demonstration of one: a history of an agent's turns."""
    row = decode_object(record)
    history = None if row is None else row.get("history")
    if row is None or not isinstance(history, list) or not history:
        return False
    turns = all(isinstance(turn, dict) and turn.keys() >= {"role", "agent"} for turn in history)
    return turns and ("trajectory" in row or row.keys() <= _OF_RUNS)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the run in one file is read."""
    return RecordReader(lambda record: _read(record, options, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    try:
        status = look_up(row, "info.exit_status")
        check_status(None if status is MISSING else status, options)
        add_candidate(_answer(row, label, options), options, label, reading)
    except Unusable as loss:
        reading.lost.append(loss.reason)
    return reading


def _answer(row: Row, label: str, options: ReadOptions) -> Answer:
    issue = _issue(row, label)
    verdict = _verdict(row.get(_RESULTS), issue, options)
    turns = objects_in(row, "history")
    if len({str(turn.get("agent")) for turn in turns}) > 1:
        raise Unusable("branched")
    messages = [_message(turn, f"history.{place}") for place, turn in enumerate(turns)]
    own = [
        place
        for place, turn in enumerate(turns)
        if messages[place]["role"] == "assistant" and not turn.get("is_demo")
    ]
    if not own:
        raise Unusable("no_response")
    if len(own) + 1 < len(objects_in(row, "trajectory")):  # a condenser removed turns
        raise Unusable("branched")
    model = look_up(row, "replay_config.agent.model.name")
    return Answer(
        row={"resolved": verdict} | {key: row[key] for key in row if key != _RESULTS},
        prompt=messages[: own[0]],
        response=messages[own[0] :],
        scores=[("resolved", 1.0, verdict)],
        task=[issue, None if model is MISSING else model],
    )


def _issue(row: Row, label: str) -> str:
    """The id of the issue, which is also the name of the file."""
    given = look_up(row, "replay_config.problem_statement.id")
    if isinstance(given, str):
        return given
    return label.rpartition("/")[2].partition(_SUFFIX)[0]


def _verdict(results: Any, issue: str, options: ReadOptions) -> int | None:
    """1 if the issue was resolved, 0 if not, None if the results do not say.

    Results are lists of ids by outcome, or a report for each id.
    """
    if results is None:
        return None
    if not isinstance(results, dict):
        raise BadField(_RESULTS, results, "an object")
    report = results.get(issue)
    if isinstance(report, dict):
        resolved = report.get("resolved")
        return int(resolved) if isinstance(resolved, bool) else None
    if _lists(results, _ERRORS, issue):
        drop_unless_kept(options, failed=True)
        return None
    if _lists(results, _RESOLVED, issue):
        return 1
    return 0 if _lists(results, _NOT_RESOLVED, issue) else None


def _lists(results: Row, names: Sequence[str], issue: str) -> bool:
    lists = [results.get(name) for name in names]
    return any(isinstance(ids, list) and issue in ids for ids in lists)


def _message(turn: Row, field: str) -> Message:
    given: Row = {key: turn[key] for key in ("role", "content", "tool_calls") if key in turn}
    answered = turn.get("tool_call_ids")
    if isinstance(answered, list) and answered:
        given["tool_call_id"] = answered[0]
    return read_message(given, field)


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    paths_start_at_row=False,
    advice={
        "no_score": "a .traj file has no score; put the results.json of the evaluation "
        "(resolved_ids, unresolved_ids) into the directory of the run",
    },
)
