"""The native core finds in rows with several answers what Python finds, or nothing."""

import json
from contextlib import suppress
from typing import Any

from chats_with_calls import TURNS, turns
from corrupted_rows import odd_values
from hypothesis import given
from hypothesis import strategies as st
from rollouts_of_any_format import pair_options
from rows_of_any_columns import rows_of_any_names
from rows_of_several_answers import AIMS, almost_usual_rows, changed_rows, usual_rows
from run_in_process import Asked, Row, pair_array, pair_lines, pair_packed
from test_native_core_formats import run_by

from hypothesis_examples import examples
from native_and_python import core, known_by, needs_core, paired
from prefpairs.errors import BadRecord, TwoReadings
from prefpairs.fields.read_options import ReadOptions
from prefpairs.sources import generic
from prefpairs.sources.base import RecordReader
from prefpairs.sources.detect import PAIRS, kind_of, source_of
from prefpairs.strategies import STRATEGIES
from prefpairs.strategies.options import PairOptions

pytestmark = needs_core

LISTS: Row = {"prompt": "Q", "responses": ["A", "B"], "rewards": [1.0, 0.5], "id": 7}
OBJECTS: Row = {"prompt": "Q", "samples": [{"text": "A", "score": 1}, {"text": "B", "score": 0.5}]}
SAMPLES = (LISTS, OBJECTS)


def naming(prompt: str, response: str, score: str) -> ReadOptions:
    """Options that name the fields."""
    return ReadOptions(prompt=prompt, response=response, scores=((score, 1.0),))


READINGS: list[tuple[ReadOptions, Row]] = [
    *((ReadOptions(), sample) for sample in SAMPLES),
    (naming("prompt", "responses", "rewards"), LISTS),
    (naming("prompt", "samples[].text", "samples[].score"), OBJECTS),
    (ReadOptions(response="samples[].text"), OBJECTS),
    (ReadOptions(scores=(("samples[].score", 1.0),)), OBJECTS),
    (ReadOptions(response="samples[].text", scores=(("rewards", 1.0),)), {**LISTS, **OBJECTS}),
    (ReadOptions(cast_score=True, group_by="prompt"), LISTS),
    (ReadOptions(keep_rows=frozenset({"no_score"})), OBJECTS),
    (ReadOptions(drop_rows=frozenset({"failed", "incomplete"})), LISTS),
    (ReadOptions(lower_is_better=True, keep=("id", "responses.0")), LISTS),
    (ReadOptions(group_by=("id",), reasoning="drop"), {**OBJECTS, "id": 7}),
    (ReadOptions(group_by=("prompt", "id//2"), response_part="final"), LISTS),
]
"""Options, and the row on which the reader is opened."""

NAMES: list[tuple[str, str, str]] = [
    ("question", "completions", "scores"),
    ("instruction", "completions", "ratings"),
    ("messages", "outputs", "rewards"),
    ("input", "generations", "correct"),
    ("prompt", "response", "reward"),
    ("query", "responses", "score"),
    ("question", "candidates[].output", "candidates[].reward"),
    ("prompt", "rollouts[].response", "rollouts[].is_correct"),
    ("prompt", "completions[].response", "completions[].score"),
    ("instruction", "responses[].text", "rewards"),
    ("messages", "outputs[].content", "outputs[].rating"),
]
"""Other columns of the prompt, the answers and the scores."""


def opened(options: ReadOptions, sample: Row) -> RecordReader:
    """A reader opened on the sample."""
    return generic.open_reader([json.dumps(sample).encode()], options, "r.jsonl")


def has_native(options: ReadOptions, sample: Row) -> bool:
    """Whether the core reads rows with several answers like this one."""
    native = opened(options, sample).native
    return native is not None and native.reader == "SeveralAnswers"


def is_known(line: bytes, options: ReadOptions, sample: Row) -> bool:
    """Whether the core, opened on a sample, can read a row."""
    how = opened(options, sample)
    if how.native is None:
        return False
    reading = None
    with suppress(BadRecord, TwoReadings):
        reading = generic.read_any_shape(line, options, "r.jsonl")
    if not known_by(core(how), line, reading):
        return False
    assert reading is not None
    assert {*reading.facts} <= {*how.facts}
    assert source_of(line) == "generic"
    assert kind_of(line) != PAIRS
    return True


