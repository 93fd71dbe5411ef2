"""With options of reading, the native core finds what Python finds, or nothing."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import ANY, patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nat_items import usual_items
from rollouts_of_any_format import (
    candidate_rows,
    generic_rows,
    gym_rows,
    nat_rows,
    pair_options,
)
from rows_of_any_columns import rows_of_any_names, sample_with
from rows_of_several_answers import changed_rows
from run_in_process import Asked, Outcome, Row, extract_lines, pair_lines
from test_generic_fast_reader import NAMES
from usual_rollouts import usual_rollouts
from usual_rows import usual_rows

from hypothesis_examples import examples
from native_and_python import core, known_by, needs_core, paired
from prefpairs.engine.native import VARIABLE, core_for
from prefpairs.errors import BadRecord, PrefpairsError, TwoReadings
from prefpairs.fields.read_options import ReadOptions
from prefpairs.sources import source_named
from prefpairs.strategies.options import PairOptions

pytestmark = needs_core

GROUPS: list[Any] = ["auto", "prompt", ("id",), ("prompt", "id"), ("n//4",), ("m.x.0", "prompt")]
SCORES: list[tuple[tuple[str, float], ...]] = [()]
SCORES += [(("s", 1.0),), (("s", 0.1),), (("s", 0.7), ("m.y", -3.0))]
KEPT: list[tuple[str, ...]] = [(), (), ("id",), ("m.x", "n"), ("s", "m", "source_task"), ("m[].x",)]
KEPT += [("error", "id"), ("chosen_id", "id")]
VALUES: list[Any] = ["a", "é\u2028", 0, -1, 5, 2**70, 0.1, 1e22, True, False, None, []]
VALUES += [{"b": [1.0]}, "0.70", "TRUE", " 1", "1e400", "b", "007"]
GRADES: list[tuple[tuple[str, float], ...]] = [(), (), (("a", 1.0), ("b", 0.5), ("a", 2.0))]
GRADES += [(("1", 2.0), ("0.7", 1.0))]
ANSWERED: Row = {"prompt": "Q", "response": "A", "score": 1.0}
TALK: Row = {
    "prompt": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}],
    "score": 0.5,
}
"""Whether its last turn is the answer is not known if other rows have a response."""
MORE: Row = {"id": "a", "n": 5, "s": 0.25, "t": "0.5", "m": {"x": ["a"], "y": 1}}
"""What every row has besides, in the tests of rows that the core must know."""


def more_columns() -> st.SearchStrategy[Row]:
    """Columns that options name, mostly with a usual value."""
    value = st.sampled_from([*VALUES, *[7] * 8])
    ends = st.sampled_from([None, "", "boom", False])
    nested = st.fixed_dictionaries({}, optional={"x": st.lists(value, max_size=2), "y": value})
    columns = {"id": value, "n": value, "s": value, "m": nested, "m.y": value, "error": ends}
    return st.fixed_dictionaries({}, optional=columns)


def options_of_reading() -> st.SearchStrategy[ReadOptions]:
    """Options that the core knows, all together."""
    return st.builds(
        ReadOptions,
        group_by=st.sampled_from(GROUPS),
        scores=st.sampled_from(SCORES),
        score_map=st.sampled_from(GRADES),
        cast_score=st.booleans(),
        lower_is_better=st.booleans(),
        reasoning=st.sampled_from(["keep", "drop"]),
        response_part=st.sampled_from(["full", "final"]),
        keep=st.sampled_from(KEPT),
    )


def is_known(source: str, row: Row, options: ReadOptions, sample: Row) -> bool:
    """Whether the core indexes a row; if so, its result equals Python's."""
    text = json.dumps(row, ensure_ascii=len(row) % 2 == 0)
    line = text.encode("utf-8", "surrogatepass") + b"\n"
    with suppress(BadRecord, TwoReadings):
        opened = source_named(source).open_reader
        how = opened([json.dumps(sample).encode()], options, "r.jsonl")
        told = None
        with suppress(BadRecord, TwoReadings):
            told = how.read(line)
        reader = core_for(how)
        return reader is not None and known_by(reader, line, told)
    return False


GENERIC = {"question": "Q", "response": "A", "reward": 1.0, **MORE}
CANDIDATE = {"group": "g", "prompt": "Q", "response": "A", "score": 0.5, "origin": "a:1"}

LISTED: Row = {"prompt": "Q", "responses": ["A", "B"], "rewards": [1.0, 0.5], **MORE}
ITEMIZED: Row = {"prompt": "Q", "samples": [{"text": "A", "score": 1.0}], **MORE}
ROLLOUT: Row = {
    "responses_create_params": {"input": "Q"},
    "response": {"output": [{"type": "message", "role": "assistant", "content": "A"}]},
    "reward": 0.5,
    **MORE,
}


