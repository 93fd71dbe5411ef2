"""OpenAI-style rows to candidates: one test for each rule."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField, TwoReadings
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.sources.detect import source_of
from prefpairs.sources.openai import open_reader

Row = dict[str, Any]


def _chat(*answers: str, finished: str = "stop", **message: Any) -> Row:
    choices = [
        {"index": place, "message": {"role": "assistant", "content": said, **message}}
        for place, said in enumerate(answers)
    ]
    choices[-1]["finish_reason"] = finished
    return {"object": "chat.completion", "choices": choices}


def _response(said: str, status: str = "completed") -> Row:
    spoken = {"type": "message", "role": "assistant", "content": [_text(said)]}
    return {"object": "response", "status": status, "output": [spoken]}


def _text(said: str) -> Row:
    return {"type": "output_text", "text": said}


def _batch(body: Any, status: int = 200, **more: Any) -> Row:
    outcome = None if body is None else {"status_code": status, "body": body}
    return {"custom_id": "q", "response": outcome, "error": None, **more}


ASKED: Row = {"body": {"messages": [{"role": "user", "content": "Q"}]}}


def _read(row: Row, **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), "in.jsonl").read(json.dumps(row).encode())


def test_what_a_response_repeats_of_its_request() -> None:
    """Its instructions and tools belong to the question, wherever its prompt is."""
    tool = {"type": "function", "name": "f", "parameters": {}}
    for more in ({"instructions": "be X"}, {"tools": [tool]}):
        rows = [
            {"prompt": "Q", "score": 1, "response": {**_response("A"), **asked}}
            for asked in ({}, more)
        ]
        plain, asked = (_read(row).kept[0] for row in rows)
        assert (plain.prompt, plain.tools) != (asked.prompt, asked.tools)
    system = {"role": "system", "content": "be X"}
    repeated = {"prompt": [system, {"role": "user", "content": "Q"}], "score": 1}
    row = {**repeated, "response": {**_response("A"), "instructions": "be X"}}
    assert _read(row).kept[0].prompt == repeated["prompt"]
    alone = {**_response("A"), "instructions": "be X", "tools": [tool], "prompt": "Q", "score": 1}
    (found,) = _read(alone).kept
    assert isinstance(found.prompt, list)
    assert found.prompt[0] == system
    assert found.tools == [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    joined = {**_batch({**_response("A"), "instructions": "be X"}), "score": 1}
    joined["body"] = {"input": "Q", "instructions": "be X"}
    (found,) = _read(joined).kept
    assert found.prompt == [system, {"role": "user", "content": "Q"}]


def test_a_response_that_continues_another() -> None:
    """Whether the prompt holds the earlier turns is for the user to say."""
    response = {**_response("A"), "previous_response_id": "r"}
    row = {"prompt": "Q", "score": 1, "response": response}
    with pytest.raises(TwoReadings) as caught:
        _read(row)
    by = [("--group-by", "response.previous_response_id"), ("--group-by", "prompt")]
    assert caught.value.choices == by
    assert len(_read(row, group_by="prompt").kept) == 1
    found = _read(row, group_by=("response.previous_response_id",)).kept
    assert [one.group for one in found] == ['["r"]']


def test_indexes_that_are_text() -> None:
    """They are compared as numbers."""
    choices = [
        {**choice, "index": str(1 - n)} for n, choice in enumerate(_chat("A", "B")["choices"])
    ]
    row = {"prompt": "Q", "scores": [1, 0], "completion": {**_chat("A"), "choices": choices}}
    with pytest.raises(BadField, match="order of the choices"):
        _read(row)


def _scores(found: RowOutcome) -> list[tuple[Any, float]]:
    return [
        (one.response if isinstance(one.response, str) else one.response[0]["content"], one.score)
        for one in found.kept
    ]


@pytest.mark.parametrize(
    ("row", "source"),
    [
        (_chat("A"), "openai"),
        (_response("A"), "openai"),
        (_batch(_chat("A")), "openai"),
        (_batch(None), "openai"),
        ({"prompt": "Q", "completion": _chat("A"), "score": 1}, "openai"),
        ({"prompt": "Q", "response": _response("A"), "score": 1}, "openai"),
        ({"prompt": "Q", "response": "A", "raw": _chat("A"), "score": 1}, "generic"),
        ({"prompt": "Q", "response": "A", "completion": _chat("B"), "score": 1}, "generic"),
        ({"object": "chat.completion", "choices": "A"}, "generic"),
        ({"custom_id": "q", "prompt": "Q", "response": "A", "score": 1}, "generic"),
        ({"prompt": "Q", "response": "A", "score": 1, "tools": [{"type": "object"}]}, "generic"),
    ],
)
def test_recognised_by_content(row: Row, source: str) -> None:
    """An object of the API is the row, the outcome of a request, or the only answer in it."""
    assert source_of(json.dumps(row).encode()) == source


def test_choices_are_answers() -> None:
    """Scores of choices are a list beside the object; a single choice may have a number."""
    row = {**_batch(_chat("A", "B")), **ASKED, "scores": [1, 0.5]}
    assert _scores(_read(row)) == [("A", 1.0), ("B", 0.5)]
    assert _scores(_read({**_batch(_chat("A")), **ASKED, "reward": 0.5})) == [("A", 0.5)]
    (kept, _) = _read({**_batch(_chat("A", "B", reasoning="hm")), **ASKED, "scores": [1, 0]}).kept
    assert kept.response == [{"role": "assistant", "content": "A", "reasoning_content": "hm"}]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (_batch(None, error={"code": "batch_expired"}), "failed"),
        (_batch({"error": {"message": "x"}}, 400), "failed"),
        (_batch(_chat("A"), 500), "failed"),
        (_batch(_chat("A"), error={"code": "x"}), "failed"),
    ],
)
def test_requests_that_failed(row: Row, reason: str) -> None:
    """The row is dropped as a whole, since nothing says how many answers were wanted."""
    found = _read({**row, **ASKED, "scores": [1]})
    assert (found.kept, found.lost, found.row_lost) == ([], [], reason)


def test_answers_without_prompt_or_score() -> None:
    """All of them are counted."""
    assert _read(_chat("A", "B")).lost == ["no_prompt", "no_prompt"]
    assert _read(_response("A")).lost == ["no_prompt"]
    assert _read({**_batch(_chat("A", "B")), **ASKED}).lost == ["no_score", "no_score"]


@pytest.mark.parametrize(
    ("finished", "reason"), [("length", "incomplete"), ("content_filter", "failed")]
)
def test_answers_that_did_not_end(finished: str, reason: str) -> None:
    """The finish reason is the server's, so it drops an answer unless told otherwise."""
    row = {"prompt": "Q", "completion": _chat("A", "B", finished=finished), "scores": [0, 1]}
    found = _read(row)
    assert (_scores(found), found.lost) == ([("A", 0.0)], [reason])
    assert len(_read(row, keep_rows=frozenset({reason})).kept) == 2


