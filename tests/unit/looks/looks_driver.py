"""Surveys of rows in memory."""

from collections.abc import Sequence
from typing import Any

from xxhash import xxh3_128_digest

from prefpairs.looks.survey import PairSurvey
from prefpairs.records.pair import other_prompt, pair_of
from prefpairs.sieves.entry import Entry

Row = dict[str, Any]


def survey_of(rows: Sequence[Row]) -> PairSurvey:
    """The survey of the pairs of rows."""
    found = PairSurvey()
    for number, row in enumerate(rows):
        pair, digests = pair_of(row)
        entry = Entry(
            number=number,
            place=0,
            length=0,
            gap=pair.gap,
            chosen_score=pair.chosen_score,
            id=bytes.fromhex(pair.id),
            prompt=digests.prompt,
            tools=digests.tools,
            chosen=digests.chosen,
            rejected=digests.rejected,
            group=xxh3_128_digest(pair.group.encode()),
            other_prompt=other_prompt(pair),
        )
        found.add(entry, pair)
    return found
