"""Places in the order of their hashes, in a ring: a fair draw that costs a few steps.

Whoever draws takes what follows its own hash. Mostly that is found at once. Where it is not,
because most places have the drawer's own answer or a score at the wrong distance, those that
fit are listed by score instead, if they are few.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from math import isqrt

_FIRST_TRIES = 16


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
        self._answer_of = answer_of
        self._hashes = array("Q", (number for number, _ in ranked))
        self._places = array("Q", (place for _, place in ranked))
        self._rank_of = {place: rank for rank, place in enumerate(self._places)}
        self._by_score = array(
            "Q", sorted(places, key=lambda place: (scores[place], answer_of(place)))
        )
        self._jumps = _jumps([answer_of(place) for place in self._places] * 2)
        self._jumps_by_score = _jumps([answer_of(place) for place in self._by_score])
        self.scores = array("d", (scores[place] for place in self._by_score))
        """The scores of all places, lowest first."""

    def draw(
        self, number: int, answer: bytes, fitting: range, fits: Callable[[int], bool], count: int
    ) -> list[int]:
        """The first `count` places from a hash on that fit and hold another answer.

        `fitting` is the range of `scores` that fit; `fits` says the same of one place.
        """
        size, start = len(self._places), bisect_left(self._hashes, number)
        others = self._others(self._places, self._jumps, range(start, start + size), answer)
        found = list(islice(filter(fits, islice(others, _FIRST_TRIES * count)), count))
        if len(found) == count:
            return found
        few = isqrt(size * count)
        by_score = self._others(self._by_score, self._jumps_by_score, fitting, answer)
        listed = list(islice(by_score, few + 1))
        if len(listed) > few:  # so many fit that the ring soon comes to one
            return found + list(islice(filter(fits, others), count - len(found)))
        return nsmallest(count, listed, key=lambda place: (self._rank_of[place] - start) % size)

    def _others(
        self, places: Sequence[int], jumps: Sequence[int], ranks: range, answer: bytes
    ) -> Iterator[int]:
        """The places at some ranks that hold another answer; runs of this one are jumped over."""
        size, rank = len(places), ranks.start
        while rank < ranks.stop:
            place = places[rank % size]
            if self._answer_of(place) != answer:
                yield place
                rank += 1
            else:
                rank += jumps[rank % size]


def _jumps(answers: Sequence[bytes]) -> "array[int]":
    """For each rank, how many ranks on the next other answer stands, or the end."""
    jumps = array("Q", [1]) * len(answers)
    for rank in range(len(answers) - 2, -1, -1):
        if answers[rank] == answers[rank + 1]:
            jumps[rank] = jumps[rank + 1] + 1
    return jumps
