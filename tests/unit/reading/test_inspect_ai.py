"""Inspect samples to candidates: one test per rule."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField, NoSuchPath, TwoReadings
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.candidate import Candidate
from prefpairs.model.message import as_chat
from prefpairs.sources.detect import source_of
from prefpairs.sources.inspect_ai import SOURCE, open_reader

Row = dict[str, Any]
KEY = "0123456789abcdef0123456789abcdef"
SAID = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": "Q", "source": "input"},
    {"role": "assistant", "content": "A", "source": "generate"},
]


def _sample(**more: Any) -> Row:
    sample = {"id": 1, "epoch": 2, "input": "Q", "target": "T", "messages": SAID}
    output = {"model": "m", "choices": [{"stop_reason": "stop"}]}
    return {**sample, "output": output, "scores": {"match": {"value": "C"}}, **more}


def _header(**more: Any) -> Row:
    return {"eval": {"task": "t", "task_args": {}, "model": "m", "scorers": [], **more}}


def _read(row: Row, header: Row | None = None, **options: Any) -> RowOutcome:
    given = {"header.json": _header() if header is None else header, **row}
    return open_reader([], ReadOptions(**options), "l.eval").read(json.dumps(given).encode())


def _only(row: Row, header: Row | None = None, **options: Any) -> Candidate:
    reading = _read(row, header, **options)
    assert reading.lost == []
    (candidate,) = reading.kept
    return candidate


def test_a_sample_is_a_candidate() -> None:
    """The epoch is the index; the prompt ends where the model first generates."""
    found = _only(_sample())
    asked = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]
    assert (found.prompt, found.response) == (asked, [{"role": "assistant", "content": "A"}])
    assert (found.score, found.index) == (1.0, 2)
    task, _, *rest = json.loads(found.group)
    assert (task, rest) == ("t", ["m", 1, "match"])


@pytest.mark.parametrize(
    ("row", "source"),
    [
        (_sample(), "inspect-ai"),
        ({"version": 2, **_header()}, "inspect-ai"),
        ({**_header(), "samples": []}, "inspect-ai"),
        ({"eval": {"task": "t"}, "prompt": "Q", "response": "A", "score": 1}, "generic"),
        ({"epoch": 1, "prompt": "Q", "response": "A", "score": 1}, "generic"),
        ({"eval": 1, "prompt": "Q", "response": "A", "score": 1}, "generic"),
    ],
)
def test_recognised(row: Row, source: str) -> None:
    """Columns that other formats share are not enough."""
    assert source_of(json.dumps(row).encode()) == source


def test_a_log_of_one_object() -> None:
    """Each sample of a log is a candidate or dropped."""
    samples = [_sample(), _sample(error={"message": "E"}), _sample(epoch=3)]
    row = {"version": 2, "status": "success", **_header(), "samples": samples}
    reading = open_reader([], ReadOptions(), "l.json").read(json.dumps(row).encode())
    assert [candidate.index for candidate in reading.kept] == [2, 3]
    assert (reading.places, reading.lost) == ([1, 3], ["failed"])
    assert reading.kept[0].group == _only(_sample()).group


@pytest.mark.parametrize("samples", [None, "x"])
def test_a_log_without_samples(samples: Any) -> None:
    """A log without samples is dropped as such."""
    row = {"version": 2, **_header(), "samples": samples}
    reading = open_reader([], ReadOptions(), "l.json").read(json.dumps(row).encode())
    assert (reading.kept, reading.row_lost) == ([], "no_samples")
    assert "no_samples" in SOURCE.advice


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"error": {"message": "sandbox died"}, "scores": {}}, "failed"),
        ({"error": {"message": "sandbox died"}}, "failed"),
        ({"invalidation": {"reason": "leak"}}, "failed"),
        ({"output": {"choices": [{"stop_reason": "content_filter"}]}}, "failed"),
        ({"output": {"choices": [{"stop_reason": "stop"}], "error": "refused"}}, "failed"),
        ({"limit": {"type": "message", "limit": 7}}, "incomplete"),
        ({"output": {"choices": [{"stop_reason": "max_tokens"}]}}, "incomplete"),
        ({"output": {"choices": [{"stop_reason": "model_length"}]}}, "incomplete"),
        ({"scores": {}}, "no_score"),
        ({"scores": None}, "no_score"),
        ({"scores": {"match": {"value": None}}}, "no_score"),
        ({"messages": SAID[:2]}, "no_response"),
        ({"messages": []}, "no_response"),
        ({"messages": [*SAID[:1], {"role": "user", "content": f"attachment://{KEY}"}, SAID[2]]},
         "unsupported_item"),
    ],
)  # fmt: skip
def test_samples_that_are_dropped(more: Row, reason: str) -> None:
    """Samples that hit a limit or failed are dropped, though they have scores."""
    reading = _read(_sample(**more))
    assert (reading.kept, reading.lost) == ([], [reason])


@pytest.mark.parametrize("reason", [["max_tokens"], 7])
def test_a_stop_reason_of_another_type_is_unknown(reason: Any) -> None:
    """A stop reason that is a list, which is not hashable, counts as unknown."""
    assert _read(_sample(output={"choices": [{"stop_reason": reason}]})).lost == ["unknown_end"]


@pytest.mark.parametrize(
    ("reason", "more"),
    [("failed", {"error": {"message": "E"}}), ("incomplete", {"limit": {"t": 1}})],
)
def test_keep_rows(reason: str, more: Row) -> None:
    """--keep-rows uses failed and truncated samples."""
    assert _only(_sample(**more), keep_rows=frozenset({reason})).score == 1.0


@pytest.mark.parametrize(
    ("value", "score"),
    [("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0), (0.25, 0.25), (True, 1.0), (3, 3.0)],
)
def test_grades(value: Any, score: float) -> None:
    """Inspect's own grades are known."""
    assert _only(_sample(scores={"match": {"value": value}})).score == score


