"""Which side of a split keeps a prompt that several have."""

from prefpairs.stages.digest_table import Numbering
from prefpairs.stages.split_ratios import SIDES


class KeptSides:
    """The sides that have each prompt: some 30 bytes a prompt.

    Of several sides test keeps it, else val; so what was held back is never trained on.

    >>> kept, prompt = KeptSides(), b"sixteen bytes  1"
    >>> kept.add(prompt, "train"), kept.add(prompt, "test"), kept.add(prompt, "val")
    ('train', 'test', 'test')
    >>> kept.side_of(prompt), kept.side_of(b"sixteen bytes  2"), kept.is_on_several(prompt)
    ('test', None, True)
    """

    def __init__(self) -> None:
        self._numbers = Numbering()
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


def kept_first(side: str) -> int:
    """A key that sorts sides so that the one that keeps a prompt comes first."""
    return -SIDES.index(side)


def _highest(mask: int) -> str:
    return SIDES[mask.bit_length() - 1]
