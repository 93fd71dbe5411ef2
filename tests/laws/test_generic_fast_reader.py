"""The fast reader finds what the general reader finds, or nothing."""

import json
from typing import Any

import pytest
from corrupted_rows import odd_values
from hypothesis import example, given
from hypothesis import strategies as st
from rows_of_any_columns import rows_of_any_names
from run_in_process import Row
from usual_rows import AIMS, plain_rows, usual_rows

from hypothesis_examples import examples
from prefpairs.errors import BadRecord, TwoReadings
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.identity import digest_response
from prefpairs.sources import GENERIC, generic
from prefpairs.sources.base import RecordReader
from prefpairs.sources.detect import source_of
from scan_in_process import indexed

SAMPLE = {"id": 1, "question": "Q", "answer": "A", "reward": 1.0, "model": "m"}
READINGS: list[tuple[ReadOptions, Row]] = [
    (ReadOptions(), SAMPLE),
    (ReadOptions(prompt="question", response="answer", scores=(("reward", 1.0),)), SAMPLE),
    (ReadOptions(scores=(("reward", 1.0),)), SAMPLE),
    (ReadOptions(cast_score=True), SAMPLE),
    (ReadOptions(keep_rows=frozenset({"no_score"})), SAMPLE),
    (ReadOptions(ignore=("system", "context", "images", "response", "score")), SAMPLE),
    (ReadOptions(drop_rows=frozenset({"failed", "incomplete"}), ignore=("status",)), SAMPLE),
]
"""Options, and the row on which the fast reader is opened."""

NAMES = [
    ("prompt", "response", "score"),
    ("instruction", "output", "rating"),
    ("input", "output", "reward"),
    ("input", "output", "score"),
    ("prompt", "completion", "reward"),
    ("messages", "generation", "score"),
]
"""Other column names for the three fields."""


def opened(options: ReadOptions = READINGS[0][0], sample: Row = SAMPLE) -> RecordReader:
    """A reader opened on the sample."""
    found = generic.open_reader([json.dumps(sample).encode()], options, "r.jsonl")
    assert found.fast_reader
    return found


def told(line: bytes, options: ReadOptions) -> Any:
    """What the general reader finds, or its error."""
    try:
        return generic.read_any_shape(line, options, "r.jsonl")
    except (BadRecord, TwoReadings) as error:
        return error


def accepted(line: bytes, options: ReadOptions = READINGS[0][0], sample: Row = SAMPLE) -> bool:
    """Whether the fast reader can read a row; if so, its result equals the general reader's."""
    how = opened(options, sample)
    short = how.fast_reader
    assert short
    (scanned,) = short.index_rows([line])
    plain = short.read(line)
    if plain is None or scanned is None:
        assert plain is None
        return False
    (candidate,) = plain.kept
    whole = told(line, options)
    assert isinstance(whole, RowOutcome), whole
    assert repr(whole.kept) == repr(plain.kept)
    assert (whole.places, whole.lost, whole.noticed) == ([1], [], [])
    assert {*whole.facts} <= {*how.facts}
    assert source_of(line) == GENERIC
    digest = digest_response(candidate.response)
    assert scanned[1:] == (candidate.score, candidate.index, digest, ())
    return True


@examples(300)
@given(row=usual_rows(), ascii_only=st.booleans(), reading=st.sampled_from(READINGS))
def test_rows_of_the_usual_shape_are_known(
    row: Row, reading: tuple[ReadOptions, Row], *, ascii_only: bool
) -> None:
    """The fast reader reads every row of the usual shape."""
    assert accepted(json.dumps(row, ensure_ascii=ascii_only).encode() + b"\r\n", *reading)


@examples(2500)
@given(line=plain_rows(), reading=st.sampled_from(READINGS))
@example(line=b"\n", reading=READINGS[0])
def test_the_shortcut_finds_the_same_or_nothing(
    line: bytes, reading: tuple[ReadOptions, Row]
) -> None:
    """Candidate, digest and score are equal; rows with losses or replacements are passed on."""
    accepted(line, *reading)