@pytest.mark.parametrize("value", ["A", "correct", ["C"]])
def test_other_grades_are_bad_rows(value: Any) -> None:
    """Unknown grades are bad rows, not guesses."""
    with pytest.raises(BadField) as caught:
        _read(_sample(scores={"match": {"value": value}}))
    assert caught.value.field == "scores.match.value"


def test_score_map() -> None:
    """--score-map gives the values of texts, including known grades; all others are bad."""
    grades = (("A", 2.0), ("C", -1.0))
    found = [
        _only(_sample(scores={"match": {"value": value}}), score_map=grades).score
        for value in ("A", "C", 0.5)
    ]
    assert found == [2.0, -1.0, 0.5]
    with pytest.raises(BadField):
        _read(_sample(scores={"match": {"value": "I"}}), score_map=grades)


SEVERAL = {"match": {"value": "I"}, "short": {"value": 0.5}}


@pytest.mark.parametrize(
    ("scores", "header", "names"),
    [
        (SEVERAL, _header(), ["match", "short"]),
        ({"match": {"value": "I"}}, _header(scorers=[{"name": "match"}, {"name": "p/short"}]),
         ["match", "short"]),
        ({}, _header(scorers=[{"name": "match"}, {"name": "short"}]), ["match", "short"]),
        ({"grade": {"value": {"a": 1, "b": 0}}}, _header(scorers=[{"name": "grade"}]),
         ["grade.a", "grade.b"]),
    ],
)  # fmt: skip
def test_several_scorers(scores: Row, header: Row, names: list[str]) -> None:
    """The run stops with an option for each scorer, even if one of them gave no score."""
    with pytest.raises(TwoReadings) as caught:
        _read(_sample(scores=scores), header)
    assert caught.value.choices == [("--score", name) for name in names]


@pytest.mark.parametrize(
    ("path", "score"),
    [("short", 0.5), ("match", 0.0), ("grade.b", 0.25), ("scores.short.value", 0.5),
     ("metadata.m", 7.0)],
)  # fmt: skip
def test_score_names_a_scorer(path: str, score: float) -> None:
    """--score accepts a scorer's name, or any path in the sample."""
    header = _header(scorers=[{"name": "match"}, {"name": "short"}, {"name": "grade"}])
    scores = {**SEVERAL, "grade": {"value": {"a": 1, "b": 0.25}}}
    found = _only(_sample(scores=scores, metadata={"m": 7}), header, scores=((path, 1.0),))
    assert found.score == score