def test_responses() -> None:
    """Items become messages; instructions and tools are part of the question."""
    tools = [{"type": "function", "name": "f", "parameters": {}}]
    body = {"input": "Q", "instructions": "S", "tools": tools}
    (found,) = _read({**_batch(_response("A")), "body": body, "score": 1}).kept
    assert [turn["content"] for turn in found.prompt if isinstance(turn, dict)] == ["S", "Q"]
    assert found.tools == [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    assert found.response == [{"role": "assistant", "content": "A"}]
    cut = {"prompt": "Q", "response": _response("A", "incomplete"), "score": 1}
    assert _read(cut).lost == ["incomplete"]


@pytest.mark.parametrize(
    ("status", "reason"),
    [("failed", "failed"), ("cancelled", "incomplete"), ("in_progress", "incomplete")],
)
def test_responses_that_are_not_complete(status: str, reason: str) -> None:
    """The text of an incomplete response is never used as an answer, whatever its score."""
    row = {"prompt": "Q", "response": _response("A", status), "score": 1}
    assert _read(row).lost == [reason]
    assert _read(row, keep_rows=frozenset({reason})).kept


def test_choices_in_another_order_than_their_indexes() -> None:
    """A list of scores may be in either order, so the row is bad; scores in the choices are not."""
    chat = _chat("A", "B")
    chat["choices"] = [{**one, "grade": one["index"]} for one in reversed(chat["choices"])]
    row = {"prompt": "Q", "completion": chat, "scores": [1, 0]}
    with pytest.raises(BadField) as caught:
        _read(row)
    assert caught.value.field == "completion.choices.0.index"
    named = _read(row, scores=(("completion.choices[].grade", 1.0),))
    assert _scores(named) == [("B", 1.0), ("A", 0.0)]


def test_texts_and_options() -> None:
    """The older completions have texts; paths of options start at the row."""
    choices = [{"text": " A"}, {"text": " B"}]
    row = {"completion": {"object": "text_completion", "choices": choices}, "q": "Q", "s": [1, 0]}
    found = _read(row, prompt="q", scores=(("s[]", 1.0),))
    assert _scores(found) == [(" A", 1.0), (" B", 0.0)]
    only = _read(row, prompt="q", response="completion.choices.0.text", scores=(("s.1", 1.0),))
    assert _scores(only) == [(" A", 0.0)]
