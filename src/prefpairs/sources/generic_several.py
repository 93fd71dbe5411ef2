"""What the native core must know of rows with several answers, to read them as generic.py does.

The answers are texts in a list (`responses`, and `rewards` beside it), or in the objects of a list
(`samples[].text` and `samples[].score`). Options and names decide what other columns may hold; a
row with anything else is left to the general reader. Both find the same in a row:
tests/laws/test_native_core_several_answers.py.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from prefpairs.fields.answers_in_row import OWN_QUESTION
from prefpairs.fields.cross_row_facts import Fact
from prefpairs.fields.field_names import (
    CALLS,
    CHATS,
    MAYBE_REFERENCE,
    SCORES,
    TEXTS_OF_ITEMS,
    THOUGHTS,
    VERDICTS,
)
from prefpairs.fields.guess_fields import Fields
from prefpairs.fields.native_reading import NativeReading, native_reading
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.marks import COLUMNS as MARK_COLUMNS
from prefpairs.model.marks import MARKS
from prefpairs.model.path import look_up
from prefpairs.model.question_columns import TOOLS
from prefpairs.sources import BESIDE_KEY_COLUMNS
from prefpairs.sources.base import Native
from prefpairs.sources.detect import SOURCE_COLUMNS
from prefpairs.sources.generic_fast import is_column, other_columns

_EACH, _IN_EACH, _OF_EACH = "[]", "[].", " of each"
_FEW = 4

Columns = dict[str, str]


def native_for_several(
    sample: dict[str, Any], fields: Fields, options: ReadOptions, facts: tuple[Fact, ...]
) -> Native | None:
    """How the core reads rows with these fields, if the sample has a list of scores."""
    own, reading = _own_columns(sample, fields, options), _reading(options)
    if own is None or reading is None:
        return None
    of_row, of_item = own
    others = _others_in_row(fields, options, of_row, facts)
    if others is None:
        return None
    if of_item:
        of_item = _others_in_item(options) | of_item
    judged = not options.scores and fields.scores[0][0].rpartition(".")[2] in VERDICTS
    columns = _listed(others | of_row), _listed(of_item)
    drops_marked = not options.drop_rows.isdisjoint(MARKS)
    return _native(reading, *columns, judged, fields.prompt in CHATS, drops_marked)


@lru_cache(_FEW)
def _native(*about: Any) -> Native:
    """The same for files with the same columns; it takes 30 KB."""
    return Native("SeveralAnswers", about=about)


def _reading(options: ReadOptions) -> NativeReading | None:
    """What the core must know of the options, once the fields are known."""
    if any(_EACH in path for path in options.keep):  # a value for each answer
        return None
    return native_reading(replace(options, prompt=None, response=None, scores=()))


def _own_columns(
    sample: dict[str, Any], fields: Fields, options: ReadOptions
) -> tuple[Columns, Columns] | None:
    """The columns of prompt, answers and scores: those of the row, and those of its objects."""
    prompt, response, ((score, weight), *more) = fields.prompt, fields.response, fields.scores
    if prompt is None or response is None or fields.log is not None or weight != 1 or more:
        return None
    if options.response is None and response in MAYBE_REFERENCE:
        return None
    answers, each, words = response.partition(_IN_EACH)
    scores, in_each, number = score.partition(_IN_EACH)
    of_row = {TOOLS[0]: "nothing", prompt: "prompt"}
    of_row[answers] = "items" if each else f"response{_OF_EACH}"
    of_item = {words: "response"} if each else {}
    if in_each:
        of_item[number] = "score"
    else:
        of_row[scores] = f"score{_OF_EACH}"
    names = [*of_row, *of_item]
    all_differ = len(names) == (5 if each else 4)
    if (
        not all_differ
        or (in_each and (scores, each) != (answers, in_each))
        or not all(map(is_column, names))
        or not MARK_COLUMNS.keys().isdisjoint(of_item)
        or not isinstance(look_up(sample, score), list)
    ):
        return None
    return of_row, of_item


def _others_in_row(
    fields: Fields, options: ReadOptions, own: Columns, facts: tuple[Fact, ...]
) -> Columns | None:
    """The other columns of a row that matter; None if only another source can tell its rows."""
    others = other_columns(fields, options, own, frozenset(facts))
    for name in own.keys() & {*SOURCE_COLUMNS}:
        beside = BESIDE_KEY_COLUMNS.get(name, (name,))
        if not own.keys().isdisjoint(beside):
            return None
        others |= dict.fromkeys(beside, "missing")
    said = (*THOUGHTS, *CALLS)
    for name in (*MARK_COLUMNS, *said):
        if name in others:
            others[name] += _OF_EACH
    for name in said:
        others.setdefault(f"{name}s", f"nothing{_OF_EACH}")
    return others


def _others_in_item(options: ReadOptions) -> Columns:
    """The columns of an object with an answer that could change what is read."""
    others = dict.fromkeys(("role", "from"), "missing") | MARK_COLUMNS
    others |= dict.fromkeys((*THOUGHTS, *CALLS), "nothing")
    if options.response is None:
        others |= dict.fromkeys((*TEXTS_OF_ITEMS, *OWN_QUESTION), "nothing")
    if not options.scores:
        others |= dict.fromkeys((*SCORES, *VERDICTS), "null")
    return others


def _listed(columns: Columns) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(columns.items()))
