"""Columns next to the prompt that are part of the question."""

import json
from contextlib import suppress
from itertools import product
from typing import Any

import pytest

from prefpairs.errors import BadField, BadRecord, TwoReadings
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.candidate import Candidate
from prefpairs.model.message import as_chat
from prefpairs.model.question_columns import (
    COLUMNS,
    HISTORY,
    MEDIA,
    TOOLS,
    UNCERTAIN,
    holds_something,
)
from prefpairs.model.question_columns import SYSTEM as SYSTEM_COLUMNS
from prefpairs.sources.generic import read_any_shape

ROW = {"prompt": "Q", "response": "A", "score": 1}
ALPACA = {"instruction": "Q", "output": "A", "score": 1}
ASKED = [{"role": "user", "content": "Q"}]
SYSTEM = {"role": "system", "content": "S"}
TURNS = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
EMPTY: list[Any] = [None, "", " \n", [], {}, [None, ""], False, True]


def _candidate(row: dict[str, Any], **options: Any) -> Candidate:
    reading = read_any_shape(json.dumps(row).encode(), ReadOptions(**options), "f.jsonl")
    assert reading.lost == []
    return reading.kept[0]


def _prompt(more: dict[str, Any], row: dict[str, Any] = ROW, **options: Any) -> Any:
    return _candidate({**row, **more}, **options).prompt


def _choices(more: dict[str, Any], row: dict[str, Any] = ROW, **options: Any) -> list[Any]:
    with pytest.raises(TwoReadings) as caught:
        _prompt(more, row, **options)
    return [*map(tuple, caught.value.choices)]


def test_empty_columns() -> None:
    """Empty columns change nothing."""
    assert [value for value in EMPTY if holds_something(value)] == []
    for column, value in product(sorted(COLUMNS), EMPTY):
        assert _prompt({column: value}) == "Q"


def test_no_column_is_passed_over() -> None:
    """A column's value joins the prompt, or the run stops, unless it is given to --ignore."""
    for column in sorted(COLUMNS):
        with suppress(TwoReadings):
            assert _prompt({column: "one"}) != _prompt({column: "two"})
        assert _prompt({column: "one"}, ignore=(column,)) == "Q"


def test_input_of_alpaca() -> None:
    """Instruction, blank line, input; also if the prompt column is named."""
    assert _prompt({"input": "R"}, ALPACA) == "Q\n\nR"
    assert _prompt({"input": "R"}, ALPACA, prompt="instruction") == "Q\n\nR"
    assert _prompt({"input": "R"}, ALPACA, ignore=("input",)) == "Q"
    assert _prompt({"input": "R"}, ALPACA, context=("input",)) == "R\n\nQ"


@pytest.mark.parametrize("column", SYSTEM_COLUMNS)
def test_system(column: str) -> None:
    """A system column becomes the system message, unless the prompt already has the same one."""
    assert _prompt({column: "S"}) == [SYSTEM, *ASKED]
    assert _prompt({column: "S", "prompt": [SYSTEM, *ASKED]}) == [SYSTEM, *ASKED]
    choices = [("--context", column), ("--ignore", column)]
    assert _choices({column: "T", "prompt": [SYSTEM, *ASKED]}) == choices
    with pytest.raises(BadField, match=column):
        _prompt({column: ["S"]})


@pytest.mark.parametrize("history", [[["a", "b"]], TURNS])
@pytest.mark.parametrize("column", HISTORY)
def test_history(column: str, history: Any) -> None:
    """Earlier turns go between the system message and the question."""
    assert _prompt({column: history}) == [*TURNS, *ASKED]
    assert _prompt({column: history, "system": "S"}) == [SYSTEM, *TURNS, *ASKED]


