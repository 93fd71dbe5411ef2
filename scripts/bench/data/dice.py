"""What chance gives one rollout: a function of the seed and its numbers, nothing else."""

import struct
from hashlib import blake2b
from typing import NamedTuple

LENGTHS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.2)
GRADES = (0.0, 0.25, 0.5, 0.75, 1.0)
TASK = -1
"""Stands for the rollout where something belongs to all rollouts of a task."""


class Roll(NamedTuple):
    """Three ids of 32 signs, and four numbers below 2**32."""

    ids: tuple[bytes, bytes, bytes]
    numbers: tuple[int, int, int, int]

    @property
    def length(self) -> float:
        """How long this answer is, as a share of the mean."""
        return LENGTHS[self.numbers[0] % len(LENGTHS)]


def roll(seed: int, task: int, rollout: int) -> Roll:
    """Throw the dice of one rollout.

    >>> roll(0, 1, 2) == roll(0, 1, 2), roll(0, 1, 2) == roll(0, 2, 1)
    (True, False)
    """
    digest = blake2b(b"%d:%d:%d" % (seed, task, rollout)).digest()
    signs = digest[:48].hex().encode()
    numbers = struct.unpack("<4I", digest[48:])
    return Roll((signs[:32], signs[32:64], signs[64:]), numbers)


def reward(kind: str, of_task: Roll, of_rollout: Roll, rollout: int, per_task: int) -> float:
    """The reward of one rollout: no two equal, or graded, or zero and one.

    In one of 16 tasks all rollouts are equal, unless none may be.

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
