"""The sides of a split: how large each one is, and which one owns a prompt that several contain."""

from array import array
from collections.abc import Sequence

from prefpairs.stages.digest_table import DigestTable

TRAIN, VAL, TEST = range(3)
SIDES = ("train", "val", "test")


def fill_sides(
    sizes: Sequence[int], order: Sequence[int], shares: Sequence[float], rest: int
) -> bytearray:
    """The side of each key: val takes keys from the front of the order, test from its end.

    A side takes a key if that brings it nearer to its share. Each requested side gets at least one
    key, as long as there are enough. Keys that no side takes go to `rest`.

    >>> list(fill_sides([2, 2, 2, 2, 2], range(5), (0.6, 0.2, 0.2), TRAIN))
    [1, 0, 0, 0, 2]
    """
    side_of = bytearray([rest]) * len(sizes)
    pairs, free = sum(sizes), sum(map(bool, sizes))
    sides = [side for side in (VAL, TEST) if shares[side] and side != rest]
    for place, side in enumerate(sides):
        for_others = len(sides) - place  # one key for each side that follows, and one for the rest
        keys = order if side == VAL else order[::-1]
        fit = [key for key in keys if sizes[key] and side_of[key] == rest]
        target, filled = shares[side] * pairs, 0
        for key in fit:
            after = filled + sizes[key]
            if abs(after - target) < abs(filled - target) and free > for_others:
                side_of[key] = side
                filled, free = after, free - 1
        if not filled and free > for_others:
            side_of[min(fit, key=lambda key: abs(sizes[key] - target))] = side
            free -= 1
    return side_of


class LinkedKeys:
    """Keys that must stay together: a union-find structure over their numbers.

    >>> linked = LinkedKeys()
    >>> linked.grow(3)
    >>> linked.link(0, 2)
    >>> [linked.root(number) for number in range(3)]
    [0, 1, 0]
    """

    def __init__(self) -> None:
        self._above = array("I")

    def grow(self, numbers: int) -> None:
        """Add the next numbers until there are so many, each linked to no other."""
        self._above.extend(range(len(self._above), numbers))

    def root(self, number: int) -> int:
        """The number that represents all numbers linked to this one."""
        while (above := self._above[number]) != number:
            self._above[number] = self._above[above]
            number = above
        return number

    def link(self, one: int, other: int) -> None:
        """Link two numbers, and all that are linked to them."""
        self._above[self.root(other)] = self.root(one)


class SideOwners:
    """Which side owns each prompt, and which others contain it: about 30 bytes a prompt.

    If several sides contain a prompt, test owns it, else val. So held-out data is never trained on.

    >>> owners, prompt = SideOwners(), b"sixteen bytes  1"
    >>> owners.add(prompt, "train"), owners.add(prompt, "test"), owners.add(prompt, "val")
    ('train', 'test', 'test')
    >>> owners.side_of(prompt), owners.side_of(b"sixteen bytes  2"), owners.is_in_several(prompt)
    ('test', None, True)
    """

    def __init__(self) -> None:
        self._numbers = DigestTable()
        self._masks = bytearray()
        """For each prompt the sides that contain it, one bit each; the highest one owns it."""
        self._seen = 0

    @property
    def sides(self) -> list[str]:
        """The sides that contain any prompt."""
        return [side for place, side in enumerate(SIDES) if self._seen >> place & 1]

    def add(self, prompt: bytes, side: str) -> str:
        """Record that a side contains a prompt, and return the side that owns it so far."""
        number = self._numbers.number_of(prompt)
        if number == len(self._masks):
            self._masks.append(0)
        bit = 1 << SIDES.index(side)
        self._seen |= bit
        self._masks[number] |= bit
        return _highest(self._masks[number])

    def side_of(self, prompt: bytes) -> str | None:
        """The side that owns a prompt, if any contains it."""
        number = self._numbers.find(prompt)
        return None if number < 0 else _highest(self._masks[number])

    def is_in_several(self, prompt: bytes) -> bool:
        """Whether more than one side contains a prompt."""
        number = self._numbers.find(prompt)
        return number >= 0 and self._masks[number].bit_count() > 1


def owner_first(side: str) -> int:
    """A sort key that puts the side that owns a shared prompt first."""
    return -SIDES.index(side)


def _highest(mask: int) -> str:
    return SIDES[mask.bit_length() - 1]
