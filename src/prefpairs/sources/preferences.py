"""Labelled comparisons: two answers to one prompt, and a label that says which one is preferred.

A label is no score, so these rows become ready-made pairs, whose scores are null.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from prefpairs.errors import BadField, TwoReadings
from prefpairs.fields.answers_in_row import answer_at
from prefpairs.fields.cross_row_facts import Fact
from prefpairs.fields.guess_fields import find_fields
from prefpairs.fields.join_question_columns import tools_beside, whole_question
from prefpairs.fields.make_candidate import Answer
from prefpairs.fields.preference_label import BOTH_BAD, TIE, Meanings, read_label
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.ready_pair import add_pair
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row
from prefpairs.model.candidate import read_text
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import Text
from prefpairs.model.pair import POSITION
from prefpairs.model.path import MISSING, look_up
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]

_SIGNED: Meanings = (("negative", "A"), ("positive", "B"))


class Comparison(NamedTuple):
    """Where the rows of a dataset have the prompt, both answers and the label."""

    prompt: str | None
    """None if each answer is a whole conversation."""
    answers: tuple[str, str]
    label: str
    meanings: Meanings = ()
    models: tuple[str, str] | None = None
    """The columns with the names of the models that answered."""


_DATASETS = (
    Comparison("context", ("response1", "response2"), "overall_preference", _SIGNED),
    Comparison("prompt", ("response_1", "response_2"), "preference_strength", _SIGNED),
    Comparison(None, ("conversation_a", "conversation_b"), "winner", (), ("model_a", "model_b")),
    Comparison(
        "comparison.prompt_conversation",
        ("comparison.completion_A", "comparison.completion_B"),
        "label",
    ),
    Comparison("history", ("human_ref_A", "human_ref_B"), "labels", (("1", "A"), ("0", "B"))),
)
"""HelpSteer3, HelpSteer2, Arena, Tinker and SHP."""

_NEITHER = {TIE: "tied", BOTH_BAD: "both_bad"}

_ANNOTATORS = "individual_preference"
"""The column in which HelpSteer3 has the labels of its annotators."""


def looks_like(record: bytes) -> bool:
    """Whether a record is a row of a known dataset of comparisons."""
    row = decode_object(record)
    return row is not None and _dataset_of(row) is not None


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the comparisons of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def _dataset_of(row: Row) -> Comparison | None:
    """The dataset that a row is from, by its columns."""
    for known in _DATASETS:
        paths = [*known.answers, known.label, *([known.prompt] if known.prompt else [])]
        if all(look_up(row, path) is not MISSING for path in paths):
            return known
    return None


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    facts: list[Fact] = []
    compared = _Compared(row, _comparison(row, options, facts), options, facts)
    try:
        one, other = compared.answers(reading.noticed)
    except Unusable as loss:
        reading.pairs_lost.append(loss.reason)
    else:
        add_pair(one, other, options, label, reading)
    reading.facts = tuple(facts)
    return reading


def _comparison(row: Row, options: ReadOptions, facts: list[Fact]) -> Comparison:
    """Where a row has what is compared: as options say, or as its dataset does."""
    if options.response is not None or options.scores:
        named = "--score" if options.scores else "--response"
        problem = f"these rows compare two answers by a label, and {named} is for scored answers"
        raise TwoReadings(problem, [("--from", "generic")])
    first, second = options.response_a, options.response_b
    if options.preference is None or first is None or second is None:
        known = _dataset_of(row)
        if known is None:
            raise BadField("row", row, "two answers and a label (--preference names them)")
        return known._replace(prompt=options.prompt) if options.prompt else known
    found = find_fields(row, _as_if_scored(options, first))
    facts += found.facts
    return Comparison(found.prompt, (first, second), options.preference, options.preference_map)


def _as_if_scored(options: ReadOptions, response: str) -> ReadOptions:
    """Options with which the prompt alone is looked for."""
    return ReadOptions(
        prompt=options.prompt,
        response=response,
        scores=((response, 1.0),),
        context=options.context,
        ignore=options.ignore,
    )


class _Compared(NamedTuple):
    """A row, and where it has what is compared."""

    row: Row
    comparison: Comparison
    options: ReadOptions
    facts: list[Fact]

    def answers(self, noticed: list[str]) -> tuple[Answer, Answer]:
        """The preferred answer and the other one."""
        comparison = self.comparison
        label = look_up(self.row, comparison.label)
        if label is MISSING or label is None:
            raise Unusable("no_label")
        meanings = self.options.preference_map or comparison.meanings
        names = _names(self.row, comparison)
        preference = read_label(label, comparison.label, meanings, names)
        if preference.side in _NEITHER:
            raise Unusable(_NEITHER[preference.side])
        if _annotators_differ(self.row):
            noticed.append("annotators_differ")
        strength = {} if preference.strength is None else {"strength": preference.strength}
        one, other = (
            self._answer(place, noticed)._replace(
                meta={POSITION: place, **strength, **_model(self.row, comparison, place)}
            )
            for place in (0, 1)
        )
        if one.prompt != other.prompt:
            raise Unusable("environment_differs")
        return (one, other) if preference.side == "A" else (other, one)

    def _answer(self, place: int, noticed: list[str]) -> Answer:
        """One of both answers; that of a conversation is all that follows its first question."""
        row, comparison, options, facts = self
        path = comparison.answers[place]
        said = look_up(row, path)
        response = None if said is MISSING or said is None else answer_at(row, path, noticed)
        own = {name: value for name, value in row.items() if name not in options.ignore}
        if comparison.prompt is None:
            prompt, response = _split(response)
            return Answer(row, prompt, response, (), tools=tools_beside(own, path, options, facts))
        given = look_up(row, comparison.prompt)
        if given is MISSING or given is None:
            raise Unusable("no_prompt")
        prompt = read_text(given, comparison.prompt)
        prompt = whole_question(own, comparison.prompt, prompt, options, facts)
        tools = tools_beside(own, comparison.prompt, options, facts)
        return Answer(row, prompt, response, (), tools=tools)


def _split(conversation: Text | None) -> tuple[Text | None, Text | None]:
    """A conversation, split before the model's first turn."""
    if not isinstance(conversation, list):
        return None, conversation
    spoken = [place for place, turn in enumerate(conversation) if turn["role"] == "assistant"]
    first = spoken[0] if spoken else len(conversation)
    return conversation[:first], conversation[first:]


def _names(row: Row, comparison: Comparison) -> dict[str, str]:
    """The names that both answers have: of their columns, and of their models."""
    columns = [path.rpartition(".")[2] for path in comparison.answers]
    models = [row.get(name) for name in comparison.models or ("model_a", "model_b")]
    names = [pair for pair in (columns, models) if pair[0] != pair[1]]
    return {
        name: side
        for pair in names
        for name, side in zip(pair, "AB", strict=True)
        if isinstance(name, str)
    }


def _model(row: Row, comparison: Comparison, place: int) -> Row:
    """The model that gave an answer, for the meta of its pair."""
    model = None if comparison.models is None else row.get(comparison.models[place])
    return {"model": model} if isinstance(model, str) else {}


def _annotators_differ(row: Row) -> bool:
    """Whether two annotators of one comparison preferred opposite answers."""
    labels = look_up(row, f"{_ANNOTATORS}[].score")
    if not isinstance(labels, list):
        return False
    numbers = [one for one in labels if isinstance(one, (int, float))]
    return any(one < 0 for one in numbers) and any(one > 0 for one in numbers)


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    advice={"no_prompt": "name its field with --prompt PATH"},
)
