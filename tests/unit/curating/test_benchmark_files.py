"""Reads prompts from the files of a benchmark."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from prefpairs.engine.pairs.reference_files import read_reference
from prefpairs.errors import BadInput
from prefpairs.files.input_paths import find_inputs
from prefpairs.model.message import Text
from prefpairs.stages.contamination import PROMPT_FIELDS, ReferencePrompts


def _read(folder: Path, *rows: Any, field: str | None = None, **more: Any) -> ReferencePrompts:
    path = folder / "bench.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return read_reference(find_inputs([str(path)]), field, **more)


@pytest.mark.parametrize("field", PROMPT_FIELDS)
def test_usual_fields(tmp_path: Path, field: str) -> None:
    """Each usual field is found alone, also inside an object."""
    row: Any = "Q"
    for name in reversed(field.split(".")):
        row = {name: row}
    row["answer"] = "A"
    reference = _read(tmp_path, row)
    assert (len(reference), reference.holds("Q"), reference.holds("A")) == (1, True, False)


def test_first_field_counts(tmp_path: Path) -> None:
    """Of several fields, the first that is not null is used."""
    row = {"input": "C", "question": "B", "prompt": None}
    reference = _read(tmp_path, row)
    assert [reference.holds(text) for text in "BC"] == [True, False]


def test_field_that_was_named(tmp_path: Path) -> None:
    """With --against-field, only that field is read, and a row without it is an error."""
    reference = _read(tmp_path, {"prompt": "P", "turns": ["a", "b"]}, field="turns.1")
    assert [reference.holds(text) for text in ("P", "a", "b")] == [False, False, True]
    with pytest.raises(BadInput) as caught:
        _read(tmp_path, {"q": "Q"}, {"prompt": "P"}, field="q")
    assert (caught.value.path, caught.value.problem) == ("bench.jsonl:2", "no q")


SYSTEM, USER, ANSWER = (
    {"role": role, "content": role[0]} for role in ("system", "user", "assistant")
)


@pytest.mark.parametrize(
    ("messages", "prompt"),
    [
        ([USER, ANSWER], [USER]),
        ([USER, ANSWER, ANSWER], "u"),
        ([SYSTEM, USER, ANSWER], [SYSTEM, USER]),
        ([SYSTEM, USER, ANSWER], "u"),
        ([USER, ANSWER, USER, ANSWER], [USER, ANSWER, USER]),
        ([USER, ANSWER, USER, ANSWER, ANSWER], [USER, ANSWER, USER]),
        ([USER], [USER]),
    ],
)
def test_conversation_that_ends_with_an_answer(
    tmp_path: Path, messages: list[Any], prompt: Text
) -> None:
    """A final answer is not part of the prompt."""
    assert _read(tmp_path, {"messages": messages}).holds(prompt) is True


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"text": "Q"}, f"no {' or '.join(PROMPT_FIELDS)}"),
        ({"prompt": 7}, "prompt: expected text or a list of messages"),
        ({"messages": ["Q"]}, "messages.0: expected a message"),
        (7, f"no {' or '.join(PROMPT_FIELDS)}"),
    ],
)
def test_row_without_a_prompt(tmp_path: Path, row: Any, problem: str) -> None:
    """A row without a prompt is an error, since a leak would go unnoticed."""
    with pytest.raises(BadInput) as caught:
        _read(tmp_path, {"prompt": "Q"}, row)
    assert (caught.value.path, caught.value.problem) == ("bench.jsonl:2", problem)


def test_torn_file(tmp_path: Path) -> None:
    """A torn file is reported with its line."""
    (tmp_path / "bench.jsonl").write_bytes(b'\n{"prompt": "Q\n')
    with pytest.raises(BadInput) as caught:
        read_reference(find_inputs([str(tmp_path / "bench.jsonl")]), None)
    assert caught.value.path == "bench.jsonl:2"


def test_several_files(tmp_path: Path) -> None:
    """Several files, compressed or not, are read together, for exact and near matches."""
    (tmp_path / "a.json").write_bytes(b'[{"prompt": "one two three"}]')
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"question": "Four five six"}\n'))
    inputs = find_inputs([str(tmp_path)])
    exact, near = read_reference(inputs, None), read_reference(inputs, None, near=0.9)
    assert (len(exact), len(near)) == (2, 2)
    assert [exact.holds(text) for text in ("one two three", "four FIVE six")] == [True, False]
    assert [near.holds(text) for text in ("one two three", "four FIVE six")] == [True, True]
