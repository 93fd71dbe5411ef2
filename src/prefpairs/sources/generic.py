"""Any rows with a prompt, a response and a score: named by paths, or guessed with a note.

Four shapes: one answer per row; several answers to one prompt (`responses` and `rewards`);
whole conversations (`messages`, whose last turn is the response); and the logs of trainers,
whose prompts are often already rendered (see training_logs.py).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from prefpairs.errors import BadField, BadRecord, MeansNothing, TwoReadings
from prefpairs.fields.answers_in_row import (
    Place,
    WeightedScore,
    answer_at,
    answer_by_number,
    marks_at,
    scores_of_each,
    several_answers_at,
)
from prefpairs.fields.choose_field import column_of
from prefpairs.fields.cross_row_facts import Fact
from prefpairs.fields.field_names import CHATS
from prefpairs.fields.guess_fields import Fields, find_fields
from prefpairs.fields.join_question_columns import (
    has_media,
    is_named,
    named_columns,
    tools_beside,
    turn_of,
    whole_question,
)
from prefpairs.fields.make_candidate import MAKERS, Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.reference import reference_in
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row
from prefpairs.fields.suggestions import comparisons, suggestions
from prefpairs.model.candidate import chat_in, read_text
from prefpairs.model.json_codec import decode, decode_object
from prefpairs.model.marks import COLUMNS as MARK_COLUMNS
from prefpairs.model.message import RENDERED, Message, Text
from prefpairs.model.pair import POSITION
from prefpairs.model.path import MISSING, look_up, without
from prefpairs.sources.base import RecordReader, Source
from prefpairs.sources.generic_fast import fast_reading_of
from prefpairs.sources.generic_several import native_for_several

_TRIES, _MOST_KINDS = 3, 20
_ROW = ("row",)
"""A fact that every row shows."""


def looks_like(record: bytes) -> bool:
    """Whether a record is a JSON object, into which paths can lead."""
    return decode_object(record) is not None


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How rows are read, each by its own names; usual ones by a fast reader or the core."""
    found = _with_fields_found(options)
    tried: Counter[frozenset[str]] = Counter()

    def read(record: bytes) -> RowOutcome:
        return _read(record, options, found, label, tried)

    for record in sample:
        with suppress(BadRecord, TwoReadings):
            outcome = read(record)
            row, fields = _fields_of(decode(record), options)
            if not outcome.kept:
                continue
            native = native_for_several(row, fields, options, outcome.facts)
            if native is not None:
                return RecordReader(read, native=native, facts=outcome.facts)
            fast = fast_reading_of(row, fields, options, outcome.facts)
            if fast is not None and (fast[0] is None or fast[0].read(record)):
                fast_reader, native = fast
                return RecordReader(
                    read, fast_reader=fast_reader, native=native, facts=outcome.facts
                )
    return RecordReader(read)


