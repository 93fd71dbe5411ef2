"""Where prompt, response and score stand in rows that nobody described.

Names are tried in an order, the first that a row has counts. Two names that stand in the same
row are two different things, of which only one is meant: a row without its `response` often
still holds the right `answer`, which the model never gave.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prefpairs.errors import OtherRows
from prefpairs.records.path import look_up
from prefpairs.sources.answer import ReadOptions

_PROMPTS = ("prompt", "question", "instruction", "input", "query", "problem")
_CHATS = ("messages", "conversation", "conversations")
_RESPONSES = ("response", "completion", "answer", "output", "generation")
_MANY_RESPONSES = ("responses", "completions", "answers", "outputs", "generations")
_SCORES = ("reward", "score", "rating")
_MANY_SCORES = ("rewards", "scores", "ratings")
_TRL_COLUMNS = {"step", "prompt", "completion", "advantage"}
_VERL_COLUMNS = {"input", "output", "score", "step"}

Rows = Sequence[tuple[dict[str, Any], int]]
"""Rows without their texts, and how many of a sample look like each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Paths of prompt, response and score, likeliest first; named ones stand alone."""

    prompts: tuple[str, ...]
    responses: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    scores_of_several: tuple[str, ...] = ()
    named_scores: tuple[tuple[str, float], ...] = ()
    rendered: bool = False

    def is_conversation(self, prompt: str) -> bool:
        """Whether a row without a response holds it at the end of its prompt."""
        return prompt in _CHATS or not self.responses


def find_fields(rows: Rows, options: ReadOptions) -> tuple[Fields, tuple[str, ...]]:
    """The fields of rows, and a sentence on those that were guessed.

    >>> find_fields([({"question": "Q", "answer": "A", "reward": 1}, 1)], ReadOptions())[1]
    ('guessed: prompt is "question", response is "answer", score is "reward"',)
    """
    if (logged := _logged_fields(rows, options)) is not None:
        return logged
    fields = Fields(
        prompts=(options.prompt,) if options.prompt else _names((*_PROMPTS, *_CHATS), rows),
        responses=(options.response,)
        if options.response
        else _names((*_RESPONSES, *_MANY_RESPONSES), rows),
        scores=_names((*_SCORES, *_MANY_SCORES), rows),
        scores_of_several=_names((*_MANY_SCORES, *_SCORES), rows),
        named_scores=options.scores,
    )
    if rows:
        _expect_all(fields, rows, options)
    return fields, tuple(_guesses(fields, options)) if rows else ()


def _names(names: Sequence[str], rows: Rows) -> tuple[str, ...]:
    """The names that rows have, likeliest first, without those that stand beside a likelier one.

    The likeliest is the first that half of the rows have, or else the one that most have.
    """
    counts = Counter(
        name for row, count in rows for name in names if name in row for _ in range(count)
    )
    most = max(counts.values(), default=0)
    ranked = sorted(
        (name for name in names if name in counts), key=lambda name: 2 * counts[name] < most
    )
    chosen: list[str] = []
    for name in ranked:
        if not any(name in row and not row.keys().isdisjoint(chosen) for row, _ in rows):
            chosen.append(name)
    return tuple(chosen)


def _expect_all(fields: Fields, rows: Rows, options: ReadOptions) -> None:
    """Raise for what can be found in none of the rows."""
    if any({"chosen", "rejected"} <= row.keys() for row, _ in rows) and not options.response:
        raise OtherRows("the rows are preference pairs already", "they need no pairing")
    if not fields.prompts:
        raise _cannot_guess("prompt", rows)
    chats = any(isinstance(look_up(row, path), list) for row, _ in rows for path in fields.prompts)
    if not fields.responses and not chats:
        raise _cannot_guess("response", rows)
    if not (fields.scores or fields.named_scores or "no_score" in options.keep_rows):
        raise _cannot_guess("score", rows)


def _logged_fields(rows: Rows, options: ReadOptions) -> tuple[Fields, tuple[str, ...]] | None:
    """The fields of a trainer's own log, whose prompts are text that a template made."""
    if not rows or options.prompt or options.response:
        return None
    if all(row.keys() >= _TRL_COLUMNS for row, _ in rows):
        prompt, response, log = "prompt", "completion", "TRL's completions"
        keys = {key: None for row, _ in rows for key in row if key not in _TRL_COLUMNS}
        scores = tuple((key, 1.0) for key in keys if _is_number(rows, key))
    elif all(row.keys() >= _VERL_COLUMNS for row, _ in rows):
        prompt, response, log = "input", "output", "verl's rollouts"
        scores = (("score", 1.0),)
    else:
        return None
    scores = options.scores or scores
    if not scores and "no_score" not in options.keep_rows:
        raise _cannot_guess("score", rows)
    fields = Fields(prompts=(prompt,), responses=(response,), named_scores=scores, rendered=True)
    named = " + ".join(path for path, _ in scores)
    note = f"taken for {log}: prompts already rendered, kept as plain text; score is {named}"
    return fields, (note,)


def _is_number(rows: Rows, key: str) -> bool:
    values = [row[key] for row, _ in rows if row.get(key) is not None]
    return bool(values) and all(isinstance(value, (int, float)) for value in values)


def _paths(row: dict[str, Any]) -> Iterator[str]:
    """The fields of a row, and those of its lists of objects."""
    for key, value in row.items():
        first = value[0] if isinstance(value, list) and value else None
        if isinstance(first, dict) and "role" not in first:
            yield from (f"{key}[].{name}" for name in first)
        else:
            yield key


def _cannot_guess(what: str, rows: Rows) -> OtherRows:
    keys = list({key: None for row, _ in rows for key in _paths(row)})
    return OtherRows(
        f"cannot tell which field holds the {what}",
        f"name it with --{what} PATH; the rows have: {', '.join(keys[:20])}",
    )


def _guesses(fields: Fields, options: ReadOptions) -> Iterator[str]:
    guessed = []
    if not options.prompt:
        guessed.append(f"prompt is {_either(fields.prompts)}")
    if not options.response and fields.responses:
        guessed.append(f"response is {_either(fields.responses)}")
    elif not options.response:
        guessed.append(f"response is the model's last turn in {_either(fields.prompts)}")
    if not options.scores and fields.scores:
        guessed.append(f"score is {_either(fields.scores)}")
    if guessed:
        yield f"guessed: {', '.join(guessed)}"


def _either(names: Sequence[str]) -> str:
    return " or ".join(f'"{name}"' for name in names)
