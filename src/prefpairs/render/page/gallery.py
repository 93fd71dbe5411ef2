"""The pairs on the page: some drawn by seed, and the most extreme ones.

Which pairs are held depends on the seed and on their content, never on their place in the input.
"""

from bisect import insort
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prefpairs.model.identity import digest, draw
from prefpairs.model.json_codec import encode
from prefpairs.model.message import flat_text
from prefpairs.model.pair import Pair, without_origins
from prefpairs.render.page.pair_excerpts import PairExcerpt, excerpt_of, fair_limit, row_of
from prefpairs.stages.base import IndexedPair

_EXTREMES = 20
"""The number of pairs of each extreme, besides those that were drawn."""

_LARGEST = 16_000_000
"""The maximum size of the pairs of a page, in bytes."""

_ROOM = 14_000_000
"""The characters that their texts have at first; fewer if the characters take several bytes."""

_HELD = 48_000_000
"""The maximum number of characters held until it is known which pairs stay."""

_LONGEST = 20_000
_SIDES = 3


class _Place(NamedTuple):
    """A pair by its rank; copies of a pair, whose draws are equal, differ in the other fields."""

    rank: tuple[float, int]
    copy: bytes
    origins: tuple[str, str]
    number: int
    excerpt: PairExcerpt


@dataclass(slots=True)
class _LowestRanks:
    """The pairs with the lowest ranks, up to a number of them."""

    most: int
    places: list[_Place] = field(default_factory=list)

    def wants(self, rank: tuple[float, int]) -> bool:
        """Whether a pair of this rank is, or may be, among them."""
        return len(self.places) < self.most or bool(self.places and rank <= self.places[-1].rank)

    def add(self, place: _Place) -> None:
        """Add a pair; the one with the highest rank is dropped if there are too many."""
        insort(self.places, place, key=lambda held: held[:4])
        del self.places[self.most :]


class Gallery:
    """Holds the pairs that the page shows, of those that are added one by one."""

    def __init__(self, pairs: int, seed: int) -> None:
        self.seed = seed
        self._most = pairs
        extremes = min(_EXTREMES, pairs)
        self._drawn = _LowestRanks(pairs)
        self._narrow = _LowestRanks(extremes)
        self._uneven = _LowestRanks(extremes)
        self._longest = min(_LONGEST, _HELD // (_SIDES * (pairs + 2 * extremes) or 1))
        self.number = 0

    def add(self, indexed: IndexedPair, pair: Pair) -> None:
        """Hold a pair if it is one of those that are shown."""
        self.number += 1
        if not self._most:
            return
        chance = draw(self.seed, "report", indexed.id)
        ranks = [(self._drawn, (0.0, chance)), (self._uneven, (-unevenness(pair), chance))]
        if pair.gap is not None:
            ranks.append((self._narrow, (pair.gap, chance)))
        wanted = [(held, rank) for held, rank in ranks if held.wants(rank)]
        if wanted:
            copy = digest("copy", without_origins(pair))
            origins = pair.chosen_origin, pair.rejected_origin
            excerpt = excerpt_of(pair, self._longest)
            for held, rank in wanted:
                held.add(_Place(rank, copy, origins, indexed.number, excerpt))

    @property
    def drawn(self) -> int:
        """The number of pairs that were drawn."""
        return len(self._drawn.places)

    def data(self) -> bytes:
        """The pairs as JSON, in the order of the input; texts are cut until it is small enough."""
        room = _ROOM
        while len(data := encode(self._rows(room))) > _LARGEST and room > _SIDES * self._most:
            room = int(room * 0.9 * _LARGEST / len(data))
        return data

    def _rows(self, room: int) -> list[dict[str, Any]]:
        """The pairs, each with why it is held; their texts fit into `room` together."""
        held: dict[int, tuple[PairExcerpt, list[str]]] = {}
        for why, lowest in self._reasons():
            for place in lowest.places:
                held.setdefault(place.number, (place.excerpt, []))[1].append(why)
        texts = [text for excerpt, _ in held.values() for text in excerpt.texts]
        most = fair_limit((len(piece.text) for text in texts for piece in text), room)
        return [{**row_of(excerpt, most), "why": why} for _, (excerpt, why) in sorted(held.items())]

    def _reasons(self) -> list[tuple[str, _LowestRanks]]:
        """The reasons to hold pairs; extremes count only if not all pairs are held anyway."""
        drawn = [("drawn", self._drawn)]
        if self.number <= self._most:
            return drawn
        return [*drawn, ("uneven", self._uneven), ("narrow", self._narrow)]


def unevenness(pair: Pair) -> float:
    """The ratio of the longer answer's length to the shorter one's."""
    longer, shorter = len(flat_text(pair.chosen)), len(flat_text(pair.rejected))
    if longer < shorter:
        longer, shorter = shorter, longer
    return longer / max(1, shorter)
