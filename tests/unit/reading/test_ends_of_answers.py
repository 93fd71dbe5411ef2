"""Formats that say why an answer ended: what their sources do with each reason."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.sources import source_named

Row = dict[str, Any]
ASKED = {"role": "user", "content": "Q"}
SAID = {"role": "assistant", "content": "A"}


def _rllm(reason: Any) -> Row:
    step = {"chat_completions": [ASKED, SAID]}
    trajectory = {"name": "solver", "reward": 0.5, "steps": [step]}
    return {"episode_id": "t:1", "termination_reason": reason, "trajectories": [trajectory]}


def _skyrl(reason: Any) -> Row:
    texts = {"input_prompt": "Q", "output_response": "A"}
    return {**texts, "score": 0.5, "env_class": "e", "stop_reason": reason}


def _inspect(reason: Any) -> Row:
    sample = {
        "id": 1,
        "epoch": 1,
        "target": "T",
        "messages": [ASKED, SAID | {"source": "generate"}],
    }
    output = {"model": "m", "choices": [{"stop_reason": reason}]}
    return {**sample, "input": "Q", "output": output, "scores": {"match": {"value": "C"}}}


def _art(reason: Any) -> Row:
    choice = {"finish_reason": reason, "message": SAID}
    return {"trajectories": [{"reward": 0.5, "messages_and_choices": [ASKED, choice]}]}


def _verifiers(reason: Any) -> Row:
    nodes = [{"message": ASKED}, {"message": SAID, "parent": 0, "sampled": True}]
    trace = {"task": {"key": "k"}, "nodes": nodes, "ok": True, "calls": [{"finish_reason": reason}]}
    return {"traces": [{**trace, "rewards": {"r": {"score": 0.5, "weight": 1.0}}}]}


def _completion(reason: Any) -> Row:
    choice = {"index": 0, "message": SAID, "finish_reason": reason}
    return {"prompt": "Q", "score": 1, "completion": {"object": "chat.completion"} | {
        "choices": [choice]
    }}  # fmt: skip


def _response(status: Any) -> Row:
    spoken = {"type": "message", **SAID, "content": [{"type": "output_text", "text": "A"}]}
    body = {"object": "response", "status": status, "output": [spoken]}
    return {"prompt": "Q", "score": 1, "response": body}


def _trinity(status: Any) -> Row:
    row = {"eid": {"batch": 1, "task": 0, "run": 0}, "prompt_length": 1, "prompt_text": "Q"}
    return {**row, "response_text": "A", "reward": 0.5, "truncate_status": status}


def _read(name: str, row: Row, *keep: str) -> RowOutcome:
    options = ReadOptions(keep_rows=frozenset(keep))
    return source_named(name).open_reader([], options, "in").read(json.dumps(row).encode())


SOURCES = [
    ("rllm", _rllm, "env_done", "max_turns_exceeded", "error"),
    ("skyrl", _skyrl, "stop", "length", "abort"),
    ("inspect-ai", _inspect, "tool_calls", "model_length", "content_filter"),
    ("art", _art, "tool_calls", "length", "content_filter"),
    ("verifiers", _verifiers, "stop", "length", "content_filter"),
    ("openai", _completion, "stop", "length", "content_filter"),
    ("openai", _response, "completed", "in_progress", "failed"),
]


@pytest.mark.parametrize(("name", "row", "done", "cut_off", "failed"), SOURCES)
def test_known_reasons(
    name: str, row: Callable[[Any], Row], done: str, cut_off: str, failed: str
) -> None:
    """An answer that is complete is used; one that is not is dropped, unless it is to be kept."""
    found = _read(name, row(done))
    assert (len(found.kept), found.lost, found.noticed) == (1, [], [])
    for ended, reason in ((cut_off, "incomplete"), (failed, "failed")):
        assert (_read(name, row(ended)).kept, _read(name, row(ended)).lost) == ([], [reason])
        assert len(_read(name, row(ended), reason).kept) == 1


UNKNOWN = [*(source[:2] for source in SOURCES if source[1] is not _completion)]


@pytest.mark.parametrize(("name", "row"), [*UNKNOWN, ("trinity", _trinity)])
def test_a_reason_that_is_unknown(name: str, row: Callable[[Any], Row]) -> None:
    """A newer version may have a new limit: its answers are not taken for complete ones."""
    for reason in ("max_tool_calls", {"type": "new"}) if name != "rllm" else ("max_tool_calls",):
        assert _read(name, row(reason)).lost == ["unknown_end"]
        assert len(_read(name, row(reason), "unknown_end").kept) == 1


def test_a_choice_with_an_unknown_reason() -> None:
    """A choice with an unknown reason is dropped, unless --keep-rows has unknown_end."""
    assert _read("openai", _completion("max_tool_calls")).lost == ["incomplete"]
    assert len(_read("openai", _completion("max_tool_calls"), "unknown_end").kept) == 1


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("rllm", _rllm(None)),
        ("rllm", _rllm("unknown")),
        ("skyrl", _skyrl(None)),
        ("inspect-ai", _inspect("unknown")),
        ("inspect-ai", {**_inspect("stop"), "output": {"choices": []}}),
        ("art", _art(None)),
        ("openai", _completion(None)),
        ("openai", _response(None)),
    ],
)
def test_a_reason_that_is_missing(name: str, row: Row) -> None:
    """An answer without a finish reason is used, with a note."""
    found = _read(name, row)
    assert (len(found.kept), found.noticed) == (1, ["end_not_recorded"])
