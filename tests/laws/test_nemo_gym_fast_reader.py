"""The fast reader of NeMo Gym finds what the general reader finds, and leaves all else to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from run_in_process import Row
from usual_rollouts import message, plain_lines, usual_rollouts

from hypothesis_examples import examples
from prefpairs.errors import NotJson
from prefpairs.fields.make_candidate import RowOutcome
from prefpairs.fields.read_options import ReadOptions, is_default_reading
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest_response
from prefpairs.sources import nemo_gym, nemo_gym_fast
from prefpairs.sources.base import RecordReader
from scan_in_process import indexed

SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "nemo-gym"
ACCEPTED = {
    "physics_with_judge": 25,
    "text_to_sql": 15,
    "multichallenge": 0,
    "tavily_search": 0,
    "aviary": 0,
}

OPTIONS = [ReadOptions(), ReadOptions(cast_score=True), ReadOptions(step_name="x")]
OPTIONS += [ReadOptions(keep_rows=frozenset({"masked", "failed", "incomplete", "no_score"}))]


def accepted(line: bytes, options: ReadOptions = OPTIONS[0]) -> bool:
    """Whether the fast reader knows a row; if so, hold what it finds against the whole truth."""
    assert is_default_reading(options)
    (scanned,) = nemo_gym_fast.index_rows([line])
    plain = nemo_gym_fast.read(line, "r.jsonl:1")
    if plain is None or scanned is None:
        assert plain is None
        assert scanned is None or nemo_gym_fast.read_question(line) is None
        return False
    candidate, digest = plain
    whole = nemo_gym.read_any_shape(line, options, "r.jsonl")
    assert repr(whole) == repr(RowOutcome([candidate._replace(origin="")], [1]))
    assert candidate.origin == "r.jsonl:1"
    assert digest == digest_response(whole.kept[0].response)
    assert scanned[1:] == (candidate.score, candidate.index, digest)
    asked = nemo_gym_fast.read_question(line)
    assert asked == Candidate(candidate.group, candidate.prompt, [], 0.0, tools=candidate.tools)
    return True


@examples(300)
@given(row=usual_rollouts(), ascii_only=st.booleans())
def test_rows_of_the_usual_shape_are_known(row: Row, *, ascii_only: bool) -> None:
    """No row of that shape takes the long way."""
    assert accepted(json.dumps(row, ensure_ascii=ascii_only).encode() + b"\r\n")


@examples(2500)
@given(line=plain_lines(), options=st.sampled_from(OPTIONS))
@example(line=b"<PLACEHOLDER ROW>\n", options=OPTIONS[0])
@example(line=b"\n", options=OPTIONS[0])
def test_the_shortcut_finds_the_same_or_nothing(line: bytes, options: ReadOptions) -> None:
    """Candidate, digest, score and index; where any shape finds a loss or a mend, nothing."""
    accepted(line, options)


@examples(400)
@given(given_lines=st.lists(plain_lines(), max_size=6), chance=st.randoms(use_true_random=False))
def test_the_index_is_the_same_with_and_without(given_lines: list[bytes], chance: Any) -> None:
    """Groups, scores, digests, places, counts and bad rows; rows with equal questions compete."""
    shuffled = given_lines * 2
    chance.shuffle(shuffled)
    quick = nemo_gym.open_reader([], ReadOptions(), "r.jsonl")
    slow = RecordReader(lambda line: nemo_gym.read_any_shape(line, ReadOptions(), "r.jsonl"))
    assert quick.fast_reader
    assert indexed(shuffled, quick) == indexed(shuffled, slow)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample files are not here")
def test_rows_that_nemo_gym_published() -> None:
    """Every one of them; and it is known of some files how many rows are of the usual shape."""
    counts = {
        path.name.split("__")[0]: sum(map(accepted, path.read_bytes().splitlines(keepends=True)))
        for path in sorted(SAMPLES.glob("*.jsonl"))
    }
    assert {name: counts[name] for name in ACCEPTED} == ACCEPTED


def usual(**more: Any) -> bytes:
    """A usual row as a line, with more in it."""
    row = {
        "responses_create_params": {"input": [{"role": "user", "content": "Q"}]},
        "response": {"output": [message("A")]},
        "reward": 1.0,
    }
    return json.dumps(row | more).encode() + b"\n"


def test_reasoning_with_a_role_is_no_answer() -> None:
    """What the model thought never becomes what it said."""
    thought = {
        "type": "reasoning",
        "role": "assistant",
        "content": [{"type": "text", "text": "hm"}],
    }
    accepted(usual(response={"output": [thought, message("A")]}))


def test_two_turns_of_the_model_in_the_prompt_are_one() -> None:
    """What the model said in a row is one message, there as anywhere."""
    asked = [{"role": role, "content": role} for role in ("user", "assistant", "assistant", "user")]
    accepted(usual(responses_create_params={"input": asked}))


def test_numbers_too_long_to_be_read_do_no_harm_where_nobody_reads_them() -> None:
    """More than 4300 digits: a reader of the whole row refuses them, the fast reader skips them."""
    line = usual(x=0).replace(b'"x": 0', b'"x": ' + b"1" * 4301)
    with pytest.raises(NotJson):
        nemo_gym.read_any_shape(line, OPTIONS[0], "")
    assert nemo_gym_fast.read(line) == nemo_gym_fast.read(usual(x=0))


def test_nesting_at_the_limit_of_the_stack() -> None:
    """At one depth a row passes as a whole, and its request does not; that is no crash."""
    for depth in range(800, 1000):
        nested = b"[" * depth + b"]" * depth
        nemo_gym_fast.read(usual().replace(b'{"input"', b'{"x": ' + nested + b', "input"'))
