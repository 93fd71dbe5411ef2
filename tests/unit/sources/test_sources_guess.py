"""Where prompt, response and score are looked for in a row."""

from typing import Any

import pytest

from prefpairs.errors import TwoReadings
from prefpairs.sources.answer import ReadOptions
from prefpairs.sources.guess import NAMES, Fields, _fields_by_value, find_fields

ONE = {"prompt": "Q", "response": "A", "score": 0.0}
MANY = {"question": "Q", "responses": ["A"], "rewards": [0.0]}
CHAT = {"messages": [{"role": "user", "content": "Q"}], "reward": 0}
VERL = {"input": "Q", "output": "A", "gts": "A", "score": 1, "step": 2}
TRL = {"prompt": "Q", "completion": "A", "advantage": 1, "step": 2, "reward": 1}


def _fields(row: dict[str, Any], **options: Any) -> Fields:
    return find_fields(row, ReadOptions(**options))


@pytest.mark.parametrize(
    ("row", "prompt", "response", "score"),
    [
        (ONE, "prompt", "response", "score"),
        (MANY, "question", "responses", "rewards"),
        (CHAT, "messages", None, "reward"),
        ({**ONE, "answer": "42"}, "prompt", "response", "score"),
        ({**MANY, "score": 7}, "question", "responses", "rewards"),
        ({"instruction": "Q", "input": "R", "output": "A"}, "instruction", "output", "score"),
        ({"input": "R", "output": "A"}, "input", "output", "score"),
        ({}, None, None, "score"),
    ],
)
def test_names(row: dict[str, Any], prompt: str, response: str, score: str) -> None:
    """Each row is read by the names that it has."""
    found = _fields(row)
    assert (found.prompt, found.response, found.scores) == (prompt, response, ((score, 1.0),))


@pytest.mark.parametrize(("row", "log"), [(TRL, "trl"), (VERL, "verl")])
def test_logs(row: dict[str, Any], log: str) -> None:
    """A trainer's log is known by its columns, unless fields are named."""
    assert _fields(row).log == log
    assert _fields(row, scores=(("step", 2.0),)).scores == (("step", 2.0),)
    named: list[dict[str, Any]] = [
        {"prompt": "prompt"},
        {"response": "output"},
        {"context": ("x",)},
    ]
    for options in named:
        sole = {**row, "score": 1, "reward": 1, "input": "Q", "output": "A"}
        assert _fields(sole, **options).log is None


@pytest.mark.parametrize("missing", sorted(VERL))
def test_rows_that_are_no_log(missing: str) -> None:
    """Every column of the log must be there."""
    row = {name: value for name, value in VERL.items() if name != missing}
    assert _fields(row).log is None


@pytest.mark.parametrize("empty", ["input", "output"])
def test_empty_rows_of_a_log(empty: str) -> None:
    """A prompt and an answer must be there, too."""
    assert _fields({**VERL, empty: None}).log is None


ALONE: list[Any] = ["A", "", None, 1, ["A"], [], [{"role": "user", "content": "A"}], {}]


@pytest.mark.parametrize("value", ALONE)
@pytest.mark.parametrize(
    "named", [{}, {"prompt": "x"}, {"response": "x"}, {"scores": (("x", 1.0),)}]
)
def test_names_that_decide_alone(value: Any, named: dict[str, Any]) -> None:
    """Where no name competes with another one, values need not be looked at."""
    options = ReadOptions(**named)
    rows = [{}, *({name: value} for names in NAMES.values() for name in names)]
    rows += [{"prompt": value, "answer": value, "score": value}]
    for row in rows:
        found, whole = find_fields(row, options), _fields_by_value(row, options)
        assert (found.prompt, found.response) == (whole.prompt, whole.response)
        assert found.scores == whole.scores
        there = {fact for fact in found.shown if fact[0] != "has"}
        assert there == {*whole.shown}


def test_all_fields_are_there() -> None:
    """Then no other one is of interest."""
    assert _fields(ONE).sure
    assert not _fields({"prompt": "Q", "score": 1}).sure
    with pytest.raises(TwoReadings):
        _fields({**ONE, "reward": 1})
