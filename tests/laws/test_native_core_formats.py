"""The native core finds in candidates, generic rows and items what Python finds, or nothing."""

import json
import os
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from chats_with_calls import TURNS, turns
from hypothesis import given
from hypothesis import strategies as st
from nat_items import plain_items, usual_items
from rollouts_of_any_format import (
    candidate_rows,
    contest_rows,
    generic_rows,
    nat_rows,
    pair_options,
    rollout_lines,
)
from rows_of_any_columns import rows_of_any_names, sample_with
from run_in_process import Asked, Row, extract_lines, pair_array, pair_lines, pair_packed
from test_generic_fast_reader import NAMES, READINGS, SAMPLE
from usual_rows import plain_rows, usual_rows

from hypothesis_examples import examples
from native_and_python import core, known_by, needs_core, paired
from prefpairs.engine.native import VARIABLE
from prefpairs.errors import BadRecord, PrefpairsError, TwoReadings
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model import marks
from prefpairs.sources import candidates, generic, nat
from prefpairs.sources.base import RecordReader
from prefpairs.sources.detect import source_of
from prefpairs.strategies.options import PairOptions

pytestmark = needs_core

TOOLS = [{"type": "function", "function": {"name": "g", "parameters": {"b": 2.0, "a": 1.5}}}]
ODD: list[Any] = [None, True, 0, -0.0, 0.30000000000000004, 1e300, 2**64, "", " ", "x:3", [], {}]
ODD += [TOOLS, [TOOLS], {"a": {"b": [None]}}, {"source_task": "t"}, {"finish_reason": "length"}]
ODD += ["<think>hm</think>A", "prompt:" + "0" * 32]
THINKING = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\u2003"
KEYS = ["group", "prompt", "response", "score", "index", "origin", "tools", "tokens", "meta"]
KEYS += ["system", "turns", "reference"]


def told(how: RecordReader, line: bytes) -> RowOutcome | None:
    """What Python finds in a row; None if it is bad."""
    try:
        return how.read(line)
    except (BadRecord, TwoReadings):
        return None


def candidate_known(line: bytes, options: ReadOptions | None = None) -> bool:
    """Whether the core can read a candidate; the readers of other sources cannot."""
    how = candidates.open_reader([], options or ReadOptions(), "r.jsonl")
    is_known = known_by(core(how), line, told(how, line))
    assert not is_known or source_of(line) == "candidates"
    return is_known


def texts() -> st.SearchStrategy[Any]:
    """Prompts and answers of all kinds."""
    return st.one_of(st.sampled_from(["Q", "A", "\x1f/\u2028é", "<think>a"]), turns(4))


@examples(2000)
@given(
    prompt=texts(),
    response=texts(),
    score=st.one_of(st.floats(-1e308, 1e308), st.integers(-3, 3)),
    more=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(ODD), max_size=3),
    chance=st.randoms(use_true_random=False),
)
def test_candidates(prompt: Any, response: Any, score: float, more: Row, chance: Random) -> None:
    """Candidates of texts and chats, with tools, tokens, meta and extra fields, to the byte."""
    row = {"group": "g", "prompt": prompt, "response": response, "score": score, "origin": "a:1"}
    members = list({**row, **more}.items())
    chance.shuffle(members)
    line = json.dumps(dict(members), ensure_ascii=chance.random() < 0.5).encode() + b"\n"
    candidate_known(line)
    place = chance.randrange(len(line))
    candidate_known(line[:place] + bytes([chance.randrange(256)]) + line[place + 1 :])


def test_what_extract_writes_is_known() -> None:
    """The core reads what `extract` writes: calls, results, reasoning, tools, tokens and meta."""
    called = [TURNS[4], TURNS[6], TURNS[3]]
    row: Row = {"group": "g", "prompt": "Q", "response": "A", "score": 1.0, "index": None}
    row["origin"] = "r.jsonl:1#2"
    for more in (
        {},
        {"prompt": TURNS[:2], "response": called, "tools": TOOLS},
        {"prompt": [TURNS[0], *called[:2]], "response": [TURNS[6], TURNS[2]][1:]},
        {"meta": {"example_id": 7}, "tokens": {"response_ids": [1, 2]}},
        {"response": "<think>hm</think>A", "index": 3},
        {"reference": {"b": "4", "a": [1.0, None]}},
    ):
        assert candidate_known(json.dumps({**row, **more}).encode() + b"\n")


def generic_known(line: bytes, options: ReadOptions, sample: Row) -> bool:
    """Whether the core, opened on a sample, can read a generic row."""
    how = generic.open_reader([json.dumps(sample).encode()], options, "r.jsonl")
    if how.native is None:
        return False
    reading = None
    with suppress(BadRecord, TwoReadings):
        reading = generic.read_any_shape(line, options, "r.jsonl")
    is_known = known_by(core(how), line, reading)
    if is_known:
        assert reading is not None
        assert {*reading.facts} <= {*how.facts}
        assert source_of(line) == "generic"
    return is_known


