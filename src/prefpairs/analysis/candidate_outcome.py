"""The outcome of each candidate of a group: the pairs that it is in, or why it is in none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from prefpairs.model.number import gap_between
from prefpairs.strategies.allowed_pairs import Group, Positions
from prefpairs.strategies.options import PairOptions

_NAMED = 3


class Obstacle(StrEnum):
    """Why two candidates must not be paired."""

    SAME_ANSWER = "same_answer"
    TIE = "tie"
    NARROW = "narrow"
    WIDE = "wide"
    LOW = "low"


@dataclass(slots=True)
class Others:
    """Other candidates of the group: the numbers of the first few, and their count."""

    numbers: list[int] = field(default_factory=list)
    count: int = 0

    def add(self, number: int) -> None:
        """Count one more."""
        self.count += 1
        if len(self.numbers) < _NAMED:
            self.numbers.append(number)


@dataclass(slots=True)
class CandidateOutcome:
    """What happened to one candidate."""

    chosen_over: Others = field(default_factory=Others)
    rejected_by: Others = field(default_factory=Others)
    obstacles: dict[Obstacle, Others] = field(default_factory=dict)
    """The obstacles to pairing it with the others, if no pair with it is allowed."""
    like: tuple[Obstacle, int] | None = None
    """The first paired candidate with the same answer or score, and which of them is the same."""
    alone: bool = False
    """Whether it is the only candidate in its group."""

    @property
    def paired(self) -> bool:
        """Whether it is in a pair."""
        return bool(self.chosen_over.count or self.rejected_by.count)


def candidate_outcomes(
    group: Group, options: PairOptions, pairs: Iterable[Positions], numbers: Sequence[int]
) -> tuple[list[CandidateOutcome], int]:
    """The outcome of each candidate and the number of pairs; `numbers` refer to the candidates.

    >>> group = Group([1.0, 0.5, 0.5], [b"a", b"b", b"c"])
    >>> (best, second, third), _ = candidate_outcomes(group, PairOptions(), [(0, 1)], [1, 2, 3])
    >>> best.chosen_over.numbers, second.rejected_by.numbers, third.like
    ([2], [1], (<Obstacle.TIE: 'tie'>, 2))
    """
    alone = len(group.scores) == 1
    found, count = [CandidateOutcome(alone=alone) for _ in group.scores], 0
    for chosen, rejected in pairs:
        found[chosen].chosen_over.add(numbers[rejected])
        found[rejected].rejected_by.add(numbers[chosen])
        count += 1
    paired = [place for place, outcome in enumerate(found) if outcome.paired]
    for place, outcome in enumerate(found):
        if not outcome.paired:
            outcome.obstacles = _obstacles(group, options, place, numbers)
            like = None if outcome.obstacles else _paired_like(group, place, paired)
            outcome.like = None if like is None else (like[0], numbers[like[1]])
    return found, count


def _obstacles(
    group: Group, options: PairOptions, place: int, numbers: Sequence[int]
) -> dict[Obstacle, Others]:
    """The obstacles to pairing a candidate with all others; empty if any pair is allowed."""
    found: dict[Obstacle, Others] = {}
    for other, number in enumerate(numbers):
        if other == place:
            continue
        obstacle = _obstacle(group, options, place, other)
        if obstacle is None:
            return {}
        found.setdefault(obstacle, Others()).add(number)
    return found


def _obstacle(group: Group, options: PairOptions, place: int, other: int) -> Obstacle | None:
    """The obstacle to pairing two candidates, or None."""
    better, worse = sorted((place, other), key=group.scores.__getitem__, reverse=True)
    if group.digests[better] == group.digests[worse]:
        return Obstacle.SAME_ANSWER
    if group.scores[better] == group.scores[worse]:
        return Obstacle.TIE
    if options.min_chosen_score is not None and group.scores[better] < options.min_chosen_score:
        return Obstacle.LOW
    gap = gap_between(group.scores[better], group.scores[worse])
    if gap < options.min_gap:
        return Obstacle.NARROW
    wide = options.max_gap is not None and gap > options.max_gap
    return Obstacle.WIDE if wide else None


def _paired_like(group: Group, place: int, paired: Sequence[int]) -> tuple[Obstacle, int] | None:
    for other in paired:
        if group.digests[other] == group.digests[place]:
            return Obstacle.SAME_ANSWER, other
    for other in paired:
        if group.scores[other] == group.scores[place]:
            return Obstacle.TIE, other
    return None