def test_history_with_a_system_message() -> None:
    """The same system message is used once; a different one is ambiguous."""
    told = [SYSTEM, *TURNS]
    assert _prompt({"history": told}) == [*told, *ASKED]
    assert _prompt({"history": told, "system": "S"}) == [*told, *ASKED]
    assert _prompt({"history": told, "prompt": [SYSTEM, *ASKED]}) == [*told, *ASKED]
    assert _choices({"history": told, "system": "T"})[-1] == ("--ignore", "system")
    other = [{**SYSTEM, "content": "T"}, *ASKED]
    assert _choices({"history": told, "prompt": other}) == [("--ignore", "history")]


@pytest.mark.parametrize("more", [ASKED, [{"role": "user", "content": "R"}], [*ASKED, TURNS[1]]])
def test_history_that_holds_the_question(more: list[Any]) -> None:
    """A conversation that includes the question or its answer is ambiguous as history."""
    assert _choices({"chat_history": [*TURNS, *more]}) == [("--ignore", "chat_history")]


@pytest.mark.parametrize("history", ["a\nb", ["a", "b"], [["a", "b", "c"]], [["a", None]]])
def test_history_of_another_form(history: Any) -> None:
    """A history without clear roles is ambiguous."""
    assert _choices({"history": history})[-1] == ("--ignore", "history")


def test_history_of_a_prompt_with_turns_of_its_own() -> None:
    """A prompt with several turns may already include the history, so it is ambiguous."""
    assert _choices({"history": TURNS, "prompt": [*TURNS, *ASKED]})[-1] == ("--ignore", "history")


@pytest.mark.parametrize("column", TOOLS)
def test_tools(column: str) -> None:
    """Tools are found under any name, and are part of the question."""
    schemas = [{"name": "f", "parameters": {}}]
    found = _candidate({**ROW, column: schemas})
    assert (found.prompt, found.tools) == ("Q", schemas)
    assert _candidate({**ROW, column: json.dumps(schemas)}).tools == schemas
    assert _candidate({**ROW, column: schemas}, ignore=(column,)).tools is None


@pytest.mark.parametrize(
    "value", [["f"], "def f(): ...", [{"name": "f", "arguments": {}}], {"a": 1}]
)
def test_tools_that_are_no_schemas(value: Any) -> None:
    """Names, code or calls instead of schemas are ambiguous."""
    assert _choices({"functions": value})[-1] == ("--ignore", "functions")


@pytest.mark.parametrize(
    "choices", [["Paris", "Rome"], {"label": ["A", "B"], "text": ["Paris", "Rome"]}, "B. Rome"]
)
def test_what_the_prompt_says_already(choices: Any) -> None:
    """Choices that the prompt already lists add nothing."""
    asked = "Capital of Italy?\nA. Paris\nB. Rome"
    assert _prompt({"prompt": asked, "choices": choices}) == asked
    assert _prompt({"prompt": as_chat(asked, "user"), "choices": choices}) == as_chat(asked, "user")


@pytest.mark.parametrize("choices", [["Rome", "Paris"], ["Paris", "Bern"], ["Par", "Rome"], "rome"])
def test_what_the_prompt_does_not_quite_say(choices: Any) -> None:
    """Choices in another order, or only within words, are ambiguous."""
    asked = "Capital of Italy?\nA. Paris\nB. Rome"
    assert _choices({"prompt": asked, "choices": choices})[-1] == ("--ignore", "choices")


def test_choices_of_an_api_are_answers() -> None:
    """The choices of an API response are answers, not part of the question."""
    choices = [{"index": 0, "message": {"role": "assistant", "content": "A"}}]
    assert _prompt({"choices": choices}) == "Q"


def test_columns_that_mean_the_same() -> None:
    """Columns with equal content count once; different ones are ambiguous."""
    one, other = [{"name": "f"}], [{"name": "g"}]
    assert _candidate({**ROW, "tools": one, "functions": one}).tools == one
    ignoring = [("--ignore", "functions"), ("--ignore", "tools")]
    assert _choices({"tools": one, "functions": other}) == ignoring
    ignoring = [("--ignore", "chat_history"), ("--ignore", "history")]
    assert _choices({"history": TURNS, "chat_history": [["c", "d"]]}) == ignoring