@examples(1500)
@given(
    row=rows_of_any_names(),
    names=st.sampled_from(NAMES),
    more=st.fixed_dictionaries(
        {},
        optional={"step": st.just(1), "answer": st.just("42"), "ground_truth": st.just("")},
    ),
)
def test_a_shortcut_made_for_any_row(row: Row, names: tuple[str, str, str], more: Row) -> None:
    """Both readers agree, whichever row they are opened on and whichever rows they read."""
    sample = {**dict(zip(names, ("Q", "A", 1.0), strict=True)), **more}
    if names[0] == "messages":
        sample["messages"] = [{"role": "user", "content": "Q"}]
    found = generic.open_reader([json.dumps(sample).encode()], ReadOptions(), "r.jsonl")
    if found.fast_reader is not None:
        accepted(json.dumps({**sample, **row}).encode(), READINGS[0][0], sample)
        accepted(json.dumps(row).encode(), READINGS[0][0], sample)


@pytest.mark.full
def test_every_odd_value() -> None:
    """Each odd value once, since random tests would miss some."""
    usual: Row = {"question": [{"role": "user", "content": "Q"}], "answer": "A", "reward": 1.0}
    for has, key, value in odd_values(AIMS):
        row = json.loads(json.dumps(usual))
        holder = row if has in row else row["question"][0]
        holder[key] = value
        for reading in READINGS:
            accepted(json.dumps(row).encode(), *reading)


def test_rows_of_other_sources() -> None:
    """Rows that another source knows are passed on, whatever options name or ignore."""
    talk = {"object": "response", "output": []}
    for options in (
        ReadOptions(response="answer"),
        ReadOptions(ignore=("origin", "response", "custom_id", "object", "output", "turns")),
    ):
        for more in (
            {"custom_id": "c", "response": None, "error": None},
            {"response": talk},
            {"output": talk},
            talk,
            {"origin": "f:1", "group": "g", "prompt": "Q", "response": "A", "score": 1},
            {"turns": [{"tool_error": "x"}]},
        ):
            assert not accepted(json.dumps({**SAMPLE, **more}).encode(), options), more
        assert accepted(json.dumps({**SAMPLE, "output": "x"}).encode(), options)


@examples(400)
@given(given_lines=st.lists(plain_rows(), max_size=6), chance=st.randoms(use_true_random=False))
def test_the_index_is_the_same_with_and_without(given_lines: list[bytes], chance: Any) -> None:
    """Groups, scores, digests, positions, counts and bad rows are the same with and without it."""
    shuffled = given_lines * 2
    chance.shuffle(shuffled)
    options = READINGS[1][0]
    if any(isinstance(told(line, options), TwoReadings) for line in shuffled):
        return
    slow = RecordReader(lambda line: generic.read_any_shape(line, options, "r.jsonl"))
    assert indexed(shuffled, opened(options)) == indexed(shuffled, slow)


def test_thinking_is_no_plain_text_but_in_logs() -> None:
    """Inline thinking is passed on, except in logs with rendered prompts."""
    row = {"input": "Q", "output": "<think>hm</think>A", "score": 1}
    usual = {"input": "Q", "output": "A", "score": 1}
    assert not accepted(json.dumps(row).encode(), sample=usual)
    logged = {"step": 3, "gts": "A"}
    assert accepted(json.dumps(row | logged).encode(), sample=usual | logged)
    assert not accepted(json.dumps(row | logged).encode(), sample=usual)
    chat = {"input": [{"role": "user", "content": "Q"}]}
    assert not accepted(json.dumps(row | logged | chat).encode(), sample=usual | logged)


VERL = {"input": "user\nQ\nassistant\n", "output": "A", "score": 1, "step": 3, "gts": "A"}
UIDS: list[Any] = [
    None,
    "a_0_0",
    "a_12_3",
    "a_b_0_0",
    "_0_0",
    "a",
    7,
    "\u00e9_0_0",
    'x"_0_0',
    "a_\u0663_0",
    "\ud800_0_0",
    [],
]
RIGHT: list[Any] = ["A", None, "\ud800", 1, 1.0, 10**30, 1e22, {"b": 1, "a": [None]}, "\\", ""]


