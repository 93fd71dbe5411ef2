"""The outcome of each candidate of a group: the pairs that it is in, or why it is in none."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from math import inf

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
    obstacles, like = _Obstacles(group, options, numbers), _PairedLike(group, found)
    for place, outcome in enumerate(found):
        if not outcome.paired:
            outcome.obstacles = obstacles.of(place)
            other = None if outcome.obstacles else like.of(place)
            outcome.like = None if other is None else (other[0], numbers[other[1]])
    return found, count


class _Obstacles:
    """The obstacles to pairing each candidate of a group with the others.

    Candidates are ranked by score, so those with the same obstacle are a few ranges of places.
    """

    def __init__(self, group: Group, options: PairOptions, numbers: Sequence[int]) -> None:
        self._scores = list(group.scores)
        self._digests = list(group.digests)
        self._options = options
        self._numbers = numbers
        self._places_of: dict[bytes, list[int]] = {}
        for place, digest in enumerate(self._digests):
            self._places_of.setdefault(digest, []).append(place)

    def of(self, place: int) -> dict[Obstacle, Others]:
        """The obstacles to pairing a candidate with all others; empty if any pair is allowed."""
        digest = self._digests[place]
        same = self._places_of[digest]
        found: dict[Obstacle, Others] = {}
        first: dict[Obstacle, int] = {}
        if len(same) > 1:
            named = [*islice((other for other in same if other != place), _NAMED)]
            first[Obstacle.SAME_ANSWER] = named[0]
            numbers = [self._numbers[other] for other in named]
            found[Obstacle.SAME_ANSWER] = Others(numbers, len(same) - 1)
        for obstacle, places in self._levels(self._scores[place]):
            own = bisect_left(same, places.stop) - bisect_left(same, places.start)
            if own >= len(places):
                continue
            if obstacle is None:
                return {}
            others = found.setdefault(obstacle, Others())
            others.count += len(places) - own
            answers = (other for other in places if self._digests[other] != digest)
            named = [*islice(answers, max(1, _NAMED - len(others.numbers)))]
            first.setdefault(obstacle, named[0])
            others.numbers += [self._numbers[other] for other in named][
                : _NAMED - len(others.numbers)
            ]
        return {obstacle: found[obstacle] for obstacle in sorted(found, key=first.__getitem__)}

    def _levels(self, score: float) -> Iterator[tuple[Obstacle | None, range]]:
        """The places with each obstacle to a candidate of this score, apart from its answer."""
        scores, floor = self._scores, self._options.min_chosen_score
        least, most = self._options.min_gap, self._options.max_gap
        most = inf if most is None else most
        everyone = range(len(scores))
        tied = _first(everyone, lambda place: scores[place] <= score)
        below = _first(everyone, lambda place: scores[place] < score)
        low = tied
        if floor is not None:
            low = _first(range(tied), lambda place: scores[place] < floor)
        allowed = _first(range(low), lambda place: gap_between(scores[place], score) <= most)
        narrow = _first(range(low), lambda place: gap_between(scores[place], score) < least)
        yield Obstacle.WIDE, range(allowed)
        yield None, range(allowed, narrow)
        yield Obstacle.NARROW, range(narrow, low)
        yield Obstacle.LOW, range(low, tied)
        yield Obstacle.TIE, range(tied, below)
        worse = range(below, len(scores))
        if floor is not None and score < floor:
            yield Obstacle.LOW, worse
            return
        allowed = _first(worse, lambda place: gap_between(score, scores[place]) >= least)
        wide = _first(worse, lambda place: gap_between(score, scores[place]) > most)
        yield Obstacle.NARROW, range(below, allowed)
        yield None, range(allowed, wide)
        yield Obstacle.WIDE, range(wide, len(scores))


def _first(places: range, holds: Callable[[int], bool]) -> int:
    """The first of these places for which something holds that then holds for the rest."""
    return places.start + bisect_left(places, True, key=holds)


class _PairedLike:
    """The first paired candidate with each answer and with each score."""

    def __init__(self, group: Group, found: Sequence[CandidateOutcome]) -> None:
        self._group = group
        self._by_digest: dict[bytes, int] = {}
        self._by_score: dict[float, int] = {}
        for place, outcome in enumerate(found):
            if outcome.paired:
                self._by_digest.setdefault(group.digests[place], place)
                self._by_score.setdefault(group.scores[place], place)

    def of(self, place: int) -> tuple[Obstacle, int] | None:
        """The one with a candidate's answer, or else with its score."""
        same = self._by_digest.get(self._group.digests[place])
        if same is not None:
            return Obstacle.SAME_ANSWER, same
        tied = self._by_score.get(self._group.scores[place])
        return None if tied is None else (Obstacle.TIE, tied)
