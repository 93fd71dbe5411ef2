"""Guesses the columns of prompt, response and score."""

from typing import Any

import pytest

from prefpairs.errors import BadField, TwoReadings
from prefpairs.fields import training_logs
from prefpairs.fields.field_names import (
    MANY_OUTPUTS,
    NAMES,
    OUTPUTS,
    USUALLY_REFERENCE,
    VERDICTS,
    VERSIONS,
)
from prefpairs.fields.guess_fields import Fields, _fields_by_value, find_fields
from prefpairs.fields.read_options import ReadOptions

ONE = {"prompt": "Q", "response": "A", "score": 0.0}
MANY = {"question": "Q", "responses": ["A"], "rewards": [0.0]}
CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "Q"}], "reward": 0}
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
    """Each row is read by its own columns."""
    found = _fields(row)
    assert (found.prompt, found.response, found.scores) == (prompt, response, ((score, 1.0),))


@pytest.mark.parametrize(("row", "log"), [(TRL, training_logs.TRL), (VERL, training_logs.VERL)])
def test_logs(row: dict[str, Any], log: training_logs.TrainingLog) -> None:
    """A trainer's log is recognized by its columns, unless fields are named."""
    assert _fields(row).log is log
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
    """Every column of the log is required."""
    row = {name: value for name, value in VERL.items() if name != missing}
    assert _fields(row).log is None


@pytest.mark.parametrize("empty", ["input", "output"])
def test_empty_rows_of_a_log(empty: str) -> None:
    """A row with an empty prompt or answer does not count as a row of a log."""
    assert _fields({**VERL, empty: None}).log is None


ALONE: list[Any] = ["A", "", None, 1, ["A"], [], [{"role": "user", "content": "A"}], {}]


@pytest.mark.parametrize("value", ALONE)
@pytest.mark.parametrize(
    "named", [{}, {"prompt": "x"}, {"response": "x"}, {"scores": (("x", 1.0),)}]
)
def test_names_that_decide_alone(value: Any, named: dict[str, Any]) -> None:
    """If no names compete, values are not checked."""
    options = ReadOptions(**named)
    rows = [{}, *({name: value} for names in NAMES.values() for name in names)]
    rows += [{"prompt": value, "answer": value, "score": value}]
    for row in rows:
        found, whole = find_fields(row, options), _fields_by_value(row, options)
        assert (found.prompt, found.response) == (whole.prompt, whole.response)
        assert found.scores == whole.scores
        there = {fact for fact in found.facts if fact[0] != "has"}
        assert there == {*whole.facts}


def test_all_fields_are_there() -> None:
    """The fields are certain if each of them was found."""
    assert _fields(ONE).sure
    assert not _fields({"prompt": "Q", "score": 1}).sure
    with pytest.raises(TwoReadings):
        _fields({**ONE, "reward": 1})


REFERENCES = ["answer", "answers", "solution", "final_answer", "target", "gold", "ground_truth"]


@pytest.mark.parametrize("reference", REFERENCES)
def test_references_never_win_over_outputs(reference: str) -> None:
    """A reference never replaces an output, in any order."""
    for output in (*OUTPUTS, *MANY_OUTPUTS):
        row = {"question": "Q", reference: "G", output: "A", "score": 1}
        assert _fields(row).response == _fields(dict(reversed(row.items()))).response == output


@pytest.mark.parametrize("rival", USUALLY_REFERENCE)
def test_answer_next_to_a_possible_answer(rival: str) -> None:
    """Either could be the reference, unless they are equal."""
    row = {"question": "Q", "answer": "G", rival: "A", "score": 1}
    with pytest.raises(TwoReadings) as caught:
        _fields(row)
    assert caught.value.choices == [("--response", "answer"), ("--response", rival)]
    assert _fields({**row, "answer": "A"}).response == "answer"
    assert _fields({"question": "Q", rival: "A", "score": 1}).response is None


def test_texts_that_may_be_the_whole_answer_are_offered() -> None:
    """A text from which `answer` and `pred` may have been taken is offered, too."""
    row = {"question": "Q", "code": "It is A.", "answer": "G", "pred": "A", "id": "7", "score": 1}
    with pytest.raises(TwoReadings) as caught:
        _fields(row)
    paths = [path for _, path in caught.value.choices]
    assert paths == ["answer", "pred", "code"]


@pytest.mark.parametrize("quoted", ["0.9", "1e3", "0"])
def test_score_that_is_quoted_is_a_second_reading(quoted: str) -> None:
    """A different numeric string competes with a number; other text does not."""
    row = {**ONE, "reward": 1, "score": quoted}
    with pytest.raises(TwoReadings) as caught:
        _fields(row)
    assert caught.value.choices == [("--score", "reward"), ("--score", "score")]
    for other in ("1", "1.0", "good", "nan", ""):
        assert _fields({**row, "score": other}).scores == (("reward", 1.0),)


@pytest.mark.parametrize("version", VERSIONS)
def test_other_versions_of_the_response(version: str) -> None:
    """A truncated or modified version of the response is ambiguous, since either may be scored."""
    for name in ("response", "prediction", "answer"):
        row = {"question": "Q", name: "A", version: "It is A", "score": 1}
        for one in (row, dict(reversed(row.items()))):
            with pytest.raises(TwoReadings) as caught:
                _fields(one)
            assert caught.value.choices == [("--response", name), ("--response", version)]
        assert _fields({**row, name: "It is A", version: "A\n"}).response == name  # a part of it
        assert _fields({**row, version: None}).response == name
        assert _fields({**row, name: None, "response": "A", version: "A"}).response == "response"
    assert _fields({"question": "Q", version: "A", "score": 1}).response is None


