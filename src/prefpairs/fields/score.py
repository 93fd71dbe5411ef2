"""Finds the score of a row, or the scores of its answers."""

from collections.abc import Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

from prefpairs.errors import BadField, TwoReadings
from prefpairs.fields.alternatives import alternatives_at
from prefpairs.fields.names import MANY_SCORES, NAMES, OUTPUTS, SCORES, VERDICTS
from prefpairs.fields.object_lists import is_list_of_objects, is_number, paths_of_items
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.two_readings import Fact, Row, chosen, present_in, two_readings
from prefpairs.model.number import read_score, round_score
from prefpairs.model.path import look_up


def guess_score(
    row: Row, response: str | None, shown: list[Fact], options: ReadOptions
) -> tuple[tuple[str, float], ...]:
    """The score, by its name; for several answers, a list of scores or a field of each item."""
    present = present_in(row, NAMES["score"])
    several = response is not None and alternatives_at(row, response) is not None
    if several:
        present = present_in(row, (*MANY_SCORES, *SCORES, *VERDICTS))
        column, of_each, _ = (response or "").partition("[].")
        if of_each and is_list_of_objects(row.get(column)):
            present = [*paths_of_items(row, column, (*SCORES, *VERDICTS), is_number), *present]
    kinds = list if several else (int, float, str) if options.cast_score else (int, float)
    told = [name for name in present if isinstance(look_up(row, name), kinds)]
    odd = [name for name in told if _is_verdict(name) and not _is_judged(look_up(row, name))]
    told = [name for name in told if name not in odd]
    if odd and not told:
        raise BadField(odd[0], look_up(row, odd[0]), "true or false, unless --score names it")
    if told and not several:
        _check_quoted(row, told[0], [name for name in present if isinstance(row[name], str)])
    empty = [name for name in present if _is_verdict(name) and look_up(row, name) is None]
    known = [name for name in present if name in (*told, *empty) or not _is_verdict(name)]
    if several and told and response in OUTPUTS:
        _check_steps(row, response, told[0])
    name = chosen(row, "score", known, told, shown)
    return (("score" if name is None else name, 1.0),)


def _check_steps(row: Row, response: str, scores: str) -> None:
    """Raise if a list could be the steps of one answer that has its own score.

    This is not checked for plural names, which say that the items are answers.
    """
    for name in present_in(row, (*SCORES, *VERDICTS)):
        if is_number(row[name]):
            problem = (
                f'"{scores}" has a score for each item of "{response}", and "{name}" one for all'
            )
            question = "are the items several answers, and no steps of one?"
            raise TwoReadings(f"{problem}: {question}", [("--score", scores)])


def _check_quoted(row: Row, score: str, others: Sequence[str]) -> None:
    """Raise if another score is a different number written as text."""
    differing = []
    for name in others:
        with suppress(BadField):
            quoted = read_score(row[name], name, cast=True)
            if isfinite(quoted) and round_score(quoted) != round_score(
                read_score(row[score], score)
            ):
                differing.append(name)
    if differing:
        raise two_readings("score", (score, *differing))


def _is_verdict(name: str) -> bool:
    return name.rpartition(".")[2] in VERDICTS


def _is_judged(value: Any) -> bool:
    """Whether a value is a verdict: -1 usually means that there is none, and 3 is a count."""
    if isinstance(value, list):
        return all(map(_is_judged, value))
    return value is None or value in (0, 1)
