"""Any rows with a prompt, a response and a score: named by paths, or guessed and said so.

Four shapes: one answer a row; several answers to one prompt (`responses` beside `rewards`);
whole conversations (`messages`, the last turn is the response); and the logs of trainers whose
prompts are already rendered (TRL's completions, verl's rollouts).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from prefpairs.errors import BadField, NotJson
from prefpairs.records.candidate import read_text, read_tools
from prefpairs.records.message import Message, Text, is_messages
from prefpairs.records.path import MISSING, look_up
from prefpairs.records.wire import decode, decode_counting
from prefpairs.sources.answer import (
    Answer,
    Lost,
    Reading,
    ReadOptions,
    WeightedScore,
    expect_object,
    refine,
)
from prefpairs.sources.generic_plain import shortcut_to
from prefpairs.sources.guess import Fields, find_fields
from prefpairs.sources.protocol import Opened


def looks_like(record: bytes) -> bool:
    """Whether a record is a JSON object: whatever else it holds, paths can name it."""
    try:
        return isinstance(decode(record), dict)
    except NotJson:
        return False


def open_reader(shapes: Mapping[bytes, int], options: ReadOptions, label: str) -> Opened:
    """How the rows of one file are read: the fields that were named, the rest guessed."""
    rows = [(decode(shape), count) for shape, count in shapes.items()]
    fields, notes = find_fields(rows, options)
    # The fields are the answer's own now, so refine() must not look them up again.
    own = replace(options, prompt=None, response=None, scores=())
    shortcut = shortcut_to(fields, own)
    if shortcut is None:
        return Opened(lambda record: read_any_shape(record, fields, own, label), notes)

    def read(record: bytes) -> Reading:
        plain = shortcut.read(record, "")
        return Reading([plain[0]], [1]) if plain else read_any_shape(record, fields, own, label)

    return Opened(read, notes, shortcut)


def read_any_shape(record: bytes, fields: Fields, options: ReadOptions, label: str) -> Reading:
    """What became of a row, whatever its shape."""
    value, replaced = decode_counting(record)
    row = expect_object(value)
    reading = Reading(mends=["surrogate_replaced"] * replaced)
    try:
        answers = _answers(row, fields)
    except Lost as loss:
        reading.lost.append(loss.reason)
        return reading
    for answer in answers:
        refine(answer, options, label, reading)
    return reading


def _answers(row: dict[str, Any], fields: Fields) -> list[Answer]:
    prompt_path = _present(row, fields.prompts)
    prompt = None if prompt_path is None else look_up(row, prompt_path)
    if prompt_path is None or prompt is None:
        raise Lost("no_prompt")
    prompt = read_text(prompt, prompt_path)
    response_path = _present(row, fields.responses)
    if response_path is None:
        if not fields.is_conversation(prompt_path):
            raise Lost("no_response")
        before, turn = _last_turn(prompt)
        return [_answer(row, before, turn, _scores(row, fields, several=False), fields)]
    given = look_up(row, response_path)
    if given is None:
        raise Lost("no_response")
    scores = _scores(row, fields, several=isinstance(given, list) and not is_messages(given))
    several = given or all(isinstance(value, list) for _, _, value in scores)
    if not isinstance(given, list) or is_messages(given) or not several:
        return [_answer(row, prompt, read_text(given, response_path), scores, fields)]
    responses = [read_text(item, f"{response_path}.{place}") for place, item in enumerate(given)]
    each = _scores_of_each(scores, len(responses))
    pairs = zip(responses, each, strict=True)
    return [_answer(row, prompt, response, own, fields) for response, own in pairs]


def _present(row: dict[str, Any], paths: Sequence[str]) -> str | None:
    """The first of the paths that the row has, be it null."""
    for path in paths:
        if path in row or look_up(row, path) is not MISSING:
            return path
    return None


def _scores(row: dict[str, Any], fields: Fields, *, several: bool) -> list[WeightedScore]:
    if fields.named_scores:
        return [(path, weight, look_up(row, path)) for path, weight in fields.named_scores]
    names = fields.scores_of_several if several else fields.scores
    path = _present(row, names)
    return [(path or "score", 1.0, MISSING if path is None else look_up(row, path))]


def _answer(
    row: dict[str, Any],
    prompt: Text,
    response: Text,
    scores: Sequence[WeightedScore],
    fields: Fields,
) -> Answer:
    return Answer(
        row=row,
        prompt=prompt,
        response=response,
        scores=scores,
        tools=read_tools(row.get("tools"), "tools"),
        inline_reasoning=not (fields.rendered and isinstance(response, str)),
    )


def _scores_of_each(scores: Sequence[WeightedScore], count: int) -> list[list[WeightedScore]]:
    """The scores of each of the answers in one row."""
    scores = [
        (path, weight, [None] * count if value is MISSING or value is None else value)
        for path, weight, value in scores
    ]
    for path, _, value in scores:
        if not isinstance(value, list) or len(value) != count:
            raise BadField(path, value, f"a list of {count} scores, one for each answer")
    return [
        [(path, weight, value[place]) for path, weight, value in scores] for place in range(count)
    ]


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