@pytest.mark.parametrize("column", MEDIA)
def test_media(column: str) -> None:
    """Each item becomes a message part of the kind that the column's name says."""
    kind = MEDIA[column]
    content = [{"type": kind, kind: "a"}, {"type": "text", "text": "Q"}]
    assert (
        _prompt({column: ["a"]}) == _prompt({column: "a"}) == [{"role": "user", "content": content}]
    )


NESTED = {"request": {"messages": ASKED}, "response": "A", "score": 1}


@pytest.mark.parametrize("prompt", ["request.messages", "request.messages.0.content"])
def test_columns_of_the_object_that_holds_the_prompt(prompt: str) -> None:
    """Columns of the object with the prompt are part of the question, like the row's."""

    def read(more: dict[str, Any], **options: Any) -> Candidate:
        row = {**NESTED, "request": {**NESTED["request"], **more}}  # type: ignore[dict-item]
        return _candidate(row, prompt=prompt, **options)

    assert read({"system": "S"}).prompt == [SYSTEM, *ASKED]
    assert read({"chat_history": TURNS}).prompt == [*TURNS, *ASKED]
    assert read({"tools": [{"name": "f"}]}).tools == [{"name": "f"}]
    assert read({"system": "S"}, ignore=("request.system",)) == read({})
    assert read({"tools": [{"name": "f"}]}, ignore=("request.tools",)) == read({})
    with pytest.raises(TwoReadings) as caught:
        read({"choices": ["a", "b"]})
    assert caught.value.choices == [
        ("--context", "request.choices"),
        ("--ignore", "request.choices"),
    ]
    told = read({"choices": ["a", "b"]}, context=("request.choices",))
    assert as_chat(told.prompt, "user")[0]["content"] == "a\n\nb\n\nQ"


def test_columns_of_the_row_and_of_the_object() -> None:
    """Equal values in row and object count once; different ones are ambiguous."""
    row = {**NESTED, "system": "S", "request": {"messages": ASKED, "system": "S"}}
    assert _candidate(row, prompt="request.messages").prompt == [SYSTEM, *ASKED]
    row["system"] = "T"
    ignoring = [("--ignore", "request.system"), ("--ignore", "system")]
    assert _choices({}, row, prompt="request.messages") == ignoring
    assert _prompt({}, row, prompt="request.messages", ignore=("system",)) == [SYSTEM, *ASKED]


def test_ignored_columns_never_hold_what_is_named() -> None:
    """--ignore does not hide a prompt that is named."""
    for ignored in ("request", "request.messages"):
        assert _prompt({}, NESTED, prompt="request.messages", ignore=(ignored,)) == ASKED


@pytest.mark.parametrize("column", [*UNCERTAIN, "input"])
def test_columns_without_a_convention(column: str) -> None:
    """Both options are offered, also next to other options, and if the prompt is named."""
    named: dict[str, Any] = {"prompt": "prompt"}
    choices = [("--context", column), ("--ignore", column)]
    assert _choices({column: "C"}, **named) == choices
    more = _choices({column: "C"}, **named, context=("x",), ignore=("y",))
    assert more == [("--context", f"x,{column}"), ("--ignore", f"y,{column}")]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (["C", "D"], "documents"),
        ([{"title": "t", "text": "C"}, {"text": "D"}], "documents[].text"),
        ([{"content": "C"}, {"content": "D"}], "documents[].content"),
        ({"text": "C\n\nD"}, "documents.text"),
    ],
)
def test_choices_can_be_taken(value: Any, path: str) -> None:
    """The offered path leads to text and resolves the ambiguity."""
    assert _choices({"documents": value})[0] == ("--context", path)
    assert _prompt({"documents": value}, context=(path,)) == "C\n\nD\n\nQ"


