"""Statistics of numbers that arrive one by one: count, mean, smallest and largest."""

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import NamedTuple

WHAT_IF_GAPS = (0.1, 0.2)
_MOST_PENDING = 4096
_EXACT = Context(prec=700)  # enough digits for the exact sum of any two floats


class StatsTotals(NamedTuple):
    """The totals of one RunningStats, as one process sends them to another."""

    number: int
    total: Decimal
    low: float
    high: float
    at_least: dict[float, int]


class RunningStats:
    """Count, extremes and mean of numbers. Sums are exact, so the order does not matter.

    Numbers are collected and counted in batches: scores repeat, and one exact sum takes as long
    as counting ten of them.
    """

    def __init__(self) -> None:
        self._pending: list[float] = []
        self._count = 0
        self._sum = Decimal(0)
        self._low, self._high = math.inf, -math.inf
        self._at_least = Counter[float]()

    def add(self, number: float) -> None:
        """Count one number."""
        self._pending.append(number)
        if len(self._pending) == _MOST_PENDING:
            self._count_pending()

    def add_all(self, numbers: Sequence[float]) -> None:
        """Count many numbers."""
        self._pending.extend(numbers)
        if len(self._pending) >= _MOST_PENDING:
            self._count_pending()

    @property
    def count(self) -> int:
        """How many numbers were added."""
        return self._count + len(self._pending)

    def merge(self, other: StatsTotals) -> None:
        """Add the totals of another process."""
        self._count += other.number
        self._sum = _EXACT.add(self._sum, other.total)
        self._low, self._high = min(self._low, other.low), max(self._high, other.high)
        self._at_least.update(other.at_least)

    def totals(self) -> StatsTotals:
        """The totals so far."""
        self._count_pending()
        return StatsTotals(self._count, self._sum, self._low, self._high, self._at_least)

    def at_least(self, bound: float) -> int:
        """How many numbers reach a bound, which is one of `WHAT_IF_GAPS`."""
        self._count_pending()
        return self._at_least[bound]

    def _count_pending(self) -> None:
        for number, times in Counter(self._pending).items():
            self._low, self._high = min(self._low, number), max(self._high, number)
            product = _EXACT.multiply(Decimal(repr(number)), times)
            self._sum = _EXACT.add(self._sum, product)
            for bound in WHAT_IF_GAPS:
                self._at_least[bound] += times * (number >= bound)
        self._count += len(self._pending)
        self._pending.clear()

    def summary(self) -> dict[str, float] | None:
        """Mean, smallest and largest, or None if there are no numbers.

        >>> stats = RunningStats()
        >>> for number in (0.1, 0.2, 0.3):
        ...     stats.add(number)
        >>> stats.summary()
        {'mean': 0.2, 'min': 0.1, 'max': 0.3}
        """
        if not self.count:
            return None
        self._count_pending()
        mean = float(f"{_EXACT.divide(self._sum, Decimal(self.count)):.15g}")
        return {"mean": mean, "min": self._low, "max": self._high}
