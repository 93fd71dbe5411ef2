"""How numbers spread: mean, quantiles and bins, the same in whatever order they came."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import groupby, islice, pairwise
from math import ceil, fsum
from typing import Any, NamedTuple

MOST_VALUES = 12
"""So many different numbers are told one by one; more go into bins."""

_BINS = 14
_QUANTILES = {"p05": 0.05, "median": 0.5, "p95": 0.95}


class Bin(NamedTuple):
    """Numbers from `low` (included) to `high` (not included, but for the last bin)."""

    low: float
    high: float
    number: int


class Spread(NamedTuple):
    """What is told of many numbers; `values` where they are few different ones, else `bins`."""

    number: int
    mean: float
    low: float
    high: float
    quantiles: dict[str, float]
    values: list[tuple[float, int]]
    bins: list[Bin]

    @property
    def kind(self) -> str:
        """What the numbers are like: constant, binary, discrete or continuous."""
        names = {1: "constant", 2: "binary"}
        return names.get(len(self.values), "discrete" if self.values else "continuous")

    def summary(self) -> dict[str, Any]:
        """The spread as data."""
        told: dict[str, Any] = {
            "count": self.number,
            "kind": self.kind,
            "mean": self.mean,
            "min": self.low,
            **self.quantiles,
            "max": self.high,
        }
        if self.values:
            told["values"] = [{"value": value, "count": number} for value, number in self.values]
        else:
            told["bins"] = [
                {"from": low, "to": high, "count": number} for low, high, number in self.bins
            ]
        return told


def spread_of(numbers: "array[Any]", edges: Sequence[float] | None = None) -> Spread | None:
    """How numbers spread, or nothing where there are none. Bins have round edges.

    >>> spread = spread_of(array("d", [1.0, 0.0, 1.0, 1.0]))
    >>> spread.kind, spread.mean, spread.values
    ('binary', 0.75, [(0.0, 1), (1.0, 3)])
    """
    return _spread(sorted(numbers), edges or edges_of([numbers])) if numbers else None


def edges_of(columns: Sequence["array[Any]"]) -> Sequence[float]:
    """Edges for bins of all of these numbers; none where they are so few that each is told."""
    different: set[float] = set()
    for column in columns:
        different.update(islice(_distinct(column), MOST_VALUES + 1))
        if len(different) > MOST_VALUES:
            filled = [column for column in columns if column]
            return round_edges(min(map(min, filled)), max(map(max, filled)))
    return ()


def _distinct(numbers: Iterable[float]) -> Iterator[float]:
    """Each different number once."""
    seen: set[float] = set()
    for number in numbers:
        if number not in seen:
            seen.add(number)
            yield number


def _spread(ordered: Sequence[float], edges: Sequence[float]) -> Spread:
    """How ordered numbers spread over bins, or over their own values where there are no edges."""
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
    """Edges of about a dozen bins of one width (1, 2 or 5 times a power of ten) around numbers.

    >>> round_edges(0.03, 0.97)
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    """
    least, most = Decimal(repr(low)), Decimal(repr(high))
    step = _round_step((most - least) / _BINS)
    first = (least / step).to_integral_value(ROUND_FLOOR)
    last = (most / step).to_integral_value(ROUND_CEILING)
    return [float((first + place) * step) for place in range(int(last - first) + 1)]


def _round_step(width: Decimal) -> Decimal:
    """The smallest of 1, 2 or 5 times a power of ten that is no smaller than a width."""
    power = Decimal(1).scaleb(width.adjusted())
    return next(power * of for of in (1, 2, 5, 10) if power * of >= width)


def length_edges(longest: int) -> list[float]:
    """Edges of bins of lengths, each about twice the one before: 0, 10, 20, 50, 100, ...

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
    """The smallest number that so large a share of them does not exceed."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)]