def test_columns_that_hold_no_text() -> None:
    """A column without text can only be ignored; naming it makes the row bad."""
    assert _choices({"documents": [{"id": 7}]}) == [("--ignore", "documents")]
    with pytest.raises(BadField, match="documents"):
        _prompt({"documents": [{"id": 7}]}, context=("documents",))


@pytest.mark.parametrize("documents", [["C"], "C", [{"body": "C"}], [{"text": "C"}, {"body": 1}]])
def test_context_that_does_not_find_what_is_there(documents: Any) -> None:
    """If --context finds nothing in a non-empty column, the row is bad."""
    with pytest.raises(BadField, match="documents"):
        _prompt({"documents": documents}, context=("documents[].text",))
    assert _prompt({"documents": []}, context=("documents[].text",)) == "Q"


def test_context_in_order() -> None:
    """Context is added in the given order, with blank lines, before the user's last message."""
    row = {"a": "1", "b": None, "c": {"d": ["2", "3"]}}
    assert _prompt(row, context=("c.d", "b", "a", "e")) == "2\n\n3\n\n1\n\nQ"
    chat = [*TURNS, *ASKED]
    asked = {"role": "user", "content": "1\n\nQ"}
    assert _prompt({**row, "prompt": chat}, context=("a",)) == [*TURNS, asked]
    assert _prompt({**row, "prompt": [SYSTEM]}, context=("a",)) == [
        SYSTEM,
        {"role": "user", "content": "1"},
    ]


@pytest.mark.parametrize(
    ("column", "value", "parts"),
    [
        ("image", "a.png", [{"type": "image", "image": "a.png"}]),
        (
            "images",
            ["a", {"url": "b"}],
            [
                {"type": "image", "image": "a"},
                {"type": "image", "image": {"url": "b"}},
            ],
        ),
        ("audio", 7, [{"type": "audio", "audio": 7}]),
        ("videos", ["v", None], [{"type": "video", "video": "v"}]),
    ],
)
def test_images_and_the_like(column: str, value: Any, parts: list[Any]) -> None:
    """Images become parts of the user's message, before its text."""
    said = {"type": "text", "text": "Q"}
    assert _prompt({column: value}) == [{"role": "user", "content": [*parts, said]}]


def test_images_that_have_their_place() -> None:
    """Placeholders in the prompt are filled."""
    place, said = {"type": "image"}, {"type": "text", "text": "Q"}
    prompt = [{"role": "user", "content": [said, place, place]}]
    filled = [said, {"type": "image", "image": "a"}, {"type": "image", "image": "b"}]
    assert _prompt({"prompt": prompt, "images": ["a", "b"]}) == [
        {"role": "user", "content": filled}
    ]
    first = {"type": "image", "image": "a"}
    assert _prompt({"prompt": prompt, "images": ["a"]}) == [
        {"role": "user", "content": [first, said, place, place]}
    ]


def test_several_answers_and_conversations_share_the_question() -> None:
    """A row's columns apply to all of its answers, and to conversations."""
    row = {"prompt": "Q", "responses": ["A", "B"], "scores": [1, 0], "system": "S"}
    reading = read_any_shape(json.dumps(row).encode(), ReadOptions(), "f.jsonl")
    assert [one.prompt for one in reading.kept] == [[SYSTEM, *ASKED]] * 2
    talk = {"messages": [*ASKED, {"role": "assistant", "content": "A"}], "score": 1}
    assert _candidate({**talk, "system": "S"}).prompt == [SYSTEM, *ASKED]


@pytest.mark.parametrize("role", [[], [["assistant"]], {"a": 1}, None, 3])
def test_a_role_of_any_type(role: Any) -> None:
    """With any role, a row is bad or read, without a crash."""
    chat = [{"role": "user", "content": "Q"}, {"role": role, "content": "A"}]
    row = {"prompt": "Q", "response": "A", "messages": chat, "score": 1}
    with suppress(BadRecord, TwoReadings):
        read_any_shape(json.dumps(row).encode(), ReadOptions(), "f.jsonl")
