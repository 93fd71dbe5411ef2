"""Surveys of rows in memory."""

from collections.abc import Sequence
from typing import Any

from prefpairs.engines import pairs
from prefpairs.looks.survey import PairSurvey
from prefpairs.records.pair import Digests, Pair, other_prompt, pair_of
from prefpairs.sieves.entry import Entry
from prefpairs.sources.pairs import PairReading

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
    return pairs.entry_of(PairReading(pair, digests, other_prompt(pair), None), number, 0, 0)
