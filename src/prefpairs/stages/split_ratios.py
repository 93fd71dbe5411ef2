"""Sides that are filled to their shares, by keys of known sizes."""

from array import array
from collections.abc import Sequence

TRAIN, VAL, TEST = range(3)
SIDES = ("train", "val", "test")


def filled_sides(
    sizes: Sequence[int], order: Sequence[int], shares: Sequence[float], rest: int
) -> bytearray:
    """The side of each key: val takes from the front of the order, test from its end.

    A key is taken if it brings its side nearer to its share. Each side that is asked for gets a
    key, as long as there are enough; `rest` is the side of those that nobody takes.

    >>> list(filled_sides([2, 2, 2, 2, 2], range(5), (0.6, 0.2, 0.2), TRAIN))
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


class Joined:
    """Numbers that go together: each leads to the root of its kind.

    >>> joined = Joined()
    >>> joined.add(), joined.add(), joined.add()
    (None, None, None)
    >>> joined.join(0, 2)
    >>> [joined.root(number) for number in range(3)]
    [0, 1, 0]
    """

    def __init__(self) -> None:
        self._above = array("I")

    def add(self) -> None:
        """Take in the next number, which goes alone."""
        self._above.append(len(self._above))

    def root(self, number: int) -> int:
        """What all numbers of a kind lead to."""
        while (above := self._above[number]) != number:
            self._above[number] = self._above[above]
            number = above
        return number

    def join(self, one: int, other: int) -> None:
        """Let two numbers, and all that go with them, go together."""
        self._above[self.root(other)] = self.root(one)