@examples(1500)
@given(rows=gym_rows(), more=more_columns(), options=options_of_reading())
def test_rollouts_of_nemo_gym(rows: list[Row], more: Row, options: ReadOptions) -> None:
    """Calls, results, reasoning and several turns, grouped and scored in all ways."""
    for row in rows:
        is_known("nemo-gym", row | more, options, row)


@examples(1000)
@given(rows=generic_rows(), more=more_columns(), options=options_of_reading())
def test_generic_rows(rows: list[Row], more: Row, options: ReadOptions) -> None:
    """The same for rows of one's own, whichever of them comes first."""
    for row in rows:
        is_known("generic", row | more, options, rows[0] | more)
        is_known("generic", row | more, options, GENERIC)


@examples(1000)
@given(row=usual_rows(), more=more_columns(), options=options_of_reading())
def test_usual_generic_rows(row: Row, more: Row, options: ReadOptions) -> None:
    """The same for usual ones."""
    is_known("generic", row | more, options, GENERIC)


@examples(1500)
@given(
    row=rows_of_any_names(),
    names=st.sampled_from(NAMES),
    more=more_columns(),
    options=options_of_reading(),
    ignored=st.sampled_from([(), (), ("id",), ("answer", "context"), ("m.x",)]),
)
def test_generic_rows_of_any_names(
    row: Row, names: tuple[str, str, str], more: Row, options: ReadOptions, ignored: tuple[str, ...]
) -> None:
    """The same for columns of any name, some of which are ignored."""
    sample = sample_with(names, more)
    options = replace(options, ignore=ignored)
    for given_row in (row, {**sample, **row}, {**row, **sample}):
        is_known("generic", given_row, options, sample)
        is_known("generic", given_row, options, given_row)


@examples(1000)
@given(row=changed_rows(), more=more_columns(), listed=st.booleans(), options=options_of_reading())
def test_rows_with_several_answers(
    row: Row, more: Row, *, listed: bool, options: ReadOptions
) -> None:
    """The same for rows with several answers, in lists or objects."""
    sample = LISTED if listed else ITEMIZED
    is_known("generic", row | more, options, sample)
    is_known("generic", row | more, options, row | more)


@examples(1000)
@given(rows=candidate_rows(), options=options_of_reading(), meta=more_columns())
def test_candidates(rows: list[Row], options: ReadOptions, meta: Row) -> None:
    """The same for candidates, whose groups may name a task."""
    for row in rows:
        is_known("candidates", row, options, row)
        is_known("candidates", {**row, "meta": meta}, options, row)


def test_a_name_of_steps_that_is_no_text() -> None:
    """Bytes of the command line that are no text never reach the core."""
    item = {"id": 1, "intermediate_steps": []}
    for name, native in (("move", True), ("\udce9", False)):
        options = ReadOptions(step_name=name)
        how = source_named("nat").open_reader([json.dumps(item).encode()], options, "w.json")
        assert (core_for(how) is not None) == native


@examples(500)
@given(item=usual_items(), rows=nat_rows(), options=options_of_reading())
def test_items(item: Row, rows: list[Row], options: ReadOptions) -> None:
    """The same for items."""
    for row in (item, *rows):
        is_known("nat", row, options, row)


ALONE = [
    *[ReadOptions(group_by=group) for group in GROUPS],
    *[ReadOptions(scores=scores) for scores in SCORES],
    ReadOptions(lower_is_better=True),
    ReadOptions(cast_score=True, scores=(("t", 1.0),)),
    ReadOptions(score_map=(("0.5", 2.0),), scores=(("t", 1.0),)),
    ReadOptions(reasoning="drop"),
    ReadOptions(response_part="final"),
    ReadOptions(keep=("id",)),
    ReadOptions(group_by=("id", "n//4"), scores=SCORES[-1], lower_is_better=True, keep=("n",)),
]


@pytest.mark.parametrize("options", ALONE)
@examples(40)
@given(rollout=usual_rollouts(), item=usual_items())
def test_usual_rows_are_known(options: ReadOptions, rollout: Row, item: Row) -> None:
    """None of these options sends usual rows to Python."""
    assert is_known("nemo-gym", ROLLOUT, options, ROLLOUT)
    assert is_known("nemo-gym", rollout | MORE, options, rollout)
    assert is_known("generic", GENERIC, options, GENERIC)
    if not options.scores:
        assert is_known("generic", LISTED, options, LISTED)
        assert is_known("generic", ITEMIZED, options, ITEMIZED)
    if not options.scores and isinstance(options.group_by, str):
        assert is_known("candidates", CANDIDATE, options, CANDIDATE)
        assert is_known("nat", item, options, item) == (options.group_by == "auto")