def test_the_only_scorer_may_be_one_of_which_less_is_better() -> None:
    """The run stops, with a command for each direction."""
    sample = _sample(scores={"wer": {"value": 0.25}})
    with pytest.raises(TwoReadings) as caught:
        _read(sample)
    assert caught.value.choices == [("--score", "wer:-1"), ("--score", "wer")]
    assert _only(sample, scores=(("wer", -1.0),)).score == -0.25
    assert _only(sample, lower_is_better=True).score == -0.25


def test_score_names_nothing() -> None:
    """An unknown scorer is an error; a scorer without a score drops the row."""
    header = _header(scorers=[{"name": "match"}, {"name": "short"}])
    with pytest.raises(NoSuchPath):
        _read(_sample(), header, scores=(("mtach", 1.0),))
    assert _read(_sample(), header, scores=(("short", 1.0),)).lost == ["no_score"]


def test_old_logs_list_scorers_with_their_results() -> None:
    """In old logs, the name may be that of one of several values."""
    header = {**_header(), "results": {"scores": [{"name": "a", "scorer": "match"}]}}
    assert _only(_sample(), header).score == 1.0


def test_the_group_has_the_model_the_task_and_the_target() -> None:
    """IDs keep their type; equal inputs may have different targets."""
    groups = [
        _only(_sample(**more), _header(**of_log)).group
        for more, of_log in (
            ({}, {}),
            ({"id": "1"}, {}),
            ({"target": "U"}, {}),
            ({}, {"task": "u"}),
            ({}, {"task_args": {"a": 1}}),
            ({}, {"model": "n"}),
            ({"scores": {"other": {"value": 1}}}, {}),
        )
    ]
    assert len({*groups}) == len(groups)
    assert _only(_sample(), {}).group != groups[0]  # nothing says which task it is
    assert json.loads(_only(_sample(), {}).group)[2] == "m"


def test_examples_in_the_prompt_stay_there() -> None:
    """Assistant messages that were not generated stay in the prompt."""
    shot = [{"role": "user", "content": "Q0"}, {"role": "assistant", "content": "A0"}]
    found = _only(_sample(messages=[*shot, *SAID[1:]]))
    assert [turn["content"] for turn in as_chat(found.prompt, "user")] == ["Q0", "A0", "Q"]


def test_calls_parts_errors_and_attachments() -> None:
    """All of these are converted to chat format."""
    call = {"id": "x", "function": "f", "arguments": {"a": 1}, "type": "function"}
    thought = {"type": "reasoning", "reasoning": "hm"}
    hidden = {"type": "reasoning", "reasoning": "zzz", "redacted": True, "summary": "in short"}
    parts = [thought, hidden, {"type": "text", "text": f"attachment://{KEY}"}]
    said = {"role": "assistant", "content": parts, "source": "generate", "tool_calls": [call]}
    result = {"role": "tool", "content": "", "tool_call_id": "x", "function": "f"}
    failed = {**result, "error": {"type": "timeout", "message": "too slow"}}
    messages = [*SAID[:2], said, failed, SAID[2]]
    found = _only(_sample(messages=messages, attachments={KEY: "long"}))
    assert found.response == [
        {
            "role": "assistant",
            "content": "long",
            "reasoning_content": "hm\nin short",
            "tool_calls": [
                {"id": "call_1", "type": "function",
                 "function": {"name": "f", "arguments": '{"a":1}'}}
            ],
        },
        {"role": "tool", "content": "too slow", "tool_call_id": "call_1", "name": "f"},
        {"role": "assistant", "content": "A"},
    ]  # fmt: skip


def test_tools_are_those_of_the_first_model_call() -> None:
    """Tools are those of the first model call, since later calls may be a grader's."""
    tool: Row = {"name": "f", "description": "d", "parameters": {}, "options": None}
    events = [{"event": "state"}, {"event": "model", "tools": [tool]}, {"event": "model"}]
    found = _only(_sample(events=events))
    function = {"name": "f", "description": "d", "parameters": {}}
    assert found.tools == [{"type": "function", "function": function}]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"messages": "x"}, "messages"),
        ({"scores": [1]}, "scores"),
        ({"scores": {"match": 1}}, "scores.match"),
        ({"epoch": "x"}, "epoch"),
    ],
)
def test_samples_of_another_shape_are_bad_rows(more: Row, field: str) -> None:
    """The error names the field."""
    with pytest.raises(BadField) as caught:
        _read(_sample(**more))
    assert caught.value.field == field