def read_any_shape(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    """The outcome of a row of any shape."""
    return _read(record, options, _with_fields_found(options), label)


def _with_fields_found(options: ReadOptions) -> ReadOptions:
    """The options without paths of fields, which have already been looked up."""
    return replace(options, prompt=None, response=None, scores=())


def _read(
    record: bytes,
    options: ReadOptions,
    found: ReadOptions,
    label: str,
    tried: Counter[frozenset[str]] | None = None,
) -> RowOutcome:
    row, reading = begin_row(record)
    own, fields = _fields_of(row, options)
    facts = [_ROW, *fields.facts]
    if not fields.sure:
        facts += _what_is_there(own, fields)
        missing = _not_found(own, fields, options)
        if missing and tried is not None and _is_worth_a_try(own, tried):
            taken = {fields.prompt, fields.response}
            rest = {name: value for name, value in own.items() if name not in taken}
            facts += _suggested(record, rest, missing, options)
    answers = _answers_or_loss(row, own, fields, options, _Told(facts, reading))
    for answer in answers:
        add_candidate(answer, found, label, reading)
    reading.facts = tuple(facts)
    return reading


def read_row(row: dict[str, Any], reading: RowOutcome, options: ReadOptions, label: str) -> None:
    """Add what a row of any shape holds to its outcome, where another source decoded it."""
    own, fields = _fields_of(row, options)
    facts = [*fields.facts]
    for answer in _answers_or_loss(row, own, fields, options, _Told(facts, reading)):
        add_candidate(answer, _with_fields_found(options), label, reading)
    reading.facts = tuple(facts)


def _fields_of(row: dict[str, Any], options: ReadOptions) -> tuple[dict[str, Any], Fields]:
    """A row without ignored columns, and its fields."""
    for path in options.ignore:
        if not is_named(path, options):
            row = without(row, path)
    row = row | {name: chat for name in CHATS if (chat := chat_in(row.get(name))) is not None}
    return row, find_fields(row, options)


def _what_is_there(row: dict[str, Any], fields: Fields) -> Iterator[Fact]:
    """Facts: which fields a row has, and if one is missing, its column names."""
    named = {"prompt": fields.prompt, "response": fields.response}
    named["score"] = fields.scores[0][0] if fields.scores else None
    there = [
        what
        for what, path in named.items()
        if path is not None and look_up(row, path) is not MISSING
    ]
    yield from (("has", what) for what in there)
    if len(there) < len(named):
        yield from (("key", path) for path in _paths(row))
        if {"chosen", "rejected"} <= row.keys():
            yield ("pairs",)


def _not_found(row: dict[str, Any], fields: Fields, options: ReadOptions) -> list[str]:
    """The fields that neither an option nor a column name identifies."""
    missing = ["prompt"] if fields.prompt is None else []
    talks = fields.prompt is not None and isinstance(look_up(row, fields.prompt), list)
    if fields.response is None and not talks:
        missing.append("response")
    scored = options.scores or options.prefer
    if not scored and look_up(row, fields.scores[0][0]) is MISSING:
        missing.append("score")
    return missing


def _is_worth_a_try(row: dict[str, Any], tried: Counter[frozenset[str]]) -> bool:
    """Whether only few rows with these columns, and few kinds of rows, were tried before."""
    keys = frozenset(row)
    tried[keys] += 1
    return tried[keys] <= _TRIES and len(tried) <= _MOST_KINDS


def _suggested(
    record: bytes, row: dict[str, Any], missing: Sequence[str], options: ReadOptions
) -> Iterator[Fact]:
    """Facts: options with which this row would give candidates."""

    def works(options: ReadOptions) -> bool:
        with suppress(BadRecord, TwoReadings):
            return bool(_read(record, options, _with_fields_found(options), "").kept)
        return False

    if "response" in missing:
        yield from (("try", *words) for words in comparisons(row))
    for words in suggestions(row, missing, options, works):
        yield ("try", *words)


def _paths(row: dict[str, Any]) -> Iterator[str]:
    """The paths of a row's columns, and of the fields of its lists of objects."""
    for key, value in row.items():
        first = value[0] if isinstance(value, list) and value else None
        if isinstance(first, dict) and "role" not in first:
            yield from (f"{key}[].{name}" for name in first)
        else:
            yield key


class _Told(NamedTuple):
    """What is known about a row in addition to its answers."""

    facts: list[Fact]
    reading: RowOutcome


def _answers_or_loss(
    row: dict[str, Any],
    own: dict[str, Any],
    fields: Fields,
    options: ReadOptions,
    told: _Told,
) -> list[Answer]:
    """The answers in a row; none, and the reason, if they cannot be used."""
    try:
        return _answers(row, own, fields, options, told)
    except Unusable as loss:
        told.reading.lost.append(loss.reason)
        return []


def _answers(
    row: dict[str, Any],
    own: dict[str, Any],
    fields: Fields,
    options: ReadOptions,
    told: _Told,
) -> list[Answer]:
    facts, noticed = told.facts, told.reading.noticed
    prompt = _given(own, fields.prompt)
    if fields.prompt is None or prompt is None:
        raise Unusable("no_prompt")
    prompt = read_text(prompt, fields.prompt)
    if fields.log and has_media(own):
        raise Unusable("multi_modal")
    given = _given(own, fields.response)
    if fields.response is None:
        facts += [("has", "response")] * (not isinstance(prompt, str))
        prompt, turn = _last_turn(prompt)
        _check_marked_turns(look_up(own, fields.prompt), len(prompt), fields.prompt)
        facts.append(("talks", fields.prompt))
    elif given is None:
        raise Unusable("no_response")
    elif options.response is None:
        facts.append(("is answered", fields.prompt, fields.response))
    if not fields.log:
        prompt = whole_question(own, fields.prompt, prompt, options, facts)
        facts += turn_of(own, prompt, options)
    scores = _scores(own, fields, options)
    tools = tools_beside(own, fields.prompt, options, facts, logged=fields.log is not None)
    rendered = fields.log is not None and isinstance(prompt, str)
    always_rendered = fields.log is not None and fields.log.always_rendered
    of_prompt = {RENDERED: True} if rendered and always_rendered else {}
    reference = None if fields.log is not None else reference_in(own, fields.response, options)
    no_marks = MARK_COLUMNS.keys() & named_columns(options)

    def answer(
        response: Text | None,
        scores: Sequence[WeightedScore],
        path: str,
        place: Place | None = None,
    ) -> Answer:
        number, of = (place.number, place.of) if place is not None else (0, 1)
        marks = marks_at(own, path, no_marks, number, of) or {}
        position = {POSITION: number} if of > 1 else {}
        return Answer(
            row,
            prompt,
            response,
            scores,
            fields.task,
            tools=tools,
            meta={**of_prompt, **marks, **position} or None,
            inline_reasoning=not (rendered and isinstance(response, str)),
            place=place,
            reference=reference,
        )

    if fields.response is None:
        return [answer(turn, scores, fields.prompt)]
    several = several_answers_at(own, fields.response)
    listed = all(isinstance(one, list) for *_, one in scores)
    if several is None or not (several.items or listed):
        return [answer(answer_by_number(own, fields.response, noticed), scores, fields.response)]
    return [
        answer(_answer_at(own, item.path, noticed), own_scores, item.path, several.place(number))
        for number, (item, own_scores) in enumerate(
            zip(several.items, scores_of_each(own, scores, several), strict=True)
        )
    ]


def _answer_at(row: dict[str, Any], path: str, noticed: list[str]) -> Text | None:
    """One of several answers; None where it is null."""
    return None if _given(row, path) is None else answer_at(row, path, noticed)


def _scores(row: dict[str, Any], fields: Fields, options: ReadOptions) -> list[WeightedScore]:
    scores = [(path, weight, look_up(row, path)) for path, weight in fields.scores]
    if options.prefer:
        _check_unscored(scores)
    if fields.log is not None and fields.log.skips_missing_scores:
        scores = [score for score in scores if not _is_nothing(score[2])] or scores
    return scores or [("score", 1.0, MISSING)]


def _check_unscored(scores: Sequence[WeightedScore]) -> None:
    """Raise TwoReadings if answers have scores that could contradict --prefer."""
    for path, _, value in scores:
        if value is not MISSING and value is not None:
            problem = f'--prefer is for answers without scores, and "{path}" could be one'
            if column_of(path) != path:
                raise MeansNothing(problem, MAKERS)
            raise TwoReadings(problem, [("--ignore", path)])


def _is_nothing(value: Any) -> bool:
    """Whether a reward is null or NaN, as when its function does not apply."""
    return value is None or value != value  # noqa: PLR0124 - NaN is not itself


def _given(row: dict[str, Any], path: str | None) -> Any:
    """The value at a path; None if it is missing or null."""
    value = None if path is None else look_up(row, path)
    return None if value is MISSING else value


def _last_turn(messages: Text) -> tuple[Text, list[Message]]:
    """A conversation split before the model's last turn, which includes tool calls and results."""
    if isinstance(messages, str):
        raise Unusable("no_response")
    end = len(messages)
    while end and messages[end - 1]["role"] != "assistant":
        end -= 1
    start = end
    while start and messages[start - 1]["role"] in ("assistant", "tool"):
        start -= 1
    if start == end:
        raise Unusable("no_response")
    return messages[:start], messages[start:]


def _check_marked_turns(messages: Any, start: int, path: str) -> None:
    """Raise BadField if a row marks turns as the model's own, and one is before its last turn.

    Such a row was scored for all of them. With the last one as its answer, it would compete with
    few others, or with none, because each rollout has a prompt of its own then.
    """
    for place, message in enumerate(messages[:start]):
        if isinstance(message, dict) and message.get("trainable") is True:
            field = f"{path}.{place}.trainable"
            raise BadField(field, True, "no mark before the model's last turn")


SOURCE = Source(looks_like=looks_like, open_reader=open_reader)
