"""Candidates: what `prefpairs extract` writes."""

from collections.abc import Sequence

from prefpairs.errors import NotJson
from prefpairs.records.asked import COLUMNS, holds_something
from prefpairs.records.candidate import candidate_of
from prefpairs.records.wire import decode, decode_counting, finite
from prefpairs.sources.answer import Answer, Reading, ReadOptions, expect_object, refine
from prefpairs.sources.protocol import Opened

_FIELDS = {"group", "prompt", "response", "score", "origin"}


def looks_like(record: bytes) -> bool:
    """Whether a record is a candidate; a row with more of the question beside it is another's."""
    try:
        row = decode(record)
    except NotJson:
        return False
    if not isinstance(row, dict) or not row.keys() >= _FIELDS:
        return False
    return not any(holds_something(row[name]) for name in COLUMNS.intersection(row))


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> Opened:
    """How the candidates of one file are read; the options apply once more."""
    return Opened(lambda record: _read(record, options, label))


def read_back(record: bytes) -> Reading:
    """A candidate that prefpairs itself put aside; no option applies a second time."""
    return Reading(kept=[candidate_of(decode(record))], places=[1])


def _read(record: bytes, options: ReadOptions, label: str) -> Reading:
    value, replaced = decode_counting(record)
    row = expect_object(value)
    reading = Reading(mends=["surrogate_replaced"] * replaced)
    given = row.get("score")
    row["score"] = 0.0 if given is None else given
    candidate = candidate_of(row, cast_score=options.cast_score)
    answer = Answer(
        row=row,
        prompt=candidate.prompt,
        response=candidate.response,
        scores=[("score", 1.0, None if given is None else candidate.score)],
        group=candidate.group,
        index=candidate.index,
        origin=candidate.origin,
        tools=candidate.tools,
        tokens=candidate.tokens,
        meta=finite(candidate.meta),  # as whoever reads it again will find it
        inline_reasoning=False,
    )
    refine(answer, options, label, reading)
    return reading
