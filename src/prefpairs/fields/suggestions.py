"""Suggests options for a row whose fields are unclear; the user decides, nothing is guessed."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, product
from typing import Any

from prefpairs.errors import BadField, TwoReadings
from prefpairs.fields.answers_in_row import is_list_of_objects, own_question
from prefpairs.fields.field_names import (
    JUDGING,
    is_called_score,
    is_something_else,
    words_of,
)
from prefpairs.fields.preference_label import read_label
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.message import is_messages
from prefpairs.model.question_columns import PROMPTS

_MOST, _MOST_TRIED = 3, 4
_ASKING = {"prompt", "question", "instruction", "query", "problem", "task", "goal", "input"}
_SAYING = {"response", "completion", "output", "generation", "generated", "prediction", "reply"}
_SAYING |= {"predicted", "solution", "answer", "message", "content", "text", "said", "candidate"}
_LABELS = ("winner", "preference", "preferred", "choice", "chosen", "label", "better", "verdict")
_SIDE = re.compile("(.*?)(_?)([ab12])", re.IGNORECASE)
_OTHER_SIDE = {"a": "b", "A": "B", "1": "2"}
Row = dict[str, Any]
Words = tuple[str, ...]


def suggestions(
    row: Row, missing: Sequence[str], options: ReadOptions, works: Callable[[ReadOptions], object]
) -> Iterator[Words]:
    """Options for the missing fields, each tried on the row before it is suggested.

    >>> row = {"q_text": 1, "my_reply": "A", "quality": 0.5}
    >>> list(suggestions(row, ("response", "score"), ReadOptions(), lambda read: read.response))
    [('--response', 'my_reply', '--score', 'quality')]
    """
    yield from _rows_within(row)
    found = 0
    paths = {"prompt": _asking, "response": _saying, "score": _judging}
    columns = [list(islice(paths[what](row), _MOST_TRIED)) for what in missing]
    if "response" in missing:  # it may be the end of a conversation
        columns[[*missing].index("response")].append("")
    for chosen in product(*columns):
        given = {what: path for what, path in zip(missing, chosen, strict=True) if path}
        if found == _MOST or not given:
            return
        if len({*given.values()}) < len(given) or _is_of_another(given, columns[-1]):
            continue
        if _asks_each(row, given.get("response", "")):
            continue
        score = given.get("score")
        if works(
            replace(
                options,
                prompt=given.get("prompt", options.prompt),
                response=given.get("response", options.response),
                scores=((score, 1.0),) if score else options.scores,
            )
        ):
            found += 1
            yield tuple(word for what, path in given.items() for word in (f"--{what}", path))


def _rows_within(row: Row) -> Iterator[Words]:
    """The lists of objects with prompts of their own, which are rows if the file is one object."""
    for name, items in row.items():
        if is_list_of_objects(items) and _have_prompts(items):
            yield "--rows", name


def _have_prompts(items: Sequence[Row]) -> bool:
    return any(item.get(key) for item in items for key in PROMPTS)


def _asks_each(row: Row, response: str) -> bool:
    """Whether a path leads through items with prompts or other questions of their own."""
    column, of_each, _ = response.partition("[].")
    items: Any = row.get(column)
    if not of_each or not is_list_of_objects(items):
        return False
    return _have_prompts(items) or own_question(items) is not None


def comparisons(row: Row) -> Iterator[Words]:
    """Options for a row of two answers and a label that says which one is preferred.

    >>> list(comparisons({"reply_a": "x", "reply_b": "y", "winner": "model_a"}))
    [('--preference', 'winner', '--response-a', 'reply_a', '--response-b', 'reply_b')]
    """
    for label in (name for name in _LABELS if name in row):
        with suppress(BadField, TwoReadings):
            read_label(row[label], label, ())
            for name, other in _sides(row):
                yield "--preference", label, "--response-a", name, "--response-b", other


def _sides(row: Row) -> Iterator[tuple[str, str]]:
    """Columns of answers whose names differ in their last letter only: a and b, or 1 and 2."""
    for name in _texts(row, _SAYING):
        found = _SIDE.fullmatch(name)
        if found is not None and found[3] in _OTHER_SIDE:
            other = f"{found[1]}{found[2]}{_OTHER_SIDE[found[3]]}"
            if isinstance(row.get(other), type(row[name])):
                yield name, other


def _is_of_another(given: Mapping[str, str], judging: Sequence[str]) -> bool:
    """Whether a score belongs to another answer by its name, as `score_2` to `response_2`."""
    said, score = given.get("response"), given.get("score")
    if not said or not score:
        return False
    own = words_of(said) - _SAYING
    others = [words_of(name) - JUDGING for name in judging]
    return bool(own) and own in others and words_of(score) - JUDGING != own


def _asking(row: Row) -> Iterator[str]:
    yield from _texts(row, _ASKING)
    yield from (name for name, value in row.items() if is_messages(value) and len(value) > 1)


def _saying(row: Row) -> Iterator[str]:
    for name, value in row.items():
        if is_list_of_objects(value):
            leaves = dict.fromkeys(key for item in value for key in item)
            yield from (f"{name}[].{key}" for key in leaves if _is_called(key, _SAYING))
    yield from (name for name in _texts(row, _SAYING) if words_of(name).isdisjoint(_ASKING))


def _judging(row: Row) -> Iterator[str]:
    for name, value in row.items():
        if is_list_of_objects(value):
            leaves = dict.fromkeys(key for item in value for key in item)
            yield from (f"{name}[].{key}" for key in leaves if is_called_score(key))
        elif isinstance(value, dict):
            yield from (f"{name}.{key}" for key, leaf in value.items() if _judges(key, leaf))
        elif _judges(name, value):
            yield name


def _judges(name: str, value: Any) -> bool:
    return is_called_score(name) and not isinstance(value, (str, dict))


def _texts(row: Row, words: set[str]) -> Iterator[str]:
    for name, value in row.items():
        texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        said = isinstance(value, str) or texts or is_messages(value)
        if value and said and _is_called(name, words):
            yield name


def _is_called(name: str, words: Collection[str]) -> bool:
    """Whether a name contains one of the words, and none that marks it as something else."""
    return not words_of(name).isdisjoint(words) and not is_something_else(name)
