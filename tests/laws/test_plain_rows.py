"""What the shortcut finds in a row is what reading any shape finds; else it finds nothing."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from laws_driver import Row, examples
from laws_rows import AIMS, plain_rows, usual_rows
from laws_scanned import indexed
from laws_spoilt import odd_values

from prefpairs.records.identity import digest_response
from prefpairs.sources import generic
from prefpairs.sources.answer import Reading, ReadOptions
from prefpairs.sources.generic_plain import shortcut_to
from prefpairs.sources.guess import Fields
from prefpairs.sources.protocol import Opened, Shortcut

GUESSED = Fields(prompts=("question",), responses=("answer",), scores=("reward",))
NAMED = Fields(prompts=("question",), responses=("answer",), named_scores=(("reward", 1.0),))
LOGGED = Fields(
    prompts=("question",),
    responses=("answer",),
    named_scores=(("reward", 1.0),),
    rendered=True,
)
FIELDS = [GUESSED, NAMED, LOGGED]
OPTIONS = [ReadOptions(), ReadOptions(cast_score=True)]
OPTIONS += [ReadOptions(keep_rows=frozenset({"no_score"}))]


def shortcut(fields: Fields = GUESSED, options: ReadOptions = OPTIONS[0]) -> Shortcut:
    """The shortcut to rows with these fields."""
    found = shortcut_to(fields, options)
    assert found
    return found


def accepted(line: bytes, fields: Fields = GUESSED, options: ReadOptions = OPTIONS[0]) -> bool:
    """Whether the shortcut knows a row; if so, hold what it finds against the whole truth."""
    short = shortcut(fields, options)
    (scanned,) = short.scan([line])
    plain = short.read(line, "r.jsonl:1")
    if plain is None or scanned is None:
        assert plain is None
        return False
    candidate, digest = plain
    whole = generic.read_any_shape(line, fields, options, "r.jsonl")
    assert repr(whole) == repr(Reading([candidate._replace(origin="")], [1]))
    assert candidate.origin == "r.jsonl:1"
    assert digest == digest_response(whole.kept[0].response)
    assert scanned[1:] == (candidate.score, candidate.index, digest)
    return True


@examples(300)
@given(row=usual_rows(), ascii_only=st.booleans(), fields=st.sampled_from(FIELDS))
def test_rows_of_the_usual_shape_are_known(row: Row, fields: Fields, *, ascii_only: bool) -> None:
    """No row of that shape takes the long way."""
    assert accepted(json.dumps(row, ensure_ascii=ascii_only).encode() + b"\r\n", fields)


@examples(2500)
@given(line=plain_rows(), fields=st.sampled_from(FIELDS), options=st.sampled_from(OPTIONS))
@example(line=b"\n", fields=GUESSED, options=OPTIONS[0])
def test_the_shortcut_finds_the_same_or_nothing(
    line: bytes, fields: Fields, options: ReadOptions
) -> None:
    """Candidate, digest and score; where any shape finds a loss or a mend, nothing."""
    accepted(line, fields, options)


def test_every_odd_value() -> None:
    """One after the other: chance would not find each of them."""
    usual: Row = {"question": [{"role": "user", "content": "Q"}], "answer": "A", "reward": 1.0}
    for has, key, value in odd_values(AIMS):
        row = json.loads(json.dumps(usual))
        holder = row if has in row else row["question"][0]
        holder[key] = value
        for fields in FIELDS:
            accepted(json.dumps(row).encode(), fields)


@examples(400)
@given(given_lines=st.lists(plain_rows(), max_size=6), chance=st.randoms(use_true_random=False))
def test_the_index_is_the_same_with_and_without(given_lines: list[bytes], chance: Any) -> None:
    """Groups, scores, digests, places, counts and bad rows; rows with equal questions compete."""
    shuffled = given_lines * 2
    chance.shuffle(shuffled)
    options = ReadOptions(prompt="question", response="answer", scores=(("reward", 1.0),))
    quick = generic.open_reader({}, options, "r.jsonl")
    slow = Opened(lambda line: generic.read_any_shape(line, NAMED, ReadOptions(), "r.jsonl"))
    assert quick.shortcut
    assert indexed(shuffled, quick) == indexed(shuffled, slow)


def test_thinking_is_no_plain_text_but_in_logs() -> None:
    """Thoughts are taken apart from words, unless a template wrote the prompt."""
    line = json.dumps({"question": "Q", "answer": "<think>hm</think>A", "reward": 1}).encode()
    assert [accepted(line, fields) for fields in FIELDS] == [False, False, True]


@pytest.mark.parametrize(
    ("options", "suitable"),
    [
        ({}, True),
        ({"response": "answer"}, True),
        ({"scores": (("reward", 1.0),)}, True),
        ({"scores": (("reward", 0.5),)}, False),
        ({"scores": (("reward", 1.0), ("step", 1.0))}, False),
        ({"scores": (("model.reward", 1.0),)}, False),
        ({"response": "question"}, False),
        ({"response": "tools"}, False),
        ({"keep": ("model",)}, False),
        ({"lower_is_better": True}, False),
        ({"group_by": "file"}, False),
    ],
)
def test_for_what_there_is_a_shortcut(options: dict[str, Any], *, suitable: bool) -> None:
    """One prompt, one response, one score, taken as they stand from keys of the row."""
    shape = json.dumps({"question": "", "answer": "", "reward": 0, "step": 0, "tools": []})
    opened = generic.open_reader({shape.encode(): 1}, ReadOptions(**options), "r.jsonl")
    assert bool(opened.shortcut) is suitable


def test_rows_of_other_fields_have_none() -> None:
    """Two names of a prompt, conversations under one name or two, and answers without a score."""
    two = Fields(prompts=("question", "prompt"), responses=("answer",), scores=("reward",))
    chats = Fields(prompts=("messages",), scores=("reward",))
    more = Fields(prompts=("messages", "conversation"), scores=("reward",))
    unscored = Fields(prompts=("question",), responses=("answer",))
    for fields in (two, chats, more, unscored):
        assert shortcut_to(fields, ReadOptions()) is None
