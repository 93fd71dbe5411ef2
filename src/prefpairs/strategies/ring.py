"""Places in the order of their hashes, in a ring: a fair draw that costs a few steps.

Whoever draws takes what follows its own hash. Two shortcuts keep the steps few where most of
the ring does not fit: places with the drawer's own answer are jumped over at once, and where
few scores are at the right distance only those are looked at.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice


class Ring:
    """Some places of a larger list, each with a score and an answer."""

    def __init__(
        self,
        places: Sequence[int],
        scores: Sequence[float],
        answer_of: Callable[[int], bytes],
        hash_of: Callable[[int], int],
    ) -> None:
        ranked = sorted((hash_of(place), place) for place in places)
        self._hashes = array("Q", (number for number, _ in ranked))
        self._places = array("Q", (place for _, place in ranked))
        self._answer_of = answer_of
        self._jump = self._jumps()
        self._by_score = array("Q", sorted(places, key=scores.__getitem__))
        self._rank_of = {place: rank for rank, place in enumerate(self._places)}
        self.scores = array("d", (scores[place] for place in self._by_score))
        """The scores of all places, lowest first."""

    def draw(
        self, number: int, answer: bytes, fitting: range, fits: Callable[[int], bool], count: int
    ) -> list[int]:
        """The first `count` places from a hash on that fit and hold another answer.

        `fitting` is the range of `scores` that fit; `fits` says the same of one place.
        """
        start = bisect_left(self._hashes, number)
        if len(fitting) ** 2 >= count * len(self._places):
            return list(islice(filter(fits, self._walk(start, answer)), count))
        size = len(self._places)
        near = map(self._by_score.__getitem__, fitting)
        others = (place for place in near if self._answer_of(place) != answer)
        return nsmallest(count, others, key=lambda place: (self._rank_of[place] - start) % size)

    def _walk(self, start: int, answer: bytes) -> Iterator[int]:
        """Every place with another answer, once, from a rank on."""
        size = len(self._places)
        rank = start
        while rank < start + size:
            place = self._places[rank % size]
            if self._answer_of(place) != answer:
                yield place
                rank += 1
            else:
                rank += self._jump[rank % size]

    def _jumps(self) -> "array[int]":
        """For each rank, how many ranks on the next other answer stands; or once around."""
        size = len(self._places)
        answers = [self._answer_of(place) for place in self._places]
        jumps = array("Q", [size]) * size
        for rank in range(2 * size - 2, -1, -1):
            here, following = rank % size, (rank + 1) % size
            same = answers[here] == answers[following]
            jumps[here] = min(size, jumps[following] + 1) if same else 1
        return jumps
