"""lm-eval: a line of `samples_*.jsonl` is a document, what a model answered, and metrics.

A metric is for what a filter made of all repeats of a document. It is the score of an answer only
if there is one answer, if the filter takes the first one, or if the metric has a value for each.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from prefpairs.errors import BadField, NoSuchPath, TwoReadings
from prefpairs.fields.answers_in_row import WeightedScore
from prefpairs.fields.choose_field import check_direction, score_choices
from prefpairs.fields.cross_row_facts import Fact
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row
from prefpairs.model.candidate import chat_in
from prefpairs.model.identity import canonical_json, digest
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import Text
from prefpairs.model.pair import POSITION
from prefpairs.model.path import MISSING, look_up
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]

_OF_SAMPLES = frozenset({"doc_id", "doc", "arguments", "resps", "filtered_resps"})
_EACH = "[]"
"""What --score adds to the name of a metric that has a value for each answer."""
_TAKES_FIRST = frozenset({"none", "take_first"})
"""The filters that take the first answer as it is."""


def looks_like(record: bytes) -> bool:
    """Whether a record is a document with its answers."""
    row = decode_object(record)
    return row is not None and row.keys() >= _OF_SAMPLES


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the samples of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    facts: list[Fact] = []
    try:
        scores = _scores(row, options, facts)
        prompt, answers = _prompt(row), _answers(row)
    except Unusable as loss:
        reading.lost.append(loss.reason)
        return reading
    reading.facts = tuple(facts)
    for place, said in enumerate(answers):
        own = [
            (path, weight, _of_answer(path, value, place, len(answers), row))
            for path, weight, value in scores
        ]
        position = {POSITION: place} if len(answers) > 1 else None
        answer = Answer(row, prompt, said, own, _task(row), meta=position)
        add_candidate(answer, replace(options, scores=()), label, reading)
    return reading


def _scores(row: Row, options: ReadOptions, facts: list[Fact]) -> list[WeightedScore]:
    """The metrics that count: those that are named, or the only one.

    A document has a row for each filter; `METRIC,FILTER` names the metric of one of them.
    """
    used = str(row.get("filter", ""))
    metrics = row.get("metrics")
    if not isinstance(metrics, list) or not all(isinstance(name, str) for name in metrics):
        metrics = []
    if not (options.scores or metrics):
        return [("metrics", 1.0, MISSING)]
    if not options.scores:
        names = [f"{name},{used}" for name in metrics]
        if len(names) > 1:
            problem = f"the samples have {len(names)} metrics: which of them counts?"
            raise TwoReadings(problem, score_choices(names, options))
        check_direction(names[0], options)
    found = []
    for path, weight in options.scores or ((metrics[0], 1.0),):
        metric, named, of = path.rpartition(",")
        metric = metric if named else path
        if named and of != used:
            raise Unusable("other_filter")
        value = look_up(row, metric.removesuffix(_EACH))
        if value is MISSING and metrics:
            raise NoSuchPath("--score", path, metrics)
        if not named:
            facts.append(("scored by", f"{metric},{used}"))
        found.append((metric, weight, value))
    return found


def _of_answer(metric: str, value: Any, place: int, of: int, row: Row) -> Any:
    """The value of a metric for one answer; None if it is for all answers together.

    A list may be something else than a value for each answer: that of the right answer and that of
    the model (f1), or one for each part of the task.
    """
    if isinstance(value, list) and len(value) == of:
        if of > 1 and not metric.endswith(_EACH):
            problem = f'"{metric}" is a list: does it have a value for each of the {of} answers?'
            raise TwoReadings(problem, [("--score", f"{metric}{_EACH},{row.get('filter', '')}")])
        return value[place]
    if metric.endswith(_EACH):
        raise BadField(metric, value, f"a list of {of} numbers, one for each answer")
    first = place == 0 and str(row.get("filter")) in _TAKES_FIRST
    return value if of == 1 or first else None


def _prompt(row: Row) -> Text:
    """What the model was given; Unusable if it was asked for likelihoods, not for an answer."""
    given = row.get("arguments")
    requests = [*given.values()] if isinstance(given, dict) else given
    if not isinstance(requests, list) or not requests:
        raise BadField("arguments", given, "the arguments of a request")
    asked = look_up(requests[0], "0" if isinstance(requests[0], list) else "arg_0")
    if len(requests) > 1 or not isinstance(asked, str):
        raise Unusable("no_response")
    return chat_in(asked) or asked


def _answers(row: Row) -> list[str]:
    """The answers to the only request."""
    given = row.get("resps")
    answers = given[0] if isinstance(given, list) and len(given) == 1 else None
    if not isinstance(answers, list) or not all(isinstance(said, str) for said in answers):
        raise Unusable("no_response")
    return answers


def _task(row: Row) -> list[Any]:
    """The document with its target, since equal prompts may have other targets."""
    content = digest("document", canonical_json([row.get("doc"), row.get("target")]))
    return [row.get("doc_id"), content.hex()]


_SEVERAL_RUNS = (
    "lm-eval has one metric a document, whatever the repeats; read the samples of several runs of "
    "a model together"
)

SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    paths_start_at_row=False,
    advice={
        "no_response": "multiple-choice tasks have likelihoods instead of answers; tasks of "
        "output_type generate_until have answers",
        "no_score": _SEVERAL_RUNS,
        "one_candidate": _SEVERAL_RUNS,
    },
)
