"""Surveys of rows in memory."""

from collections.abc import Sequence
from typing import Any

from xxhash import xxh3_128_digest

from prefpairs.looks.survey import PairSurvey
from prefpairs.records.pair import Digests, Pair, other_prompt, pair_of
from prefpairs.sieves.entry import Entry

Row = dict[str, Any]


def survey_of(rows: Sequence[Row]) -> PairSurvey:
    """The survey of the pairs of rows."""
    found = PairSurvey()
    for number, row in enumerate(rows):
        pair, digests = pair_of(row)
        found.add(entry_of(number, pair, digests), pair)
    return found


def entry_of(number: int, pair: Pair, digests: Digests) -> Entry:
    """The pair as sieves and surveys see it."""
    return Entry(
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
