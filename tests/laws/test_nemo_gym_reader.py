"""NeMo Gym rows as typed structs: the fast reader finds what the general one does, or nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from corrupted_rows import FUNCTION
from hypothesis import example, given
from hypothesis import strategies as st
from rollouts_of_any_format import gym_rows
from run_in_process import Row
from usual_rollouts import ITEMS, message, plain_lines, usual_rollouts

from hypothesis_examples import examples
from prefpairs.errors import NotJson
from prefpairs.fields.read_options import ReadOptions, is_default_reading
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest_response
from prefpairs.sources import nemo_gym
from prefpairs.sources.base import RecordReader
from prefpairs.sources.nemo_gym import read_question
from scan_in_process import indexed

SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "nemo-gym"
ACCEPTED = {
    "anyswe_claude_code": 5,
    "aviary": 0,
    "blackjack": 5,
    "example_multi_step": 5,
    "example_tool_call_multireward": 5,
    "google_search": 5,
    "graphwalks": 5,
    "multichallenge": 0,
    "physics_with_judge": 25,
    "tau2_synth": 5,
    "tavily_search": 0,
    "text_to_sql": 15,
}


OPTIONS = [ReadOptions(), ReadOptions(cast_score=True), ReadOptions(step_name="x")]
OPTIONS += [ReadOptions(keep_rows=frozenset({"masked", "failed", "incomplete", "no_score"}))]


def accepted(line: bytes, options: ReadOptions = OPTIONS[0]) -> bool:
    """Whether the fast reader can read a row; if so, its result equals the general reader's."""
    assert is_default_reading(options)
    how = nemo_gym.open_reader([], options, "r.jsonl")
    assert how.fast_reader
    (scanned,) = how.fast_reader.index_rows([line])
    plain = how.fast_reader.read(line)
    asked = None if scanned is None else read_question(line)
    if scanned is None or asked is None:
        assert plain is None
        return False
    whole = nemo_gym.read_any_shape(line, options, "r.jsonl")
    (candidate,) = whole.kept
    assert whole == RowOutcome([candidate], [1], noticed=[*scanned[4]])
    digest = digest_response(candidate.response)
    assert scanned[1:4] == (candidate.score, candidate.index, digest)
    assert asked == Candidate(candidate.group, candidate.prompt, [], 0.0, tools=candidate.tools)
    assert repr(plain) == repr(whole)
    return True


def _typed(item: Row) -> Row:
    """An item as NeMo Gym writes it."""
    return {"type": "message", "id": "m", "status": "completed", **item}


@examples(300)
@given(row=usual_rollouts(), ascii_only=st.booleans())
def test_rows_of_the_usual_shape_are_known(row: Row, *, ascii_only: bool) -> None:
    """The fast reader reads every row of the usual shape."""
    assert accepted(json.dumps(row, ensure_ascii=ascii_only).encode() + b"\r\n")


@examples(2500)
@given(line=plain_lines(), options=st.sampled_from(OPTIONS))
@example(line=b"<PLACEHOLDER ROW>\n", options=OPTIONS[0])
@example(line=b"\n", options=OPTIONS[0])
def test_the_shortcut_finds_the_same_or_nothing(line: bytes, options: ReadOptions) -> None:
    """Candidate, digest, score and index are equal; rows with losses are passed on."""
    accepted(line, options)


@examples(1500)
@given(
    items=st.lists(st.sampled_from([*ITEMS, *map(_typed, ITEMS)]), max_size=8),
    place=st.integers(0, 8),
    tools=st.sampled_from([None, [], [FUNCTION]]),
)
def test_calls_and_their_results(items: list[Row], place: int, tools: Any) -> None:
    """The same with repeated or missing call IDs, or calls in the prompt."""
    asked = [{"role": "user", "content": "Q"}, *items[:place]]
    request = {"input": asked, "tools": tools, "max_tool_calls": None}
    for output in (items[place:], [*items[place:], message("A")]):
        accepted(usual(responses_create_params=request, response={"output": output}))


@examples(600)
@given(rows=gym_rows(), ascii_only=st.booleans(), options=st.sampled_from(OPTIONS))
def test_rows_with_tools_and_several_turns(
    rows: list[Row], options: ReadOptions, *, ascii_only: bool
) -> None:
    """The same for rows that are often equal, tied or unfit."""
    for row in rows:
        line = json.dumps(row, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        accepted(line, options)


@examples(400)
@given(given_lines=st.lists(plain_lines(), max_size=6), chance=st.randoms(use_true_random=False))
def test_the_index_is_the_same_with_and_without(given_lines: list[bytes], chance: Any) -> None:
    """Groups, scores, digests, positions, counts and bad rows are the same with and without it."""
    shuffled = given_lines * 2
    chance.shuffle(shuffled)
    quick = nemo_gym.open_reader([], ReadOptions(), "r.jsonl")
    slow = RecordReader(lambda line: nemo_gym.read_any_shape(line, ReadOptions(), "r.jsonl"))
    assert quick.fast_reader
    assert indexed(shuffled, quick) == indexed(shuffled, slow)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample files are not here")
def test_rows_that_nemo_gym_published() -> None:
    """The same for all published rows; for some files, the number of usual rows is known."""
    counts = {
        path.name.split("__")[0]: sum(map(accepted, path.read_bytes().splitlines(keepends=True)))
        for path in sorted(SAMPLES.glob("*.jsonl"))
    }
    assert counts == ACCEPTED


def read_fast(line: bytes) -> Any:
    """The result of the fast reader; None if it passes the row on."""
    usual_reader = nemo_gym.open_reader([], ReadOptions(), "r.jsonl").fast_reader
    return usual_reader and usual_reader.read(line)


def usual(**more: Any) -> bytes:
    """A usual row as a line, with extra fields."""
    row = {
        "responses_create_params": {"input": [{"role": "user", "content": "Q"}]},
        "response": {"output": [message("A")]},
        "reward": 1.0,
    }
    return json.dumps(row | more).encode() + b"\n"


def test_reasoning_with_a_role_is_no_answer() -> None:
    """Reasoning never becomes part of the answer."""
    thought = {
        "type": "reasoning",
        "role": "assistant",
        "content": [{"type": "text", "text": "hm"}],
    }
    accepted(usual(response={"output": [thought, message("A")]}))


def test_two_turns_of_the_model_in_the_prompt_are_one() -> None:
    """Consecutive assistant turns in a prompt are one message, as elsewhere."""
    asked = [{"role": role, "content": role} for role in ("user", "assistant", "assistant", "user")]
    accepted(usual(responses_create_params={"input": asked}))


def test_numbers_too_long_to_be_read_do_no_harm_where_nobody_reads_them() -> None:
    """A number of more than 4300 digits in an unused field is skipped by the fast reader only."""
    line = usual(x=0).replace(b'"x": 0', b'"x": ' + b"1" * 4301)
    with pytest.raises(NotJson):
        nemo_gym.read_any_shape(line, OPTIONS[0], "")
    assert read_fast(line) == read_fast(usual(x=0))


def test_nesting_at_the_limit_of_the_stack() -> None:
    """At one depth, a row can be parsed and the request inside it cannot; that does not crash."""
    for depth in range(800, 1000):
        nested = b"[" * depth + b"]" * depth
        read_fast(usual().replace(b'{"input"', b'{"x": ' + nested + b', "input"'))