def row_of(names: tuple[str, str, str], prompt: Any = "Q") -> Row:
    """A row with two answers at these paths."""
    asked, said, judged = names
    scores: list[Any] = [True, False] if "correct" in judged else [1.0, 0.5]
    items: list[Row] = [{}, {}]
    row: Row = {asked: prompt}
    for path, values in ((said, ["A", "B"]), (judged, scores)):
        column, each, name = path.partition("[].")
        row[column] = items if each else values
        for item, value in zip(items if each else (), values, strict=bool(each)):
            item[name] = value
    if asked == "messages" and prompt == "Q":
        row[asked] = [{"role": "user", "content": "Q"}]
    return row


@examples(400)
@given(row=usual_rows(), ascii_only=st.booleans())
def test_rows_of_the_usual_shapes_are_known(row: Row, *, ascii_only: bool) -> None:
    """The core reads lists of texts, lists of objects, and what is empty beside them."""
    sample = LISTS if "responses" in row else OBJECTS
    line = json.dumps(row, ensure_ascii=ascii_only).encode() + b"\r\n"
    assert is_known(line, ReadOptions(), sample)


@examples(3000)
@given(line=almost_usual_rows(), reading=st.sampled_from(READINGS))
def test_rows_of_almost_the_usual_shapes(line: bytes, reading: tuple[ReadOptions, Row]) -> None:
    """The core finds what Python finds, or nothing."""
    is_known(line, *reading)


@examples(1500)
@given(
    row=rows_of_any_names(),
    prompt=turns(3),
    names=st.sampled_from(NAMES),
    more=st.fixed_dictionaries(
        {}, optional={"answer": st.just("42"), "ground_truth": st.just(""), "score": st.none()}
    ),
)
def test_rows_of_any_names(
    row: Row, prompt: list[Row], names: tuple[str, str, str], more: Row
) -> None:
    """The same, whichever row the reader is opened on and whichever rows it reads."""
    usual = row_of(names)
    sample = {**more, **usual}
    for given_row in (row, {**sample, **row}, {**row, **usual, names[0]: [TURNS[0], *prompt]}):
        is_known(json.dumps(given_row).encode(), ReadOptions(), sample)


def test_every_odd_value() -> None:
    """Each odd value once, in rows, lists and objects, with all options."""
    for has, key, value in odd_values(AIMS):
        for options, sample in READINGS:
            row = json.loads(json.dumps(sample))
            items = row.get("samples", [{}])
            for holder in (row, items[-1]):
                if has in holder:
                    line = json.dumps({**row, key: value}).encode()
                    if holder is not row:
                        changed = [*items[:-1], {**holder, key: value}]
                        line = json.dumps({**row, "samples": changed}).encode()
                    is_known(line, options, sample)


def test_every_shape_is_known() -> None:
    """All names of answers and scores, and all ways to name them, unless they may be of others."""
    for names in NAMES:
        sample = row_of(names)
        of_ultrafeedback = sample.keys() >= {"instruction", "completions"}
        line = json.dumps(sample).encode()
        assert is_known(line, ReadOptions(), sample) is not of_ultrafeedback, names
        as_numbers = line.replace(b"true", b"1").replace(b"false", b"0")
        assert is_known(as_numbers, naming(*names), sample) is not of_ultrafeedback, names
    for options, sample in READINGS:
        for more in ({}, {"target": "b", "gold": "a"}, {"gold": "a", "target": "b"}):
            assert is_known(json.dumps({**sample, **more}).encode(), options, sample), options


