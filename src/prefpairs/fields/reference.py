"""The reference of a row: the right answer, against which its answers may have been scored.

Rows with the same prompt and different references may be one task, whose references are noisy, or
several tasks, whose scores cannot be compared. No row shows which. So each reference gets a mark,
and the marks in a group show whether its candidates have different ones.
"""

from typing import Any

from prefpairs.fields.field_names import REFERENCES
from prefpairs.fields.join_question_columns import named_columns, same_text
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.candidate import EXTRACTED, Candidate, Reference
from prefpairs.model.identity import canonical_json, digest
from prefpairs.model.json_codec import finite
from prefpairs.model.question_columns import holds_something

_NAMES = frozenset(REFERENCES)
_COLUMNS = (EXTRACTED, *REFERENCES)
_DIGEST = 7
_COLUMN = 8
"""The bits of a mark that say in which column the reference is."""


def reference_columns(response: str | None, options: ReadOptions) -> list[str]:
    """The columns that may be references, next to this response; none if they do not matter."""
    if not options.references_matter():
        return []
    others = {*named_columns(options), response}
    return [name for name in REFERENCES if name not in others]


def reference_in(
    row: dict[str, Any], response: str | None, options: ReadOptions
) -> Reference | None:
    """The reference of a row, and its column.

    >>> row = {"response": "A", "target": "", "answer": "4"}
    >>> reference_in(row, "response", ReadOptions())
    ('answer', '4')
    """
    if _NAMES.isdisjoint(row):
        return None
    given = ((name, finite(row.get(name))) for name in reference_columns(response, options))
    return next(((name, value) for name, value in given if holds_something(value)), None)


def repeats_answer(candidate: Candidate) -> bool:
    """Whether a reference only repeats the answer; also if there is none."""
    reference = candidate.reference
    return reference is None or same_text(reference[1], candidate.response, "assistant")


def column_code(name: str) -> int:
    """The last byte of the marks of references in this column."""
    return _COLUMNS.index(name)


def mark_of(reference: Reference) -> int:
    """A mark of 64 bits, which is the same for the same reference in the same column."""
    name, value = reference
    found = int.from_bytes(digest("reference", canonical_json(value))[:_DIGEST])
    return found << _COLUMN | column_code(name)


def columns_that_differ(least: int, largest: int) -> list[str]:
    """The columns of two marks; none if they mark the same reference."""
    if least >> _COLUMN == largest >> _COLUMN:
        return []
    codes = {mark % (1 << _COLUMN) for mark in (least, largest)}
    return [_COLUMNS[code] for code in sorted(codes)]
