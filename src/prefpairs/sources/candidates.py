"""candidates: rows written by `prefpairs extract`, read back as the candidates they are."""

import re
from collections.abc import Sequence

from prefpairs.fields.cross_row_facts import Fact
from prefpairs.fields.join_question_columns import tools_beside, whole_question
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.native_reading import native_reading
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome, begin_row
from prefpairs.model.candidate import EXTRACTED, candidate_of
from prefpairs.model.identity import BY_PROMPT
from prefpairs.model.json_codec import decode_object, finite
from prefpairs.model.question_columns import COLUMNS, holds_something
from prefpairs.sources.base import Native, RecordReader, Source

_FIELDS = {"group", "prompt", "response", "score", "origin"}
_ORIGIN = re.compile(r":[0-9]+(#[0-9]+)?\Z")
"""The end of an origin that prefpairs wrote: a line number, and the number of an answer."""


def looks_like(record: bytes) -> bool:
    """Whether a record is a candidate.

    If it has more columns of the question, it is a candidate to which columns were added, provided
    its origin names a line; otherwise it is a row of the user's own.
    """
    row = decode_object(record)
    if row is None or not row.keys() >= _FIELDS:
        return False
    if not any(holds_something(row[name]) for name in COLUMNS.intersection(row)):
        return True
    return isinstance(row["origin"], str) and bool(_ORIGIN.search(row["origin"]))


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the candidates of one file are read; options apply again."""
    reading = native_reading(options)
    known = reading is not None and not reading.scores
    native = Native("Candidates", about=(reading,)) if known else None
    return RecordReader(lambda record: _read(record, options, label), native=native)


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    given = row.get("score")
    row["score"] = 0.0 if given is None else given
    candidate = candidate_of(row, cast_score=options.cast_score)
    asked = {key: value for key, value in row.items() if key not in options.ignore}
    facts: list[Fact] = []
    prompt = whole_question(asked, "prompt", candidate.prompt, options, facts)
    tools = tools_beside({**asked, "tools": candidate.tools}, "prompt", options, facts)
    reading.facts = tuple(facts)
    known = finite(asked.get("reference"))
    by_prompt = candidate.group.startswith(BY_PROMPT)
    answer = Answer(
        row=row,
        prompt=prompt,
        response=candidate.response,
        scores=[("score", 1.0, None if given is None else candidate.score)],
        group=None if by_prompt and prompt != candidate.prompt else candidate.group,
        index=candidate.index,
        origin=candidate.origin,
        tools=tools,
        tokens=candidate.tokens,
        meta=finite(candidate.meta),  # as it will be after writing and reading
        inline_reasoning=False,
        was_extracted=True,
        reference=(EXTRACTED, known) if holds_something(known) else None,
    )
    add_candidate(answer, options, label, reading)
    return reading


SOURCE = Source(looks_like=looks_like, open_reader=open_reader)
