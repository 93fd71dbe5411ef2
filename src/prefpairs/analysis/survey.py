"""A survey of pairs and of the candidates they were made from: exact counts in compact arrays.

A pair takes about 50 bytes, plus 30 for each distinct prompt, answer and pair; no text is kept.
`figures` is a survey as data: what `stats --json` writes and `--require` checks.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import Any, NamedTuple

from prefpairs.analysis.distribution import Spread, edges_of, length_edges, spread_of
from prefpairs.analysis.shortcuts import SHORTCUTS, Shortcut, Traits, traits_of_sides
from prefpairs.analysis.win_matrix import Wins
from prefpairs.ledger import Ledger
from prefpairs.ledger.summaries import extract_summary, ordered, stages_summary
from prefpairs.model.identity import digest
from prefpairs.model.message import flat_text
from prefpairs.model.pair import Pair
from prefpairs.stages.base import IndexedPair
from prefpairs.stages.digest_table import DigestTable

WHAT_IF_GAPS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
"""The minimum gaps in the what-if table."""

_CHOSEN, _REJECTED = 1, 2


class WhatIf(NamedTuple):
    """The number of pairs and prompts that a `--min-gap` would leave."""

    min_gap: float
    pairs: int
    prompts: int


@dataclass(slots=True)
class GroupSurvey:
    """Figures about the groups in which candidates compete."""

    groups: int
    with_spread: int
    all_equal: dict[str, int]
    """Groups of several candidates with equal scores: below, at or above the middle of all."""
    sizes: Spread | None
    scores: Spread | None
    tied_pairs: int
    """Pairs of candidates of one group with equal scores, which never pair."""
    possible_pairs: int


class PairSurvey:
    """Figures about pairs, which are added one by one in any order."""

    def __init__(self) -> None:
        self._gaps = array("d")
        self._scores = {"chosen": array("d"), "rejected": array("d")}
        self._lengths = {"prompt": array("I"), "chosen": array("I"), "rejected": array("I")}
        self._prompt_of = array("I")
        self._prompts = DigestTable()
        self._answers = DigestTable()
        self._answer_sides = bytearray()
        self._opposed = DigestTable()
        self._directions = bytearray()
        self._differ: Counter[str] = Counter()
        self._chosen_more: Counter[str] = Counter()
        self.duplicates = 0
        self.wins = Wins()

    def add(self, indexed: IndexedPair, pair: Pair) -> None:
        """Count one pair."""
        self._gaps.append(_known(pair.gap))
        self._scores["chosen"].append(_known(pair.chosen_score))
        self._scores["rejected"].append(_known(pair.rejected_score))
        question = _question(indexed.prompt, indexed.tools)
        other = _question(indexed.other_prompt or indexed.prompt, indexed.tools)
        self._prompt_of.append(self._prompts.number_of(question))
        self._add_answer(question + indexed.chosen, _CHOSEN)
        self._add_answer(other + indexed.rejected, _REJECTED)
        self._add_direction(question, indexed)
        self._add_traits(pair)
        self.wins.add(pair)

    def _add_answer(self, answer: bytes, side: int) -> None:
        """Record the side on which an answer to a question occurs."""
        number = self._answers.number_of(digest("answer", answer))
        if number == len(self._answer_sides):
            self._answer_sides.append(0)
        self._answer_sides[number] |= side

    def _add_direction(self, question: bytes, indexed: IndexedPair) -> None:
        """Record which of two answers is preferred."""
        first, second = sorted((indexed.chosen, indexed.rejected))
        direction = _CHOSEN if first == indexed.chosen else _REJECTED
        number = self._opposed.number_of(digest("answers", question + first + second))
        if number == len(self._directions):
            self._directions.append(0)
        self.duplicates += bool(self._directions[number] & direction)
        self._directions[number] |= direction

    def _add_traits(self, pair: Pair) -> None:
        chosen, rejected = traits_of_sides(pair)
        self._lengths["prompt"].append(len(flat_text(pair.prompt)))
        self._lengths["chosen"].append(chosen.chars)
        self._lengths["rejected"].append(rejected.chars)
        for name, trait in _TRAITS.items():
            ours, theirs = chosen[trait], rejected[trait]
            if ours != theirs:
                self._differ[name] += 1
                self._chosen_more[name] += ours > theirs

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return len(self._gaps)

    @property
    def prompts(self) -> int:
        """The number of distinct prompts, with their tools."""
        return len(self._prompts)

    @property
    def both_sides(self) -> int:
        """The number of answers that are chosen in one pair and rejected in another."""
        return self._answer_sides.count(_CHOSEN | _REJECTED)

    @property
    def contradictions(self) -> int:
        """The number of times that two answers are each preferred to the other."""
        return self._directions.count(_CHOSEN | _REJECTED)

    def gaps(self) -> Spread | None:
        """The distribution of known gaps."""
        return spread_of(_all_known(self._gaps))

    @property
    def without_gap(self) -> int:
        """The number of pairs without a known gap."""
        return sum(map(isnan, self._gaps))

    def scores(self) -> dict[str, Spread]:
        """The distribution of the scores of each side, over the same bins."""
        known = {side: _all_known(scores) for side, scores in self._scores.items()}
        edges = edges_of(list(known.values()))
        return {side: spread for side in known if (spread := spread_of(known[side], edges))}

    def lengths(self) -> dict[str, Spread]:
        """The distribution of lengths in characters; both answers have the same bins."""
        prompt, chosen, rejected = self._lengths.values()
        of_prompts = length_edges(max(prompt, default=0))
        of_answers = length_edges(max(*chosen, *rejected, 0, 0))
        edges = {"prompt": of_prompts, "chosen": of_answers, "rejected": of_answers}
        lengths = self._lengths.items()
        return {name: spread for name, of in lengths if (spread := spread_of(of, edges[name]))}

    def shortcuts(self) -> list[Shortcut]:
        """The shortcuts in which any pairs differ, the most predictive first."""
        found = [Shortcut(name, self._differ[name], self._chosen_more[name]) for name in SHORTCUTS]
        return sorted(
            (shortcut for shortcut in found if shortcut.differ),
            key=lambda shortcut: -abs((shortcut.share or 0.0) - 0.5),
        )

    def share(self, name: str) -> float | None:
        """How often a shortcut is right, or None if no pairs differ in it."""
        return Shortcut(name, self._differ[name], self._chosen_more[name]).share

    def what_if(self, *, unknown_stay: bool = False) -> list[WhatIf]:
        """What each `--min-gap` would leave of these pairs, with or without unknown gaps."""
        gaps: Iterable[float] = self._gaps
        if unknown_stay:
            gaps = array("d", (inf if isnan(gap) else gap for gap in gaps))
        return [what_if(least, gaps, self._prompt_of) for least in WHAT_IF_GAPS]

    def pairs_per_prompt(self) -> Spread | None:
        """The distribution of the number of pairs per prompt."""
        counts = array("I", bytes(4 * len(self._prompts)))
        for number in self._prompt_of:
            counts[number] += 1
        return spread_of(counts)


@dataclass(slots=True)
class Survey:
    """Figures about pairs, and about groups if the pairs were made from candidates."""

    pairs: PairSurvey
    what_if: list[WhatIf]
    groups: GroupSurvey | None = None


def _known(number: float | None) -> float:
    return nan if number is None else number


def _all_known(numbers: "array[float]") -> "array[float]":
    return array("d", (number for number in numbers if not isnan(number)))


_TRAITS = {name: Traits._fields.index(trait) for name, (trait, _) in SHORTCUTS.items()}


def what_if(least: float, gaps: Iterable[float], prompts: Iterable[int]) -> WhatIf:
    """What a `--min-gap` leaves of pairs with these gaps and prompts, without unknown gaps."""
    left = [prompt for gap, prompt in zip(gaps, prompts, strict=True) if gap >= least]
    return WhatIf(least, len(left), len(set(left)))


def survey_groups(groups: Iterable[Sequence[float]]) -> GroupSurvey:
    """Figures about groups, given the scores of each group's candidates."""
    sizes, scores, equal = array("I"), array("d"), array("d")
    tied = possible = spread = 0
    for group in groups:
        sizes.append(len(group))
        scores.extend(group)
        counts = Counter(group)
        tied += sum(count * (count - 1) // 2 for count in counts.values())
        possible += len(group) * (len(group) - 1) // 2
        spread += len(counts) > 1
        if len(counts) == 1 and len(group) > 1:
            equal.append(group[0])
    whole = spread_of(scores)
    middle = (whole.low + (whole.high - whole.low) / 2) if whole else 0.0
    sides = Counter(
        ("middle", "high", "low")[(score > middle) - (score < middle)] for score in equal
    )
    return GroupSurvey(
        groups=len(sizes),
        with_spread=spread,
        all_equal={side: sides[side] for side in ("low", "middle", "high")},
        sizes=spread_of(sizes),
        scores=whole,
        tied_pairs=tied,
        possible_pairs=possible,
    )


def _question(prompt: bytes, tools: bytes) -> bytes:
    return digest("question", prompt + tools)


def figures(survey: Survey, ledger: Ledger) -> dict[str, Any]:
    """All figures of a survey."""
    pairs = survey.pairs
    return {
        **_ledgers(survey, ledger),
        **(_of_groups(survey.groups, ledger) if survey.groups is not None else {}),
        "pairs": pairs.pairs,
        "prompts": pairs.prompts,
        "duplicates": pairs.duplicates,
        "contradictions": pairs.contradictions,
        "both_sides": pairs.both_sides,
        "pairs_without_gap": pairs.without_gap,
        **{f"{name}_wins": pairs.share(name) for name in SHORTCUTS},
        "shortcuts": [shortcut.summary() for shortcut in pairs.shortcuts()],
        **_spreads(pairs),
        "what_if": [what_if._asdict() for what_if in survey.what_if],
        "wins": {matrix.of: matrix.summary() for matrix in pairs.wins.matrices()},
    }


def _ledgers(survey: Survey, ledger: Ledger) -> dict[str, Any]:
    ledgers = {**extract_summary(ledger), **stages_summary(ledger)}
    if survey.groups is None:
        del ledgers["candidates"]
    return ledgers


def _of_groups(groups: GroupSurvey, ledger: Ledger) -> dict[str, Any]:
    return {
        "groups": groups.groups,
        "groups_with_spread": groups.with_spread,
        "groups_without_pair": ordered(ledger.groups_without_pair),
        "groups_all_equal": groups.all_equal,
        "candidates_per_group": _summary(groups.sizes),
        "scores": _summary(groups.scores),
        "ties": {"pairs": groups.tied_pairs, "of": groups.possible_pairs},
    }


def _spreads(pairs: PairSurvey) -> dict[str, Any]:
    lengths, scores = pairs.lengths(), pairs.scores()
    return {
        "gap": _summary(pairs.gaps()),
        "chosen_scores": _summary(scores.get("chosen")),
        "rejected_scores": _summary(scores.get("rejected")),
        "pairs_per_prompt": _summary(pairs.pairs_per_prompt()),
        "lengths": {side: _summary(lengths.get(side)) for side in ("prompt", "chosen", "rejected")},
    }


def _summary(spread: Spread | None) -> dict[str, Any] | None:
    return None if spread is None else spread.summary()
