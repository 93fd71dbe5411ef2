"""The sides of a split: how large each is, and which one owns a prompt that several contain."""

from array import array
from collections.abc import Sequence

from prefpairs.stages.digest_table import DigestTable

TRAIN, VAL, TEST = range(3)
SIDES = ("train", "val", "test")


def fill_sides(
    sizes: Sequence[int], order: Sequence[int], shares: Sequence[float], rest: int
) -> bytearray:
    """The side of each key: val takes from the front of the order, test from its end.

    A key is taken if it brings its side nearer to its share. Each side that is asked for gets a
    key, as long as there are enough; `rest` is the side of those that nobody takes.

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
    """Numbers that go together: each leads to the root of its kind.

    >>> joined = LinkedKeys()
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


class SideOwners:
    """The sides that have each prompt: some 30 bytes a prompt.

    Of several sides test keeps it, else val; so what was held back is never trained on.

    >>> kept, prompt = SideOwners(), b"sixteen bytes  1"
    >>> kept.add(prompt, "train"), kept.add(prompt, "test"), kept.add(prompt, "val")
    ('train', 'test', 'test')
    >>> kept.side_of(prompt), kept.side_of(b"sixteen bytes  2"), kept.is_on_several(prompt)
    ('test', None, True)
    """

    def __init__(self) -> None:
        self._numbers = DigestTable()
        self._masks = bytearray()
        """The sides that have a prompt, a bit each: the highest one keeps it."""
        self._seen = 0

    @property
    def sides(self) -> list[str]:
        """The sides that have any prompt."""
        return [side for place, side in enumerate(SIDES) if self._seen >> place & 1]

    def add(self, prompt: bytes, side: str) -> str:
        """Note that a side has a prompt, and tell which side keeps it by now."""
        number = self._numbers.number_of(prompt)
        if number == len(self._masks):
            self._masks.append(0)
        bit = 1 << SIDES.index(side)
        self._seen |= bit
        self._masks[number] |= bit
        return _highest(self._masks[number])

    def side_of(self, prompt: bytes) -> str | None:
        """The side that keeps a prompt, if any has it."""
        number = self._numbers.find(prompt)
        return None if number < 0 else _highest(self._masks[number])

    def is_on_several(self, prompt: bytes) -> bool:
        """Whether more than one side has a prompt."""
        number = self._numbers.find(prompt)
        return number >= 0 and self._masks[number].bit_count() > 1


def owner_first(side: str) -> int:
    """A key that sorts sides so that the one that keeps a prompt comes first."""
    return -SIDES.index(side)


def _highest(mask: int) -> str:
    return SIDES[mask.bit_length() - 1]
