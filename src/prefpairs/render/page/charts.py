"""The charts: one function each, from a survey to a picture and a sentence that summarizes it.

They show the figures of the tables of `stats`, and are above those on the page.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from prefpairs.analysis.distribution import Spread
from prefpairs.analysis.shortcuts import FAIR_SHARE, SHORTCUTS, Shortcut
from prefpairs.analysis.survey import Survey
from prefpairs.analysis.win_matrix import Matrix
from prefpairs.ledger import Ledger
from prefpairs.render.page.histograms import both_sides, histogram, short
from prefpairs.render.page.markup import Column, Markup, Row, dots, heat, rows, shortened

_MOST = 0.5
"""A value with more than this share is the usual one."""

_ALIKE = 1.1
"""Lengths that differ by at most this factor are about the same."""

_LONGEST = 40
"""The maximum length of a name in a sentence."""


class Chart(NamedTuple):
    """A picture and the sentence that summarizes it; there may be no picture."""

    says: str
    drawn: Markup | None


def charts(survey: Survey, ledger: Ledger) -> dict[str, Chart]:
    """All charts, by the titles of their sections."""
    drawn = {"What happened to the input": funnel(survey, ledger)}
    for title, draw in _OF_GROUPS.items():
        if survey.groups is not None and (chart := draw(survey)) is not None:
            drawn[title] = chart
    for title, draw in _OF_PAIRS.items():
        if survey.pairs.pairs and (chart := draw(survey)) is not None:
            drawn[title] = chart
    for matrix in survey.pairs.wins.matrices():
        drawn[f"Who wins, by {matrix.of}"] = wins(matrix)
    return drawn


def funnel(survey: Survey, ledger: Ledger) -> Chart:
    """The numbers from rows to pairs, with every loss on the way."""
    pairs = survey.pairs
    steps: list[tuple[str, int, Mapping[str, int]]] = [
        ("rows read", ledger.rows_read, ledger.rows_dropped - ledger.candidates_dropped)
    ]
    if ledger.rows_bad:
        steps.append(("bad rows", -ledger.rows_bad, {}))
    if survey.groups is not None:
        steps.append(("candidates", ledger.candidates_found, ledger.candidates_dropped))
        steps.append(("groups", survey.groups.groups, ledger.groups_without_pair))
        steps.append(("groups with a spread", survey.groups.with_spread, {}))
    steps += [("pairs", pairs.pairs, {}), ("prompts", pairs.prompts, {})]
    most = max(1, *(count for _, count, _ in steps))
    drawn = [row for step in steps for row in _step(*step, most)]
    says = f"{_count(ledger.rows_read, 'row')} gave {_count(pairs.pairs, 'pair')}"
    if pairs.pairs:
        says += f" about {_count(pairs.prompts, 'prompt')}"
    return Chart(says, rows(says, drawn))


def _step(name: str, count: int, losses: Mapping[str, int], most: int) -> Iterator[Row]:
    yield Row(name, f"{count:,}", abs(count) / most, "lost" if count < 0 else "")
    for code, lost in sorted(losses.items(), key=lambda item: (-item[1], item[0])):
        if lost > 0:
            yield Row(code.replace("_", " "), f"-{lost:,}", lost / most, "lost")


def candidate_scores(survey: Survey) -> Chart | None:
    """The distribution of the scores of all candidates."""
    spread = survey.groups.scores if survey.groups is not None else None
    return None if spread is None else _spread_chart(spread, "candidates", "score")


def group_sizes(survey: Survey) -> Chart | None:
    """The number of candidates per group."""
    spread = survey.groups.sizes if survey.groups is not None else None
    if spread is None:
        return None
    usual = max(spread.values, key=lambda value: value[1], default=(0.0, 0))
    says = f"Groups have {spread.low:,.0f} to {spread.high:,.0f} candidates"
    if usual[1] == spread.number:
        says = f"Every group has {_count(int(usual[0]), 'candidate')}"
    elif usual[1] > _MOST * spread.number:
        says = f"Most groups have {_count(int(usual[0]), 'candidate')}"
    return Chart(says, histogram(says, spread, "groups"))


def pair_scores(survey: Survey) -> Chart | None:
    """The distribution of the scores of both sides, if those of all candidates are not known."""
    scores = survey.pairs.scores()
    if len(scores) < 2 or survey.groups is not None:
        return None
    middle = {side: spread.quantiles["median"] for side, spread in scores.items()}
    says = f"Chosen answers score {short(middle['chosen'])}, rejected ones "
    says += f"{short(middle['rejected'])} (medians)"
    return Chart(says, both_sides(says, scores))


def gaps(survey: Survey) -> Chart | None:
    """The distribution of the gaps between the scores of the two answers."""
    spread = survey.pairs.gaps()
    if spread is None:
        return None
    says = f"Half of the pairs differ by {short(spread.quantiles['median'])} or less"
    if spread.kind == "constant":
        says = f"The scores of every pair differ by {short(spread.low)}"
    return Chart(says, histogram(says, spread, "pairs"))


def what_if(survey: Survey) -> Chart | None:
    """What another `--min-gap` would leave."""
    whole = survey.pairs
    if whole.without_gap == whole.pairs:
        return None
    last = survey.what_if[-1]
    says = (
        f"A --min-gap of {last.min_gap:g} would leave {last.pairs / whole.pairs:.0%} of the pairs"
    )
    if last.pairs == whole.pairs:
        return Chart(f"A --min-gap of up to {last.min_gap:g} would leave every pair", None)
    drawn = [
        Row(
            f"--min-gap {left.min_gap:g}",
            f"{_count(left.pairs, 'pair')}, {left.prompts / whole.prompts:.0%} of prompts",
            min(1.0, left.pairs / whole.pairs),
            mark=min(1.0, left.prompts / whole.prompts),
        )
        for left in survey.what_if
    ]
    return Chart(says, rows(says, drawn, "thick: pairs, thin: prompts"))


def lengths(survey: Survey) -> Chart | None:
    """The lengths of chosen and rejected answers."""
    spreads = survey.pairs.lengths()
    sides = {side: spreads[side] for side in ("chosen", "rejected")}
    chosen, rejected = (spread.quantiles["median"] for spread in sides.values())
    than = f"{chosen:,.0f} characters against {rejected:,.0f} (medians)"
    if max(chosen, rejected) <= _ALIKE * min(chosen, rejected):
        says = f"Both sides are about as long: {than}"
    else:
        says = f"Chosen answers are {'longer' if chosen > rejected else 'shorter'}: {than}"
    return Chart(says, both_sides(says, sides))


def shortcuts(survey: Survey) -> Chart | None:
    """How often each shortcut predicts the chosen answer."""
    found = survey.pairs.shortcuts()
    if not found:
        return None
    unfair = [shortcut for shortcut in found if shortcut.warns]
    low, high = FAIR_SHARE
    says = "No shortcut predicts which answer is chosen"
    if not all(low <= (shortcut.share or 0.0) <= high for shortcut in found):
        says = "Too few pairs differ to call a shortcut unfair"
    if unfair:
        says = _prediction(unfair[0])
    drawn = [
        Row(
            SHORTCUTS[shortcut.name][1].removeprefix("the ").removesuffix(" wins"),
            f"{shortcut.share:.1%}{', unfair' if shortcut.warns else ''}",
            shortcut.share or 0.0,
            "unfair" if shortcut.warns else "",
        )
        for shortcut in found
    ]
    return Chart(says, dots(says, drawn, FAIR_SHARE))


def _prediction(shortcut: Shortcut) -> str:
    """What the strongest shortcut predicts, as the larger of both shares."""
    share = shortcut.share or 0.0
    says = SHORTCUTS[shortcut.name][1]
    if share < 0.5:
        says, share = f"{says.removesuffix('wins')}loses", 1 - share
    return f"{says[0].upper()}{says[1:]} {share:.0%} of the time"


def concentration(survey: Survey) -> Chart | None:
    """The number of pairs per prompt."""
    spread = survey.pairs.pairs_per_prompt()
    if spread is None:
        return None
    says = f"A prompt has {spread.mean:,.3g} pairs on average, {spread.high:,.0f} at most"
    if spread.kind == "constant":
        says = f"Every prompt has {_count(int(spread.low), 'pair')}"
    return Chart(says, histogram(says, spread, "prompts"))


def wins(matrix: Matrix) -> Chart:
    """How often the row was chosen over the column."""
    places = range(len(matrix.names))
    squares = [[_square(matrix, one, other) for other in places] for one in places]
    won = [_won(matrix, place) for place in places]
    best = max(places, key=lambda place: (won[place], -place))
    name = shortened(matrix.names[best], _LONGEST)
    name = f"{matrix.of} {name}" if name.isdecimal() else name
    says = f"{name} is chosen in {won[best]:.0%} of its pairs"
    label = f"{says}. Each square: how often the {matrix.of} at the left wins over the one above."
    return Chart(says, heat(label, matrix.names, squares))


def _square(matrix: Matrix, one: int, other: int) -> Column | None:
    won, lost = matrix.wins[one][other], matrix.wins[other][one]
    if one == other or not won + lost:
        return None
    tooltip = f"{matrix.names[one]} over {matrix.names[other]}: {won:,} of {won + lost:,}"
    return Column(won / (won + lost), tooltip)


def _won(matrix: Matrix, place: int) -> float:
    won = sum(matrix.wins[place])
    met = won + sum(row[place] for row in matrix.wins)
    return won / met if met else 0.0


def _spread_chart(spread: Spread, what: str, of: str) -> Chart:
    usual = max(spread.values, key=lambda value: value[1], default=None)
    if spread.kind == "constant":
        says = f"All {what} have the same {of}, {short(spread.low)}"
    elif usual is not None and usual[1] > _MOST * spread.number:
        says = f"{usual[1] / spread.number:.0%} of {what} have the {of} {short(usual[0])}"
    else:
        says = f"Half of the {what} have a {of} of {short(spread.quantiles['median'])} or less"
    return Chart(says, histogram(says, spread, what))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


Draw = Callable[[Survey], Chart | None]

_OF_GROUPS: dict[str, Draw] = {
    "Scores of candidates": candidate_scores,
    "Candidates per group": group_sizes,
}

_OF_PAIRS: dict[str, Draw] = {
    "Scores": pair_scores,
    "Gaps": gaps,
    "What another --min-gap would leave": what_if,
    "Lengths of answers, in characters": lengths,
    "What a shortcut would get right": shortcuts,
    "Concentration": concentration,
}
