"""Any rows with a prompt, a response and a score: named by paths, or guessed and said so.

Four shapes: one answer a row; several answers to one prompt (`responses` beside `rewards`);
whole conversations (`messages`, the last turn is the response); and the logs of trainers whose
prompts are already rendered (TRL's completions, verl's rollouts).
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from prefpairs.errors import BadRecord, NotJson, TwoReadings
from prefpairs.records.candidate import read_text, read_tools
from prefpairs.records.marks import COLUMNS as MARK_COLUMNS
from prefpairs.records.message import Message, Text
from prefpairs.records.path import MISSING, look_up
from prefpairs.records.wire import decode, decode_counting
from prefpairs.sources.answer import (
    Answer,
    Lost,
    Reading,
    ReadOptions,
    expect_object,
    refine,
)
from prefpairs.sources.generic_plain import shortcut_to
from prefpairs.sources.guess import Fact, Fields, find_fields
from prefpairs.sources.protocol import Opened
from prefpairs.sources.question import has_media, named_columns, whole_question
from prefpairs.sources.said import marks_at, said_at
from prefpairs.sources.several import Place, WeightedScore, alternatives_at, scores_of_each

_ROW = ("row",)
"""What every row shows."""


def looks_like(record: bytes) -> bool:
    """Whether a record is a JSON object: whatever else it holds, paths can name it."""
    try:
        return isinstance(decode(record), dict)
    except NotJson:
        return False


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> Opened:
    """How rows are read, each by its own names; those like the sample in a quicker way."""
    found = _with_fields_found(options)

    def read(record: bytes) -> Reading:
        return _read(record, options, found, label)

    for record in sample:
        with suppress(BadRecord, TwoReadings):
            shown = read(record).shown
            shortcut = shortcut_to(_fields_of(decode(record), options)[1], options, shown)
            if shortcut is not None and shortcut.read(record, ""):
                return Opened(read, shortcut=shortcut)
    return Opened(read)


def read_any_shape(record: bytes, options: ReadOptions, label: str) -> Reading:
    """What became of a row, whatever its shape."""
    return _read(record, options, _with_fields_found(options), label)


def _with_fields_found(options: ReadOptions) -> ReadOptions:
    """The options for refine(): the fields are the answer's own, not to be looked up again."""
    return replace(options, prompt=None, response=None, scores=())


def _read(record: bytes, options: ReadOptions, found: ReadOptions, label: str) -> Reading:
    value, replaced = decode_counting(record)
    row = expect_object(value)
    reading = Reading(mends=["surrogate_replaced"] * replaced)
    own, fields = _fields_of(row, options)
    shown = [_ROW, *fields.shown]
    if not fields.sure:
        shown += _what_is_there(own, fields)
    try:
        answers = _answers(row, own, fields, options, _Told(shown, reading.mends))
    except Lost as loss:
        reading.lost.append(loss.reason)
        answers = []
    for answer in answers:
        refine(answer, found, label, reading)
    reading.shown = tuple(shown)
    return reading


def _fields_of(row: dict[str, Any], options: ReadOptions) -> tuple[dict[str, Any], Fields]:
    """A row without the columns that do not count, and its fields."""
    if not row.keys().isdisjoint(options.ignore):
        ignored = {*options.ignore} - named_columns(options)
        row = {key: value for key, value in row.items() if key not in ignored}
    return row, find_fields(row, options)


def _what_is_there(row: dict[str, Any], fields: Fields) -> Iterator[Fact]:
    """Which fields a row has; where it lacks one, what it has in its place."""
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


def _paths(row: dict[str, Any]) -> Iterator[str]:
    """The fields of a row, and those of its lists of objects."""
    for key, value in row.items():
        first = value[0] if isinstance(value, list) and value else None
        if isinstance(first, dict) and "role" not in first:
            yield from (f"{key}[].{name}" for name in first)
        else:
            yield key


class _Told(NamedTuple):
    """What is known of a row besides its answers."""

    shown: list[Fact]
    mends: list[str]


def _answers(
    row: dict[str, Any],
    own: dict[str, Any],
    fields: Fields,
    options: ReadOptions,
    told: _Told,
) -> list[Answer]:
    shown, mends = told
    prompt = _given(own, fields.prompt)
    if fields.prompt is None or prompt is None:
        raise Lost("no_prompt")
    prompt = read_text(prompt, fields.prompt)
    if fields.log and has_media(own):
        raise Lost("multi_modal")
    given = _given(own, fields.response)
    if fields.response is None:
        shown += [("has", "response")] * (not isinstance(prompt, str))
        prompt, turn = _last_turn(prompt)
        shown.append(("talks", fields.prompt))
    elif given is None:
        raise Lost("no_response")
    elif options.response is None:
        shown.append(("is answered", fields.prompt, fields.response))
    if not fields.log:
        prompt = whole_question(own, fields.prompt, prompt, options, shown)
    scores = [(path, weight, look_up(own, path)) for path, weight in fields.scores]
    scores = scores or [("score", 1.0, MISSING)]
    tools = read_tools(own.get("tools"), "tools")
    task = None if fields.within is None else [row[fields.within]]
    no_marks = MARK_COLUMNS.keys() & named_columns(options)

    def answer(
        response: Text, scores: Sequence[WeightedScore], path: str, place: Place | None = None
    ) -> Answer:
        number, of = (place.number, place.of) if place is not None else (None, 1)
        return Answer(
            row,
            prompt,
            response,
            scores,
            task,
            index=number,
            tools=tools,
            meta=marks_at(own, path, no_marks, number or 0, of),
            inline_reasoning=not (fields.log and isinstance(response, str)),
            place=place,
        )

    if fields.response is None:
        return [answer(turn, scores, fields.prompt)]
    several = alternatives_at(own, fields.response)
    listed = all(isinstance(one, list) for *_, one in scores)
    if several is None or not (several.items or listed):
        return [answer(said_at(own, fields.response, mends), scores, fields.response)]
    return [
        answer(said_at(own, item.path, mends), own_scores, item.path, several.place(number))
        for number, (item, own_scores) in enumerate(
            zip(several.items, scores_of_each(own, scores, several), strict=True)
        )
    ]


def _given(row: dict[str, Any], path: str | None) -> Any:
    """What stands at a path; nothing is as good as null."""
    value = None if path is None else look_up(row, path)
    return None if value is MISSING else value


def _last_turn(messages: Text) -> tuple[Text, list[Message]]:
    """A conversation cut before the model's last turn, tool calls and results included."""
    if isinstance(messages, str):
        raise Lost("no_response")
    end = len(messages)
    while end and messages[end - 1]["role"] != "assistant":
        end -= 1
    start = end
    while start and messages[start - 1]["role"] in ("assistant", "tool"):
        start -= 1
    if start == end:
        raise Lost("no_response")
    return messages[:start], messages[start:]
