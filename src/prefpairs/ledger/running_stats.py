"""Numbers counted as they come: how many, their mean and extremes."""

import math
from collections import Counter
from decimal import Context, Decimal
from typing import NamedTuple

WHAT_IF_GAPS = (0.1, 0.2)
_MOST_WAITING = 4096
_EXACT = Context(prec=700)  # any two floats, however far apart, have an exact sum


class Counted(NamedTuple):
    """All that was counted: how many, their sum, the extremes, and the gaps reached."""

    number: int
    total: Decimal
    low: float
    high: float
    reached: dict[float, int]


class Tally:
    """Count, extremes and mean of numbers; sums are exact, so their order does not matter.

    Numbers wait to be counted together: scores repeat, and each exact sum takes as long as ten
    of them.
    """

    def __init__(self) -> None:
        self._waiting: list[float] = []
        self._count = 0
        self._sum = Decimal(0)
        self._low, self._high = math.inf, -math.inf
        self._reached = Counter[float]()

    def add(self, number: float) -> None:
        """Count one number."""
        self._waiting.append(number)
        if len(self._waiting) == _MOST_WAITING:
            self._settle()

    @property
    def count(self) -> int:
        """How many numbers were counted."""
        return self._count + len(self._waiting)

    def join(self, other: Counted) -> None:
        """Count what somebody else counted."""
        self._count += other.number
        self._sum = _EXACT.add(self._sum, other.total)
        self._low, self._high = min(self._low, other.low), max(self._high, other.high)
        self._reached.update(other.reached)

    def counted(self) -> Counted:
        """All that was counted so far."""
        self._settle()
        return Counted(self._count, self._sum, self._low, self._high, self._reached)

    def at_least(self, bound: float) -> int:
        """How many numbers reach one of the gaps that are asked about."""
        self._settle()
        return self._reached[bound]

    def _settle(self) -> None:
        for number, times in Counter(self._waiting).items():
            self._low, self._high = min(self._low, number), max(self._high, number)
            whole = _EXACT.multiply(Decimal(repr(number)), times)
            self._sum = _EXACT.add(self._sum, whole)
            for bound in WHAT_IF_GAPS:
                self._reached[bound] += times * (number >= bound)
        self._count += len(self._waiting)
        self._waiting.clear()

    def summary(self) -> dict[str, float] | None:
        """Mean, smallest and largest; nothing where nothing was counted.

        >>> tally = Tally()
        >>> for number in (0.1, 0.2, 0.3):
        ...     tally.add(number)
        >>> tally.summary()
        {'mean': 0.2, 'min': 0.1, 'max': 0.3}
        """
        if not self.count:
            return None
        self._settle()
        mean = float(f"{_EXACT.divide(self._sum, Decimal(self.count)):.15g}")
        return {"mean": mean, "min": self._low, "max": self._high}
