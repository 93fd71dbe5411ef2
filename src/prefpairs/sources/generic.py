"""Any rows with a prompt, a response and a score: named by paths, or guessed and said so.

Four shapes: one answer a row; several answers to one prompt (`responses` beside `rewards`);
whole conversations (`messages`, the last turn is the response); and the logs of trainers whose
prompts are already rendered (TRL's completions, verl's rollouts).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from prefpairs.errors import BadField, NotJson, UsageError
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
from prefpairs.sources.protocol import Opened

_PROMPTS = ("prompt", "question", "instruction", "input", "query")
_CHATS = ("messages", "conversation", "conversations")
_RESPONSES = ("response", "completion", "answer", "output", "generation")
_MANY_RESPONSES = ("responses", "completions", "answers", "outputs", "generations")
_SCORES = ("reward", "score", "rating")
_MANY_SCORES = ("rewards", "scores", "ratings")
Rows = Sequence[tuple[dict[str, Any], int]]
"""Rows without their texts, and how many of a sample look like each."""

_TRL_COLUMNS = {"step", "prompt", "completion", "advantage"}
_VERL_COLUMNS = {"input", "output", "score", "step"}


@dataclass(frozen=True, slots=True)
class Fields:
    """Where prompt, response and scores stand in the rows of one file."""

    prompt: str
    response: str | None
    scores: tuple[tuple[str, float], ...]
    rendered: bool = False


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
    return Opened(lambda record: _read(record, fields, own, label), notes)


def find_fields(rows: Rows, options: ReadOptions) -> tuple[Fields, tuple[str, ...]]:
    """Where the fields stand, and a sentence on each that was guessed.

    >>> find_fields([({"question": "Q", "answer": "A", "reward": 1}, 1)], ReadOptions())[1]
    ('guessed: prompt is "question", response is "answer", score is "reward"',)
    """
    keys = Counter(key for row, count in rows for key in row for _ in range(count))
    logged = _logged_fields(rows, keys, options)
    if logged is not None:
        return logged
    prompt = options.prompt or _likeliest(_PROMPTS, keys)
    response = options.response or _likeliest((*_RESPONSES, *_MANY_RESPONSES), keys)
    if prompt is None and response is None:
        prompt = _likeliest(_CHATS, keys)
    if rows and prompt is None:
        raise _cannot_guess("prompt", keys)
    if rows and response is None and not _is_chat(rows, prompt or ""):
        raise _cannot_guess("response", keys)
    several = response in _MANY_RESPONSES
    score = _likeliest((*_MANY_SCORES, *_SCORES) if several else (*_SCORES, *_MANY_SCORES), keys)
    scores = options.scores or (((score, 1.0),) if score else ())
    if rows and not scores and "no_score" not in options.keep_rows:
        raise _cannot_guess("score", keys)
    fields = Fields(prompt or "prompt", response, scores or (("score", 1.0),))
    return fields, _guesses(fields, options) if rows else ()


def _logged_fields(
    rows: Rows, keys: Counter[str], options: ReadOptions
) -> tuple[Fields, tuple[str, ...]] | None:
    """The fields of a trainer's own log, whose prompts are text that a template made."""
    if options.prompt or options.response:
        return None
    if keys.keys() >= _TRL_COLUMNS:
        names = [key for key in keys if key not in _TRL_COLUMNS and _is_number(rows, key)]
        scores = options.scores or tuple((name, 1.0) for name in names)
        if not scores and "no_score" not in options.keep_rows:
            raise _cannot_guess("score", keys)
        fields, log = Fields("prompt", "completion", scores, rendered=True), "TRL's completions"
    elif keys.keys() >= _VERL_COLUMNS:
        scores = options.scores or (("score", 1.0),)
        fields, log = Fields("input", "output", scores, rendered=True), "verl's rollouts"
    else:
        return None
    named = " + ".join(path for path, _ in fields.scores)
    note = f"taken for {log}: prompts already rendered, kept as plain text; score is {named}"
    return fields, (note,)


def _is_number(rows: Rows, key: str) -> bool:
    values = [row[key] for row, _ in rows if row.get(key) is not None]
    return bool(values) and all(isinstance(value, (int, float)) for value in values)


def _likeliest(names: Sequence[str], keys: Counter[str]) -> str | None:
    """The first of the names that half of the rows have; else the one that most have.

    A name that nearly all rows have wins over one further back that all have: rows without a
    `response` often still hold the right `answer`, which the model never gave.
    """
    most = max((keys[name] for name in names), default=0)
    return next((name for name in names if most and 2 * keys[name] >= most), None)


def _is_chat(rows: Rows, path: str) -> bool:
    return any(isinstance(look_up(row, path), list) for row, _ in rows)


def _cannot_guess(what: str, keys: Counter[str]) -> UsageError:
    return UsageError(
        f"cannot tell which field holds the {what}",
        f"name it with --{what} PATH; the rows have: {', '.join(list(keys)[:20])}",
    )


def _guesses(fields: Fields, options: ReadOptions) -> tuple[str, ...]:
    guessed = []
    if not options.prompt:
        guessed.append(f'prompt is "{fields.prompt}"')
    if not options.response:
        last = f'the model\'s last turn in "{fields.prompt}"'
        guessed.append(
            f'response is "{fields.response}"' if fields.response else f"response is {last}"
        )
    if not options.scores:
        guessed.append(f'score is "{fields.scores[0][0]}"')
    return (f"guessed: {', '.join(guessed)}",) if guessed else ()


def _read(record: bytes, fields: Fields, options: ReadOptions, label: str) -> Reading:
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
    prompt = look_up(row, fields.prompt)
    if prompt is MISSING or prompt is None:
        raise Lost("no_prompt")
    prompt = read_text(prompt, fields.prompt)
    scores = [(path, weight, look_up(row, path)) for path, weight in fields.scores]
    if fields.response is None:
        before, turn = _last_turn(prompt)
        return [_answer(row, before, turn, scores, fields)]
    given = look_up(row, fields.response)
    if given is MISSING or given is None:
        raise Lost("no_response")
    several = given or all(isinstance(value, list) for _, _, value in scores)
    if not isinstance(given, list) or is_messages(given) or not several:
        return [_answer(row, prompt, read_text(given, fields.response), scores, fields)]
    responses = [read_text(item, f"{fields.response}.{place}") for place, item in enumerate(given)]
    each = _scores_of_each(scores, len(responses))
    pairs = zip(responses, each, strict=True)
    return [_answer(row, prompt, response, own, fields) for response, own in pairs]


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
