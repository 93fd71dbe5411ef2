"""A scored answer to a prompt, as a line and back."""

from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.model.candidate import (
    Candidate,
    candidate_line,
    candidate_of,
    candidate_row,
    read_index,
    read_text,
    read_tools,
)
from prefpairs.model.json_codec import decode

FULL = Candidate(
    group='["agent",0]',
    prompt=[{"role": "user", "content": "Q"}],
    response="A",
    score=1.0,
    index=3,
    origin="r.jsonl:7#2",
    tools=[{"type": "function", "function": {"name": "f"}}],
    tokens={"ids": [1, 2]},
    meta={"model": "m"},
)


def test_line_has_all_fields_in_their_order() -> None:
    """Keys are in a fixed order, the score is a float, and the line ends with a newline."""
    assert candidate_line(FULL) == (
        b'{"group":"[\\"agent\\",0]","prompt":[{"role":"user","content":"Q"}],"response":"A",'
        b'"score":1.0,"index":3,"origin":"r.jsonl:7#2",'
        b'"tools":[{"type":"function","function":{"name":"f"}}],"tokens":{"ids":[1,2]},'
        b'"meta":{"model":"m"}}\n'
    )


def test_line_leaves_out_what_the_candidate_has_not() -> None:
    """Empty tools, tokens and meta are omitted; a missing index is null."""
    candidate = Candidate("g", "Q", "A", 0.5, tools=[], tokens={}, meta={})
    assert candidate_line(candidate) == (
        b'{"group":"g","prompt":"Q","response":"A","score":0.5,"index":null,"origin":""}\n'
    )


@pytest.mark.parametrize("candidate", [FULL, Candidate("g", "Q", "A", -1.5)])
def test_line_is_read_back_as_it_was(candidate: Candidate) -> None:
    """A line is read back unchanged."""
    assert candidate_of(decode(candidate_line(candidate))) == candidate


def test_score_written_as_text_can_be_cast() -> None:
    """A score written as text is read only with --cast-score."""
    row = {**candidate_row(FULL), "score": "0.7"}
    assert candidate_of(row, cast_score=True) == FULL._replace(score=0.7)


def test_unknown_keys_are_passed_over() -> None:
    """Unknown keys are ignored."""
    row = {**candidate_row(Candidate("g", "Q", "A", 1.0)), "more": 1}
    assert candidate_of(row) == Candidate("g", "Q", "A", 1.0)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("group", 1, "text"),
        ("group", None, "text"),
        ("prompt", None, "text or a list of messages"),
        ("response", {}, "text or a list of messages"),
        ("score", "0.7", "a number"),
        ("index", "3", "an integer of at most 64 bits"),
        ("origin", 5, "text"),
        ("tools", {}, "a list of tool schemas"),
        ("tokens", [], "an object"),
        ("meta", "m", "an object"),
    ],
)
def test_field_of_the_wrong_type(key: str, value: Any, expected: str) -> None:
    """The error has the field and the expected type."""
    row = {**candidate_row(FULL), key: value}
    with pytest.raises(BadField) as caught:
        candidate_of(row)
    assert (caught.value.field, caught.value.value, caught.value.expected) == (key, value, expected)


@pytest.mark.parametrize("value", [0, -1, 2**63 - 1, None])
def test_index_is_a_64_bit_integer(value: int | None) -> None:
    """Any 64-bit integer is kept, and so is a missing index."""
    assert read_index(value, "index") == value


def test_index_as_pandas_writes_it() -> None:
    """Floats with integral values are accepted, as pandas writes columns with gaps."""
    assert read_index(3.0, "index") == 3


@pytest.mark.parametrize("value", [True, 1.5, 1e300, "1", 2**63, [1]])
def test_index_of_another_type(value: Any) -> None:
    """Rejects booleans, fractions, text and huge integers."""
    with pytest.raises(BadField, match="index"):
        read_index(value, "index")


def test_text_is_text_or_messages() -> None:
    """Text stays text; messages are normalized to chat completions."""
    given = [{"content": "Hi", "role": "developer", "id": 7}]
    assert read_text("Hi", "prompt") == "Hi"
    assert read_text(given, "prompt") == [{"role": "system", "content": "Hi"}]


@pytest.mark.parametrize(
    ("value", "tools"),
    [
        (None, None),
        ([], None),
        ("null", None),
        ("", None),
        (" \n", None),
        ([{"name": "f"}], [{"name": "f"}]),
        ('[{"name": "f"}]', [{"name": "f"}]),
    ],
)
def test_tools(value: Any, tools: Any) -> None:
    """Tools are a list of objects, or the JSON text of one."""
    assert read_tools(value, "tools") == tools


@pytest.mark.parametrize("value", [7, {}, "f", ["f"], "[1]", [None]])
def test_tools_of_another_type(value: Any) -> None:
    """Anything else is a bad field."""
    with pytest.raises(BadField, match="tools: expected a list of tool schemas"):
        read_tools(value, "tools")


@pytest.mark.parametrize("value", [None, 1, {"role": "user"}, True])
def test_text_of_another_type(value: Any) -> None:
    """Anything else is a bad field."""
    with pytest.raises(BadField):
        read_text(value, "prompt")