def test_rows_of_other_sources_are_left_to_python() -> None:
    """Columns that make a row another source's, a pair, or another question."""
    talk = [{"role": "user", "content": "Q"}]
    listed = {"prompt": "Q", "completions": ["A", "B"], "scores": [1, 0]}
    chat = {"messages": talk, "responses": ["A", "B"], "rewards": [1, 0]}
    rated: list[Row] = [{"response": "A", "score": 1, "annotations": {}, "fine-grained_score": 1}]
    named = naming("prompt", "responses", "rewards")
    of_completions = naming("prompt", "completions[].response", "completions[].score")
    spoken = [{**item, "role": "assistant"} for item in OBJECTS["samples"]]
    for sample, more, options in (
        (LISTS, {"content": [talk], "idx": [7]}, ReadOptions()),
        (listed, {"context": None}, ReadOptions()),
        ({"prompt": "Q", "completions": rated}, {"instruction": "I"}, of_completions),
        (LISTS, {"custom_id": "c", "response": None, "error": None}, named),
        (LISTS, {"object": "response", "output": []}, named),
        (LISTS, {"response": {"object": "response", "output": []}}, named),
        (chat, {"messages": json.dumps(talk)}, ReadOptions()),
        (OBJECTS, {"samples": spoken}, ReadOptions()),
    ):
        assert has_native(options, sample)
        assert not is_known(json.dumps({**sample, **more}).encode(), options, sample), more


def test_samples_that_the_core_cannot_read() -> None:
    """Rows are left to Python if paths lead elsewhere, or fields of the sample are missing."""
    row: Row = {**LISTS, **OBJECTS, "answers": ["A", "B"], "others": [{"score": 1}, {"score": 0}]}
    items = [{**item, "truncated": False} for item in OBJECTS["samples"]]
    text, score = "samples[].text", "samples[].score"
    for named, judged, more in (
        (text, "others[].score", {}),
        ("responses", score, {}),
        ("responses", "responses", {}),
        ("samples.0.text", "rewards", {}),
        (text, "samples[].truncated", {"samples": items}),
        (text, score, {"prompt": None}),
        ("responses", "rewards", {"rewards": None}),
        ("responses", "rewards", {"responses": ["A"], "rewards": 1}),
    ):
        options = naming("prompt", named, judged)
        assert not has_native(options, {**row, **more}), (named, judged)
    answers = {"prompt": "Q", "answers": ["A", "B"], "scores": [1, 0]}
    log = {"step": 1, "prompt": "Q", "completion": ["A", "B"], "advantage": [1, 0]}
    alone = {"prompt": "Q", "response": "A", "reward": 1}
    for sample in (answers, log, alone):
        assert not has_native(ReadOptions(), sample)


def test_pairs_are_made_of_such_rows() -> None:
    """Pairs of all answers equal Python's, with their numbers and positions."""
    for options, sample in READINGS:
        how = opened(options, {**sample, "prompt": TURNS[:2]})
        for more in ({}, {"prompt": TURNS[:2]}, {"reference": "G"}):
            line = json.dumps({**sample, **more}).encode() + b"\n"
            for slot in range(2):
                assert paired(line, how.read(line).kept, core(how), slot)


class _Unrender:
    def messages(self, text: str) -> list[Row] | None:
        """Each text is that of a user."""
        return [{"role": "user", "content": text}]


@examples(200)
@given(
    given_rows=st.lists(
        st.one_of(usual_rows(), usual_rows(listed=True), changed_rows()), max_size=6
    ),
    strategy=st.sampled_from([*STRATEGIES]),
    options=pair_options(),
    pair=st.sampled_from([pair_lines, pair_array, pair_packed]),
)
def test_runs(given_rows: list[Row], strategy: str, options: PairOptions, pair: Any) -> None:
    """Pairs, candidates, counts and notes of whole runs are the same with both engines."""
    given_lines = [json.dumps(row).encode() + b"\n" for row in given_rows]
    asked = Asked(strategy=strategy, options=options, read=ReadOptions())
    assert run_by("require", given_lines, asked, pair) == run_by("0", given_lines, asked, pair)


def test_options_that_change_what_is_read_are_left_to_python() -> None:
    """The core does not know these options, so it must not read with them."""
    for options in (
        ReadOptions(group_by="file"),
        ReadOptions(group_by=("rewards[]",)),
        ReadOptions(keep=("rewards[]",)),
        ReadOptions(score_map=(("high", 1.0),)),
        ReadOptions(context=("hint",)),
        ReadOptions(ignore=("system",)),
        ReadOptions(unrender=_Unrender()),
        ReadOptions(scores=(("rewards", 2.0),)),
        ReadOptions(scores=(("rewards", 1.0), ("scores", 1.0))),
    ):
        assert not has_native(options, {**LISTS, "scores": [1.0, 0.5]})
    assert has_native(ReadOptions(), LISTS)