@pytest.mark.parametrize("kept", [("id",), ("m.x", "n"), ("nowhere", "s", "m")])
def test_pairs_take_what_is_kept(kept: tuple[str, ...]) -> None:
    """The core makes pairs with fields that options keep, of one row and of rows that differ."""
    options = ReadOptions(keep=kept, group_by="prompt")
    for source, row in (("nemo-gym", ROLLOUT), ("generic", GENERIC)):
        sample = json.dumps(row | {"nowhere": 1}).encode()
        how = source_named(source).open_reader([sample], options, "r.jsonl")
        line = json.dumps(row).encode()
        assert paired(line, how.read(line).kept, core(how))


@pytest.mark.parametrize("kept", ["error", "response.status", "chosen_id"])
def test_kept_fields_with_a_meaning_of_their_own(kept: str) -> None:
    """Fields that mark answers are counted, and others do not take their names."""
    response = ROLLOUT["response"] | {"status": "incomplete"}
    better = ROLLOUT | {"error": "boom", "response": response, "chosen_id": 1}
    said = {"type": "message", "role": "assistant", "content": "B"}
    worse = ROLLOUT | {"reward": 0.0, "response": {"output": [said]}, "id": "b", "chosen_id": 1}
    lines = [json.dumps(row).encode() + b"\n" for row in (better, worse)]
    asked = Asked(read=ReadOptions(keep=(kept, "id")))
    told = _told("0", lines, asked)
    assert _told("require", lines, asked) == told
    assert "chosen_id" in str(told)


@pytest.mark.parametrize(
    "options",
    [
        ReadOptions(group_by="file"),
        ReadOptions(keep=("\udce9",)),
        ReadOptions(scores=(("s", 1.0),), score_map=(("\udce9", 1.0),)),
        ReadOptions(group_by=("file", "id")),
        ReadOptions(group_by=("id~(.)",)),
        ReadOptions(group_by=("m[].x",)),
        ReadOptions(group_by=(f"n//{2**63}",)),
        ReadOptions(scores=(("s", 1.0), ("n", 1.0), ("m.y", 1.0))),
        ReadOptions(scores=(("m.x[]", 1.0),)),
        ReadOptions(score_map=(("a", 1.0),), scores=(("s", 1.0),)),
        ReadOptions(keep=("id",), drop_rows=frozenset({"failed"})),
        ReadOptions(context=("id",)),
    ],
)
def test_what_only_python_knows(options: ReadOptions) -> None:
    """Options that the core does not know, or whose sums it would round otherwise."""
    assert not is_known("generic", GENERIC, options, GENERIC)
    assert not is_known("candidates", CANDIDATE, options, CANDIDATE)
    assert not is_known("nemo-gym", ROLLOUT, options, ROLLOUT)


@examples(300)
@given(
    rows=st.one_of(gym_rows(), generic_rows(), candidate_rows(), nat_rows()),
    columns=st.lists(more_columns(), min_size=1, max_size=4),
    strategy=st.sampled_from(["best-vs-worst", "exhaustive", "random"]),
    options=pair_options(),
    read=options_of_reading(),
    chance=st.randoms(use_true_random=False),
)
def test_runs(  # noqa: PLR0913 - the rows and the options of a run
    *,
    rows: list[Row],
    columns: list[Row],
    strategy: str,
    options: PairOptions,
    read: ReadOptions,
    chance: Random,
) -> None:
    """Pairs, candidates, counts and notes of whole runs are the same with both engines."""
    lines = [json.dumps(row | chance.choice(columns)).encode() + b"\n" for row in rows]
    asked = Asked(strategy=strategy, options=options, read=read)
    assert _told("require", lines, asked) == _told("0", lines, asked)


@pytest.mark.parametrize("word", ["require", "0"])
@pytest.mark.parametrize("read", [ReadOptions(), ReadOptions(lower_is_better=True)])
@given(before=st.lists(st.sampled_from([TALK, None]), max_size=4), order=st.permutations(range(5)))
def test_rows_that_contradict_others_are_named(
    *, word: str, read: ReadOptions, before: list[Row | None], order: list[int]
) -> None:
    """Both engines name the first row that says otherwise than the rows before it."""
    rows = [*before, TALK, *(ANSWERED if place else None for place in order)]
    lines = [b"\n" if row is None else json.dumps(row).encode() + b"\n" for row in rows]
    at = f"rows.jsonl:{rows.index(ANSWERED) + 1}"
    for error in _told(word, lines, Asked(read=read)):
        assert error == (ANY, at)


def _told(word: str, lines: list[bytes], asked: Asked) -> list[object]:
    """What pair and extract write, count and note, or their errors."""
    runs: list[tuple[Callable[..., Outcome], object]] = [
        (pair_lines, asked),
        (extract_lines, asked.read),
    ]
    told: list[object] = []
    with patch.dict(os.environ, {VARIABLE: word}):
        for run, words in runs:
            try:
                outcome = run(lines, words)
            except PrefpairsError as error:
                told.append((repr(error), getattr(error, "place", None)))
            else:
                told.append((outcome.lines, outcome.counts(), outcome.ledger.notes))
    return told