def test_other_versions_of_several_responses() -> None:
    """A copy of one of several responses does not compete with them."""
    row = {"question": "Q", "responses": ["A", "B"], "scores": [1, 0]}
    assert _fields({**row, "final_response": "A"}).response == "responses"
    with pytest.raises(TwoReadings):
        _fields({**row, "final_response": "C"})


TALK = [*CHAT["messages"], {"role": "assistant", "content": "A"}]


def test_talk_that_ends_in_an_answer() -> None:
    """A reference next to it is ignored; a different output is ambiguous."""
    row: dict[str, Any] = {"messages": TALK, "reward": 1}
    for more in ({}, {"answer": "G"}, {"response": "A"}, {"solution": "G"}):
        found = _fields({**row, **more})
        assert (found.prompt, found.response) == ("messages", None)
    with pytest.raises(TwoReadings) as caught:
        _fields({**row, "response": "B"})
    assert caught.value.choices == [("--response", "response"), ("--ignore", "response")]
    with pytest.raises(TwoReadings) as caught:
        _fields({**row, "prompt": "R"})
    assert caught.value.choices == [("--prompt", "messages")]


def test_lists_of_objects() -> None:
    """Text and score are found in the items; a count of samples is ignored."""
    items = [{"text": "A", "reward": 1}, {"text": "B", "reward": 0}]
    found = _fields({"prompt": "Q", "samples": items})
    assert (found.response, found.scores) == ("samples[].text", (("samples[].reward", 1.0),))
    assert _fields({"prompt": "Q", "samples": 8, "answer": "A"}).response == "answer"
    named = _fields({"prompt": "Q", "samples": items}, response="samples[].text")
    assert named.scores == (("samples[].reward", 1.0),)


@pytest.mark.parametrize("key", ["prompt", "system", "custom_system_prompt"])
def test_items_with_questions_of_their_own(key: str) -> None:
    """Items with different prompts do not compete."""
    items = [{"text": "A", "reward": 1, key: "P"}, {"text": "B", "reward": 0, key: "R"}]
    with pytest.raises(TwoReadings) as caught:
        _fields({"prompt": "Q", "samples": items})
    words = ("--response", "samples[].text", "--score", "samples[].reward")
    assert caught.value.choices == [words, *([("--rows", "samples")] if key == "prompt" else [])]
    same = [{**item, key: "Q"} for item in items]
    assert _fields({"prompt": "Q", "samples": same}).response == "samples[].text"


def test_an_object_as_response() -> None:
    """The error names the text fields in the object."""
    row = {"prompt": "Q", "completion": {"choices": [{"message": TALK[1]}]}, "score": 1}
    with pytest.raises(TwoReadings) as caught:
        _fields(row)
    assert caught.value.choices == [("--response", "completion.choices[].message")]


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(name: str) -> None:
    """A verdict is true, false or null; other numbers are rejected unless --score names it."""
    row = {"prompt": "Q", "response": "A"}
    for judged in (True, False, 1, 0, None):
        assert _fields({**row, name: judged}).scores == ((name, 1.0),)
    for odd in (-1, 3, 0.5):
        with pytest.raises(BadField):
            _fields({**row, name: odd})
        assert _fields({**row, name: odd}, scores=((name, 1.0),)).scores == ((name, 1.0),)
        assert _fields({**row, name: odd, "reward": 0.5}).scores == (("reward", 1.0),)
    assert _fields({**row, name: True, "reward": 1}).scores == (("reward", 1.0),)
    with pytest.raises(TwoReadings):
        _fields({**row, name: True, "reward": 0.9})
    assert _fields({**row, name: "B", "reward": 0.9}).scores == (("reward", 1.0),)


@pytest.mark.parametrize("key", ["tools", "functions", "history", "context", "question"])
def test_items_with_a_question_of_their_own(key: str) -> None:
    """Items with their own question compete only on request."""
    items = [{"text": f"A{n}", "reward": n, key: [{"name": f"f{n}"}]} for n in range(2)]
    with pytest.raises(TwoReadings, match=f'"{key}" of its own'):
        find_fields({"prompt": "Q", "samples": items}, ReadOptions())


def test_scores_of_one_answer_in_a_list() -> None:
    """Two numbers that differ are two readings, as they are beside an answer that is no list."""
    row = {"prompt": "Q", "responses": ["A"], "reward": 1, "score": 0}
    with pytest.raises(TwoReadings, match='"reward" and "score", which differ'):
        _fields(row)
    assert _fields({**row, "score": 1}).scores == (("reward", 1.0),)
    assert _fields({**row, "score": [0]}).scores == (("score", 1.0),)


def test_scores_in_the_items_of_a_named_list() -> None:
    """They are found there, and compared with scores beside the list."""
    items = [{"text": "A", "reward": 0}, {"text": "B", "reward": 1}]
    row = {"prompt": "Q", "data": {"samples": items}}
    named = {"response": "data.samples[].text"}
    assert _fields(row, **named).scores == (("data.samples[].reward", 1.0),)
    with pytest.raises(TwoReadings, match=r'"data.samples\[\].reward" and "scores", which differ'):
        _fields({**row, "scores": [1, 0]}, **named)


def test_items_with_another_prompt() -> None:
    """Items that agree with each other, but not with their row, answer another question."""
    items = [{"text": f"A{n}", "reward": n, "prompt": "Q"} for n in range(2)]
    with pytest.raises(TwoReadings, match='"prompt" of its own') as caught:
        find_fields({"prompt": "doc", "samples": items}, ReadOptions())
    outer = ("--response", "samples[].text", "--score", "samples[].reward")
    assert caught.value.choices == [outer, ("--rows", "samples")]
    for same in ("Q", [{"role": "user", "content": "Q"}]):
        found = find_fields({"prompt": same, "samples": items}, ReadOptions())
        assert found.response == "samples[].text"