@examples(500)
@given(row=usual_rows(), ascii_only=st.booleans(), reading=st.sampled_from(READINGS[:5]))
def test_generic_rows_of_the_usual_shape_are_known(
    row: Row, reading: tuple[ReadOptions, Row], *, ascii_only: bool
) -> None:
    """The core reads all generic rows of the usual shape."""
    assert generic_known(json.dumps(row, ensure_ascii=ascii_only).encode() + b"\r\n", *reading)


@examples(2500)
@given(line=plain_rows(), reading=st.sampled_from(READINGS))
def test_generic_rows(line: bytes, reading: tuple[ReadOptions, Row]) -> None:
    """For generic rows, the core finds what Python finds, or nothing."""
    generic_known(line, *reading)


@examples(1500)
@given(
    row=rows_of_any_names(),
    prompt=turns(3),
    names=st.sampled_from(NAMES),
    more=st.fixed_dictionaries(
        {},
        optional={"step": st.just(1), "answer": st.just("42"), "ground_truth": st.just("")},
    ),
)
def test_generic_rows_of_any_names(
    row: Row, prompt: list[Row], names: tuple[str, str, str], more: Row
) -> None:
    """The same, whichever row the reader is opened on and whichever rows it reads."""
    sample = sample_with(names, more)
    for given_row in (row, {**sample, **row}, {**sample, names[0]: [TURNS[0], *prompt]}):
        generic_known(json.dumps(given_row).encode(), ReadOptions(), sample)


REASONS = [*marks._CUT_OFF, "Max_Tokens", "INCOMPLETE"]  # noqa: SLF001 - the core has them, too
REASONS += ["max_to\u212aens", "\u006cength"]


@pytest.mark.parametrize("name", ["finish_reason", "stop_reason", "status"])
def test_reasons_for_an_end(name: str) -> None:
    """The core knows any reason but those that say that an answer was cut off."""
    for reason in ("stop", "completed", "tool_calls", "OK", "lengthy"):
        assert generic_known(json.dumps({**SAMPLE, name: reason}).encode(), ReadOptions(), SAMPLE)
    for reason in (*REASONS, "f\u00fcllig"):
        row = {**SAMPLE, name: reason}
        assert not generic_known(json.dumps(row).encode(), ReadOptions(), SAMPLE)
        assert not generic_known(
            json.dumps(row, ensure_ascii=False).encode(), ReadOptions(), SAMPLE
        )


def test_every_odd_value() -> None:
    """The same for odd values in every column of the sample, and in other meaningful columns."""
    others = ["status", "error", "finish_reason", "tools", "score", "system", "turn"]
    for name in (*SAMPLE, *others):
        for value in ODD:
            generic_known(json.dumps({**SAMPLE, name: value}).encode(), ReadOptions(), SAMPLE)


def test_pairs_are_made_of_usual_rows() -> None:
    """Pairs of texts and chats, from rows with origins and without, equal Python's."""
    row: Row = {"group": "g", "prompt": TURNS[:2], "response": "A", "score": 0.5, "origin": ""}
    for more in ({}, {"origin": "a:3", "tools": TOOLS}, {"prompt": "Q"}, {"response": [TURNS[3]]}):
        how = candidates.open_reader([], ReadOptions(), "r.jsonl")
        line = json.dumps({**row, **more}).encode() + b"\n"
        assert paired(line, how.read(line).kept, core(how))
    how = generic.open_reader([json.dumps(SAMPLE).encode()], ReadOptions(), "r.jsonl")
    line = json.dumps({**SAMPLE, "question": TURNS[:2]}).encode() + b"\n"
    assert paired(line, how.read(line).kept, core(how))


def nat_known(line: bytes) -> bool:
    """Whether the core can read an item, all of whose candidates are kept."""
    how = nat.open_reader([], ReadOptions(), "w.json")
    is_known = known_by(core(how), line, told(how, line))
    assert not is_known or source_of(line) == "nat"
    return is_known


@examples(300)
@given(item=usual_items(), ascii_only=st.booleans())
def test_items_of_the_usual_shape_are_known(item: Row, *, ascii_only: bool) -> None:
    """The core reads all items of the usual shape, with all candidates and turns."""
    assert nat_known(json.dumps(item, ensure_ascii=ascii_only, indent=1).encode())


@examples(1500)
@given(line=plain_items(), rows=nat_rows())
def test_items(line: bytes, rows: list[Row]) -> None:
    """For almost usual items and others, the core finds what Python finds, or nothing."""
    nat_known(line)
    for row in rows:
        nat_known(json.dumps(row).encode())


def test_pairs_are_made_of_items() -> None:
    """Pairs of candidates of one turn, with example and turn IDs, equal Python's."""
    steps = [{"payload": {**STEP, "data": {**DATA, "input": TURNS[:2]}}}] * 2
    line = json.dumps({"id": 7, "intermediate_steps": steps}).encode()
    how = nat.open_reader([], ReadOptions(), "w.json")
    for slot in range(2):
        assert paired(line, how.read(line).kept, core(how), slot)


