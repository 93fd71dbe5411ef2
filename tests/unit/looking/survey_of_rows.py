"""Surveys of rows in memory."""

from collections.abc import Sequence
from typing import Any

from prefpairs.analysis.survey import PairSurvey
from prefpairs.engine.pairs import pairs_from_files
from prefpairs.fields.pair_row import PairRowOutcome
from prefpairs.model.pair import Digests, Pair, other_prompt, pair_of
from prefpairs.stages.base import IndexedPair

Row = dict[str, Any]


def survey_of(rows: Sequence[Row]) -> PairSurvey:
    """The survey of the pairs of rows."""
    found = PairSurvey()
    for number, row in enumerate(rows):
        pair, digests = pair_of(row)
        found.add(entry_of(number, pair, digests), pair)
    return found


def entry_of(number: int, pair: Pair, digests: Digests) -> IndexedPair:
    """A pair as stages and surveys see it."""
    return pairs_from_files.entry_of(
        PairRowOutcome(pair, digests, other_prompt(pair), None), number, 0, 0
    )
