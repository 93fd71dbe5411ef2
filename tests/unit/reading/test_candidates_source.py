"""Candidates written by an earlier stage."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField, NotJson, TwoReadings
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome, read_candidate
from prefpairs.model.candidate import Candidate, candidate_line
from prefpairs.model.identity import digest_prompt, group_of_prompt
from prefpairs.sources.candidates import looks_like, open_reader

FULL = Candidate(
    group='["math",0]',
    prompt=[{"role": "user", "content": "Q"}],
    response=[{"role": "assistant", "content": "A", "reasoning_content": "hm"}],
    score=0.5,
    index=3,
    origin="r.jsonl:7#2",
    tools=[{"type": "function", "function": {"name": "f"}}],
    tokens={"ids": [1]},
    meta={"model": "m"},
)


def _read(line: bytes, **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), "c.jsonl").read(line)


def _changed(**change: Any) -> bytes:
    return json.dumps({**json.loads(candidate_line(FULL)), **change}).encode()


def test_candidate_comes_back_as_it_was() -> None:
    """Group, index, origin and all other fields are kept."""
    assert _read(candidate_line(FULL)).kept == [FULL]


@pytest.mark.parametrize(
    ("column", "value", "prompt"),
    [
        ("system", "S", [{"role": "system", "content": "S"}, *FULL.prompt]),
        ("context", None, FULL.prompt),
        ("functions", FULL.tools, FULL.prompt),
    ],
)
def test_columns_of_the_question(column: str, value: Any, prompt: Any) -> None:
    """They join the prompt of a candidate, whose group and other fields do not change."""
    line = _changed(**{column: value})
    assert looks_like(line)
    assert _read(line).kept == [FULL._replace(prompt=prompt)]
    assert _read(line, ignore=(column,)).kept == [FULL]


def test_columns_without_a_convention() -> None:
    """The run stops until an option says what the column is."""
    line = _changed(context="C")
    with pytest.raises(TwoReadings):
        _read(line)
    assert _read(line, ignore=("context",)).kept == [FULL]
    asked = [{"role": "user", "content": "C\n\nQ"}]
    assert _read(line, context=("context",)).kept == [FULL._replace(prompt=asked)]


def test_group_of_another_prompt() -> None:
    """A group that was derived from the prompt is derived from the whole prompt."""
    line = _changed(group="prompt:" + "0" * 32, system="S")
    read = _read(line).kept[0]
    assert read.group == group_of_prompt(digest_prompt(read.prompt))


def test_rows_of_others_with_columns_of_the_question() -> None:
    """Rows of other programs with such columns have no origin."""
    assert not looks_like(_changed(origin="gsm8k", system="S"))
    assert not looks_like(_changed(origin=["r.jsonl:7"], system="S"))
    assert looks_like(_changed(origin="gsm8k"))


def test_origin_is_the_first_stages() -> None:
    """The first stage's origin is kept."""
    assert _read(candidate_line(FULL)).kept[0].origin == "r.jsonl:7#2"


def test_options_apply_once_more() -> None:
    """Between stages, reasoning can be dropped and scores negated."""
    read = _read(candidate_line(FULL), reasoning="drop", lower_is_better=True).kept[0]
    assert (read.response, read.score) == ([{"role": "assistant", "content": "A"}], -0.5)


def test_thinking_is_not_split_once_more() -> None:
    """Inline thinking that an earlier stage left in the text stays."""
    text = "<think>hm</think>A"
    assert _read(_changed(response=text)).kept[0].response == text
    assert _read(_changed(response=text), reasoning="drop").kept[0].response == "A"


def test_score_by_path() -> None:
    """A field carried along by --keep can be used as the score."""
    line = _changed(meta={"judge": 7})
    assert _read(line, scores=(("meta.judge", 1.0),)).kept[0].score == 7.0


def test_missing_score() -> None:
    """A row with a null score is dropped, not bad."""
    assert _read(_changed(score=None)).lost == ["no_score"]


def test_missing_score_can_count_as_zero() -> None:
    """--keep-rows no_score counts it as 0, as for other sources."""
    read = _read(_changed(score=None), keep_rows=frozenset({"no_score"}))
    assert (read.kept[0].score, read.lost) == (0.0, [])


def test_score_as_text() -> None:
    """--cast-score reads it, as for other sources."""
    with pytest.raises(BadField, match="score"):
        _read(_changed(score="0.7"))
    assert _read(_changed(score="0.7"), cast_score=True).kept[0].score == 0.7


def test_score_that_is_not_finite() -> None:
    """NaN has a reason of its own."""
    assert _read(_changed(score=float("nan"))).lost == ["score_not_finite"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"prompt": ""}, "no_prompt"),
        ({"response": " "}, "empty_answer"),
        ({"response": []}, "empty_answer"),
    ],
)
def test_unfit(change: dict[str, Any], reason: str) -> None:
    """A field may have been emptied between the stages."""
    assert _read(_changed(**change)).lost == [reason]


@pytest.mark.parametrize("change", [{"group": 1}, {"prompt": None}, {"index": "3"}])
def test_bad_field(change: dict[str, Any]) -> None:
    """A field with a wrong type makes its row bad."""
    with pytest.raises(BadField):
        _read(_changed(**change))


def test_call_ids_are_numbered_anew() -> None:
    """Call IDs of foreign candidates are renumbered."""
    call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    response = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    assert _read(_changed(response=response)).kept[0].response == [
        {"role": "assistant", "content": "", "tool_calls": [{**call, "id": "call_1"}]}
    ]


def test_lone_surrogate_is_replaced() -> None:
    """A lone surrogate becomes U+FFFD."""
    reading = _read(_changed(response="cut \ud83d"))
    assert (reading.kept[0].response, reading.noticed) == ("cut \ufffd", ["surrogate_replaced"])


@pytest.mark.parametrize("line", [b"[1]", b"1", b'"text"'])
def test_row_that_is_no_object(line: bytes) -> None:
    """JSON that is no object is a bad row."""
    with pytest.raises(BadField, match="row"):
        _read(line)


def test_line_that_is_no_json() -> None:
    """A torn line is a bad row."""
    with pytest.raises(NotJson):
        _read(candidate_line(FULL)[:-5])


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (candidate_line(FULL), True),
        (candidate_line(Candidate("g", "Q", "A", 1.0)), True),
        (b'{"group": "g", "prompt": "Q", "response": "A", "score": 1, "origin": ""}', True),
        (b'{"prompt": "Q", "response": "A", "score": 1}', False),
        (b'{"group": "g", "prompt": "Q", "response": "A", "score": 1}', False),
        (b"[]", False),
        (b"{", False),
    ],
)
def test_looks_like(line: bytes, known: bool) -> None:
    """Candidates are recognized by group and origin together."""
    assert looks_like(line) is known


def test_read_back_applies_no_option() -> None:
    """Spooled candidates are read back unchanged, without applying options again."""
    line = candidate_line(FULL._replace(score=-1.0, response="<think>hm</think>A"))
    assert read_candidate(line).kept == [FULL._replace(score=-1.0, response="<think>hm</think>A")]


def test_meta_is_the_same_when_it_is_read_again() -> None:
    """NaN in meta becomes null at once."""
    row = {"group": "g", "prompt": "Q", "response": "A", "score": 1, "origin": ""}
    (candidate,) = _read(json.dumps({**row, "meta": {"a": [float("nan")]}}).encode()).kept
    assert candidate.meta == {"a": [None]}
