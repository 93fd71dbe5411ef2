"""The distribution of numbers: mean, quantiles and bins, whatever their order."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import groupby, islice, pairwise
from math import ceil, fsum
from typing import Any, NamedTuple

MOST_VALUES = 12
"""Up to this many different numbers are listed one by one; more are put into bins."""

_BINS = 14
_QUANTILES = {"p05": 0.05, "median": 0.5, "p95": 0.95}


class Bin(NamedTuple):
    """Numbers from `low` (included) to `high` (excluded, except in the last bin)."""

    low: float
    high: float
    number: int


class Spread(NamedTuple):
    """A summary of numbers, with `values` if they take few different values, else `bins`."""

    number: int
    mean: float
    low: float
    high: float
    quantiles: dict[str, float]
    values: list[tuple[float, int]]
    bins: list[Bin]

    @property
    def kind(self) -> str:
        """The kind of distribution: constant, binary, discrete or continuous."""
        names = {1: "constant", 2: "binary"}
        return names.get(len(self.values), "discrete" if self.values else "continuous")

    def summary(self) -> dict[str, Any]:
        """The distribution as data."""
        summary: dict[str, Any] = {
            "count": self.number,
            "kind": self.kind,
            "mean": self.mean,
            "min": self.low,
            **self.quantiles,
            "max": self.high,
        }
        if self.values:
            summary["values"] = [{"value": value, "count": number} for value, number in self.values]
        else:
            summary["bins"] = [
                {"from": low, "to": high, "count": number} for low, high, number in self.bins
            ]
        return summary


def spread_of(numbers: "array[Any]", edges: Sequence[float] | None = None) -> Spread | None:
    """The distribution of numbers, or None if there are none. Bins have round edges.

    >>> spread = spread_of(array("d", [1.0, 0.0, 1.0, 1.0]))
    >>> spread.kind, spread.mean, spread.values
    ('binary', 0.75, [(0.0, 1), (1.0, 3)])
    """
    return _spread(sorted(numbers), edges or edges_of([numbers])) if numbers else None


def edges_of(columns: Sequence["array[Any]"]) -> Sequence[float]:
    """Edges of bins for all of these numbers; none if they take few different values."""
    different: set[float] = set()
    for column in columns:
        different.update(islice(_distinct(column), MOST_VALUES + 1))
        if len(different) > MOST_VALUES:
            filled = [column for column in columns if column]
            return round_edges(min(map(min, filled)), max(map(max, filled)))
    return ()


def _distinct(numbers: Iterable[float]) -> Iterator[float]:
    """Each distinct number once."""
    seen: set[float] = set()
    for number in numbers:
        if number not in seen:
            seen.add(number)
            yield number


def _spread(ordered: Sequence[float], edges: Sequence[float]) -> Spread:
    """The distribution of sorted numbers over bins, or over their values if there are no edges."""
    return Spread(
        number=len(ordered),
        mean=float(f"{fsum(ordered) / len(ordered):.15g}"),
        low=ordered[0],
        high=ordered[-1],
        quantiles={name: _quantile(ordered, share) for name, share in _QUANTILES.items()},
        values=[] if edges else [(value, len(list(same))) for value, same in groupby(ordered)],
        bins=_binned(ordered, edges),
    )


def round_edges(low: float, high: float) -> list[float]:
    """Edges of about a dozen bins of equal width (1, 2 or 5 times a power of ten).

    >>> round_edges(0.03, 0.97)
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    """
    least, most = Decimal(repr(low)), Decimal(repr(high))
    step = _round_step((most - least) / _BINS)
    first = (least / step).to_integral_value(ROUND_FLOOR)
    last = (most / step).to_integral_value(ROUND_CEILING)
    return [float((first + place) * step) for place in range(int(last - first) + 1)]


def _round_step(width: Decimal) -> Decimal:
    """The smallest 1, 2 or 5 times a power of ten that is not below a width."""
    power = Decimal(1).scaleb(width.adjusted())
    return next(power * of for of in (1, 2, 5, 10) if power * of >= width)


def length_edges(longest: int) -> list[float]:
    """Edges of bins for lengths, each about twice the one before: 0, 10, 20, 50, 100, ...

    >>> length_edges(120)
    [0, 10, 20, 50, 100, 200]
    """
    edges: list[float] = [0, 10]
    while edges[-1] <= longest:
        power = 10 ** (len(str(int(edges[-1]))) - 1)
        edges.append({1: 2, 2: 5, 5: 10}[int(edges[-1]) // power] * power)
    return edges


def _binned(ordered: Sequence[float], edges: Sequence[float]) -> list[Bin]:
    bins = []
    place = 0
    for low, high in pairwise(edges):
        end = len(ordered) if high == edges[-1] else bisect_left(ordered, high, place)
        bins.append(Bin(low, high, end - place))
        place = end
    return bins


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest number that at least this share of the numbers does not exceed."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)]
