"""The outcome of one row: its candidates, its pairs, and a reason for each that was dropped."""

from dataclasses import dataclass, field
from typing import Any

from prefpairs.errors import BadField
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.candidate import Candidate, candidate_of
from prefpairs.model.json_codec import decode, decode_counting
from prefpairs.model.marks import end_of
from prefpairs.model.pair import Pair


@dataclass(slots=True)
class RowOutcome:
    """The outcome of one row: its candidates, and a reason for each one that was dropped.

    `places` are the numbers, from 1, of the kept candidates among all that were found. `pairs`
    are pairs that the row already contained, and `pairs_lost` the reasons why others were dropped.
    `row_lost` is the reason why the row as a whole was dropped; `item` identifies a row that
    should not occur twice.
    """

    kept: list[Candidate] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    pairs_lost: list[str] = field(default_factory=list)
    noticed: list[str] = field(default_factory=list)
    row_lost: str | None = None
    item: bytes | None = None
    facts: tuple[tuple[str, ...], ...] = ()
    """What the row shows about how all rows of the run must be read (see cross_row_facts.py)."""


def read_candidate(line: bytes) -> RowOutcome:
    """The candidate in a line that prefpairs itself wrote; no option applies again."""
    return RowOutcome(kept=[candidate_of(decode(line))], places=[1])


def begin_row(record: bytes) -> tuple[dict[str, Any], RowOutcome]:
    """The object in a record, and its outcome so far."""
    value, replaced = decode_counting(record)
    return expect_object(value), RowOutcome(noticed=["surrogate_replaced"] * replaced)


def expect_object(row: Any) -> dict[str, Any]:
    """The row, which must be a JSON object."""
    if not isinstance(row, dict):
        raise BadField("row", row, "a JSON object")
    return row


def objects_in(row: dict[str, Any], field: str) -> list[dict[str, Any]]:
    """The objects in a list of a row; none if it is missing or null."""
    value = row.get(field)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadField(field, value, "a list of objects")
    return value


class Unusable(Exception):
    """A well-formed record cannot be used, for a reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def drop_unless_kept(options: ReadOptions, **unfit: object) -> None:
    """Raise the first of the given reasons that applies, unless --keep-rows names it.

    >>> drop_unless_kept(ReadOptions(keep_rows=frozenset({"failed"})), failed=True, incomplete=0)
    """
    for reason, applies in unfit.items():
        if applies and reason not in options.keep_rows:
            raise Unusable(reason)


def check_end(reason: object, options: ReadOptions, noticed: list[str]) -> None:
    """Raise unless an answer is complete, by its finish reason; notice one without a reason."""
    end = end_of(reason)
    if end is None:
        noticed.append("end_not_recorded")
    elif end != "done":
        drop_unless_kept(options, **{end: True})
