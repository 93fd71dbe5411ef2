"""A shuffled order of any length without memory: each position is computed."""

import struct
from functools import cache
from hashlib import blake2b

ROUNDS = 4


def shuffled(place: int, size: int, seed: int) -> int:
    """The number at a position, by a Feistel network that is repeated until it is in range.

    >>> order = [shuffled(place, 10, seed=0) for place in range(10)]
    >>> order, sorted(order) == list(range(10))
    ([8, 7, 2, 5, 3, 9, 4, 1, 0, 6], True)
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    keys = _keys(seed)
    number = place
    while True:
        left, right = number >> half, number & mask
        for key in keys:
            mixed = ((right + key) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
            left, right = right, left ^ ((mixed >> 32) & mask)
        number = left << half | right
        if number < size:
            return number


@cache
def _keys(seed: int) -> tuple[int, ...]:
    """One key per round."""
    return struct.unpack(
        f"<{ROUNDS}Q", blake2b(b"order:%d" % seed, digest_size=8 * ROUNDS).digest()
    )
