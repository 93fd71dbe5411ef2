"""The random values of one rollout: a function of the seed and the rollout's numbers."""

import struct
from hashlib import blake2b
from typing import NamedTuple

LENGTHS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.2)
GRADES = (0.0, 0.25, 0.5, 0.75, 1.0)
TASK = -1
"""Used instead of a rollout's number for values that a task's rollouts share."""


class Roll(NamedTuple):
    """Three IDs of 32 characters, and four numbers below 2**32."""

    ids: tuple[bytes, bytes, bytes]
    numbers: tuple[int, int, int, int]

    @property
    def length(self) -> float:
        """The length of this answer, as a multiple of the mean."""
        return LENGTHS[self.numbers[0] % len(LENGTHS)]


def roll(seed: int, task: int, rollout: int) -> Roll:
    """Draw the values of one rollout.

    >>> roll(0, 1, 2) == roll(0, 1, 2), roll(0, 1, 2) == roll(0, 2, 1)
    (True, False)
    """
    digest = blake2b(b"%d:%d:%d" % (seed, task, rollout)).digest()
    signs = digest[:48].hex().encode()
    numbers = struct.unpack("<4I", digest[48:])
    return Roll((signs[:32], signs[32:64], signs[64:]), numbers)


def reward(kind: str, of_task: Roll, of_rollout: Roll, rollout: int, per_task: int) -> float:
    """The reward of one rollout: distinct, graded, or zero and one.

    In one of 16 tasks all rewards are equal, unless they are distinct.

    >>> task = roll(0, 7, TASK)
    >>> [reward("distinct", task, task, rollout, 4) for rollout in range(4)]
    [0.25, 0.5, 0.75, 0.0]
    """
    if kind == "distinct":
        return (rollout + of_task.numbers[1]) % per_task / per_task
    drawn = of_task if of_task.numbers[2] % 16 == 0 else of_rollout
    if kind == "binary":
        return float(drawn.numbers[1] % 2)
    return GRADES[drawn.numbers[1] % len(GRADES)]
