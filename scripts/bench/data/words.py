"""Text that costs nothing: slices of one seeded pool of words, ready to stand in JSON."""

import struct
from array import array
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice

POOL_WORDS = 1 << 16
PLAIN = """
the of and to in is that for it as was with be by on not he this are or from at which
have an we so first then value step check result force energy divide answer because
therefore problem given units equation substitute compute approximately temperature
velocity resistor constant wait actually hold again total kinetic pressure volume 12 0.5
300 1e-3 x= (a+b)
"""
ESCAPED = (r"\n\n", r"\"quoted\"", r"\\frac{1}{2}", r"\\text{kW}", r"\t-", r"done.\n", r"\u2248")
FOREIGN = ("naïve", "größer", "数学", "решение", "答案是", "😀", "Ångström", "≈", "β-decay")


class WordPool:
    """A pool of words, of which some hold escapes and some are not ASCII.

    Nothing is encoded while rows are written: a text is a slice between two spaces.

    >>> pool = WordPool(seed=0, escapes=0.0, non_ascii=0.0)
    >>> pool.text(12345, 40)
    b'and in 12 hold this at 12'
    >>> pool.text(12345, 40) == WordPool(seed=1, escapes=0.0, non_ascii=0.0).text(12345, 40)
    False
    """

    def __init__(self, *, seed: int, escapes: float, non_ascii: float) -> None:
        words = islice(_words(seed, escapes, non_ascii), POOL_WORDS)
        self._starts = array("I")
        pool = bytearray()
        for word in words:
            self._starts.append(len(pool))
            pool += word.encode() + b" "
        self._bytes = bytes(pool)
        self._mean = len(pool) / POOL_WORDS

    def text(self, draw: int, length: int) -> bytes:
        """About so many bytes, from a place that the draw names."""
        words = max(1, round(length / self._mean))
        first = draw % (POOL_WORDS - 1)
        parts = []
        while words > 0:
            last = min(first + words, POOL_WORDS - 1)
            parts.append(self._bytes[self._starts[first] : self._starts[last] - 1])
            words -= last - first
            first = 0
        return b" ".join(parts)


def _words(seed: int, escapes: float, non_ascii: float) -> Iterator[str]:
    """Words without end, with these shares of escaped and foreign ones."""
    draws, plain = _draws(seed), PLAIN.split()
    while True:
        kind, place = next(draws) / 2**32, next(draws)
        if kind < escapes:
            yield ESCAPED[place % len(ESCAPED)]
        elif kind < escapes + non_ascii:
            yield FOREIGN[place % len(FOREIGN)]
        else:
            yield plain[place % len(plain)]


def _draws(seed: int) -> Iterator[int]:
    """Numbers below 2**32 without end, the same with every version of Python."""
    number = 0
    while True:
        yield from struct.unpack("<16I", blake2b(b"%d:%d" % (seed, number)).digest())
        number += 1