@examples(1000)
@given(
    given_rows=st.lists(
        st.tuples(
            st.sampled_from(["user\nQ\nassistant\n", "R", [{"role": "user", "content": "Q"}], ""]),
            st.sampled_from(["A", "B", "<think>hm</think>A", " "]),
            st.sampled_from(UIDS),
            st.sampled_from(RIGHT),
        ),
        max_size=6,
    ),
    escaped=st.booleans(),
)
def test_dumps_of_verl_with_and_without(given_rows: list[Any], *, escaped: bool) -> None:
    """In verl's logs, the task is the same, however the uid and the reference are written."""
    lines = []
    for asked, said, uid, right in given_rows:
        row = {**VERL, "input": asked, "output": said, "gts": right}
        row |= {} if uid is None else {"uid": uid}
        ascii_only = escaped or "\ud800" in (f"{uid}"[:1], right)
        lines.append(json.dumps(row, ensure_ascii=ascii_only).encode())
        accepted(lines[-1], sample=VERL)
    slow = RecordReader(lambda line: generic.read_any_shape(line, READINGS[0][0], "r.jsonl"))
    assert indexed(lines, opened(sample=VERL)) == indexed(lines, slow)


def test_rows_that_say_nothing_of_their_fate_are_plain() -> None:
    """The fast reader reads rows that are marked as finished normally or free of errors."""
    fine: Row = {"finish_reason": "stop", "truncated": False, "error": None, "status": 200}
    assert accepted(json.dumps(SAMPLE | fine | {"reasoning_content": ""}).encode())
    for mark in ({"finish_reason": "length"}, {"truncated": True}, {"error": "boom"}):
        assert not accepted(json.dumps(SAMPLE | fine | mark).encode())


def test_references_next_to_answers_are_read() -> None:
    """Reference answers are no obstacle if the sample has them, too."""
    row = {"prompt": "Q", "response": "A", "answer": "42", "score": 1}
    line = json.dumps(row).encode()
    assert accepted(line, sample=row)
    without = {"prompt": "Q", "response": "A", "score": 1}
    assert not accepted(line, sample=without)  # the sample shows no reference with this name
    assert accepted(json.dumps(without | {"ground_truth": "42"}).encode(), sample=without)


@pytest.mark.parametrize(
    ("options", "suitable"),
    [
        ({}, True),
        ({"response": "answer"}, True),
        ({"scores": (("reward", 1.0),)}, True),
        ({"ignore": ("step",)}, True),
        ({"scores": (("reward", 0.5),)}, False),
        ({"scores": (("reward", 1.0), ("step", 1.0))}, False),
        ({"scores": (("model.reward", 1.0),)}, False),
        ({"response": "question"}, False),
        ({"response": "tools"}, False),
        ({"context": ("step",)}, False),
        ({"keep": ("model",)}, False),
        ({"lower_is_better": True}, False),
        ({"group_by": "file"}, False),
        ({"group_by": "prompt"}, True),
    ],
)
def test_for_what_there_is_a_shortcut(options: dict[str, Any], *, suitable: bool) -> None:
    """Exists for one prompt, one response and one score, each in a top-level column."""
    row = json.dumps({"question": "Q", "answer": "A", "reward": 0, "step": "s", "tools": []})
    found = generic.open_reader([row.encode()], ReadOptions(**options), "r.jsonl")
    assert bool(found.fast_reader) is suitable


@pytest.mark.parametrize(
    "row",
    [
        {"question": "Q", "prompt": "R", "answer": "A", "score": 1},
        {"messages": [{"role": "user", "content": "Q"}], "score": 1},
        {"question": "Q", "answer": "A"},
        {"question": "Q", "answer": "A", "score": 1, "context": "C"},
        {"prompt": "Q", "completion": "A", "reward": 1, "step": 1, "advantage": 0.5},
    ],
)
def test_rows_of_other_fields_have_none(row: Row) -> None:
    """There is none for other fields: two prompts, conversations, no score, TRL's logs."""
    assert (
        generic.open_reader([json.dumps(row).encode()], ReadOptions(), "r.jsonl").fast_reader
        is None
    )