@pytest.mark.parametrize("asked", [THINKING, [{"role": "user", "content": THINKING}]])
def test_thinking_that_a_prompt_begins_is_left_to_python(asked: Any) -> None:
    """If the prompt ends in <think>, Python decides whether there is an answer."""
    row = {**SAMPLE, "question": asked}
    assert not generic_known(json.dumps(row).encode(), ReadOptions(), SAMPLE)
    nat_row = {
        "id": 7,
        "intermediate_steps": [{"payload": {**STEP, "data": {**DATA, "input": asked}}}],
    }
    assert not nat_known(json.dumps(nat_row).encode())
    assert nat.read_usual(json.dumps(nat_row).encode(), STEP["name"]) is None
    candidate = {"group": "g", "prompt": asked, "response": "A", "score": 1.0, "origin": "a:1"}
    assert candidate_known(json.dumps(candidate).encode())


STEP = {"event_type": "TTC_END", "name": "dpo_candidate_move"}
DATA = {"turn_id": "t", "output": "A", "score": 1.0, "candidate_index": 0}


@examples(1000)
@given(
    prompts=st.lists(
        st.one_of(st.sampled_from(["Q", " ", None, [], {"a": 1}]), turns(4)), min_size=1
    ),
    more=st.dictionaries(st.sampled_from([*DATA, "x"]), st.sampled_from(ODD), max_size=2),
    item_id=st.sampled_from([0, -1, "0", "é", 2**63, 1.0, None, True]),
    place=st.integers(0, 4),
)
def test_prompts_of_items(prompts: list[Any], more: Row, item_id: Any, place: int) -> None:
    """The same for prompts of every kind, also with the answer at their end."""
    given_data = [{**DATA, "input": prompt} for prompt in prompts]
    given_data[place % len(prompts)] |= more
    steps = [{"payload": {**STEP, "data": data}} for data in given_data]
    nat_known(json.dumps({"id": item_id, "intermediate_steps": steps}).encode())


@examples(200)
@given(
    given_lines=st.one_of(
        rollout_lines(),
        st.one_of(candidate_rows(), generic_rows(), nat_rows(), st.lists(usual_items())).map(
            lambda rows: [json.dumps(row).encode() + b"\n" for row in rows]
        ),
    ),
    strategy=st.sampled_from(["best-vs-worst", "exhaustive", "random"]),
    options=pair_options(),
    pair=st.sampled_from([pair_lines, pair_array, pair_packed]),
)
def test_runs(given_lines: list[bytes], strategy: str, options: PairOptions, pair: Any) -> None:
    """Pairs, candidates, counts and notes of whole runs are the same with both engines."""
    asked = Asked(strategy=strategy, options=options, read=ReadOptions())
    assert run_by("require", given_lines, asked, pair) == run_by("0", given_lines, asked, pair)


@examples(600)
@given(
    given_rows=st.one_of(contest_rows(), contest_rows(st.sampled_from([0.1, 0.3, 0.4, 0.9]))),
    strategy=st.sampled_from(["best-vs-worst", "exhaustive"]),
    options=pair_options(),
    numbered=st.booleans(),
)
def test_decided_within_bounds(
    given_rows: list[Row], strategy: str, options: PairOptions, *, numbered: bool
) -> None:
    """The pairs, and which bound left out how many, also where the widest pair is not allowed."""
    _same_of_candidates(given_rows, Asked(strategy=strategy, options=options), numbered=numbered)


@pytest.mark.full
def test_large_groups_and_many_pairs_are_decided() -> None:
    """Groups whose pairs Python makes, and more pairs than are decided at a time."""
    answers = [(f"A{at}", at % 40 / 40) for at in range(400)]
    for size in (8, 128, 130):
        rows = [
            {"prompt": f"Q{at // size}", "response": answer, "score": score}
            for at, (answer, score) in enumerate(answers)
        ]
        for strategy in ("best-vs-worst", "exhaustive"):
            options = PairOptions(min_gap=0.1, max_gap=0.9, max_pairs_per_group=7000)
            _same_of_candidates(rows, Asked(strategy=strategy, options=options), numbered=True)


def _same_of_candidates(given_rows: list[Row], asked: Asked, *, numbered: bool) -> None:
    of_group = {"group": "g", "origin": "o"}
    rows = [{**of_group, "index": at, **row} for at, row in enumerate(given_rows)]
    given_lines = [json.dumps(row).encode() + b"\n" for row in (rows if numbered else given_rows)]
    runs = [run_by(word, given_lines, asked, pair_lines) for word in ("require", "0")]
    assert runs[0] == runs[1]


def run_by(word: str, given_lines: list[bytes], asked: Asked, pair: Any) -> list[object]:
    """What runs with this engine give: lines, counts and notes, or an error."""
    runs = partial(pair, given_lines, asked), partial(extract_lines, given_lines, asked.read)
    told_by: list[object] = []
    with patch.dict(os.environ, {VARIABLE: word}):
        for run in runs:
            try:
                outcome = run()
            except PrefpairsError as error:
                told_by.append(repr(error))
            else:
                told_by.append((outcome.lines, outcome.counts(), outcome.ledger.notes))
    return told_by
