"""Histograms: the values or the bins of a `Spread` as columns."""

from collections.abc import Iterator, Mapping

from prefpairs.analysis.distribution import Bin, Spread
from prefpairs.render.page.html import Markup
from prefpairs.render.page.svg import Column, columns, mirror

_THOUSAND, _MILLION, _BILLION = 10**3, 10**6, 10**9


def histogram(label: str, spread: Spread, what: str) -> Markup | None:
    """The distribution of numbers, or None if they are all equal."""
    if spread.kind == "constant":
        return None
    bins = _trimmed(spread.bins)
    drawn = [
        Column(count / spread.number, f"{where}: {count:,} {what}")
        for where, count in _places(spread, bins)
    ]
    return columns(label, drawn, _ticks(spread, bins))


def both_sides(label: str, sides: Mapping[str, Spread]) -> Markup:
    """Chosen above and rejected below, over all values or bins that either of them has."""
    chosen, rejected = sides["chosen"], sides["rejected"]
    if chosen.values or rejected.values:
        values = sorted({value for spread in sides.values() for value, _ in spread.values})
        counts = [dict(spread.values) for spread in sides.values()]
        bars = [[Bin(value, value, of.get(value, 0)) for value in values] for of in counts]
        ticks = [short(value) for value in values]
    else:
        first, last = _filled([chosen.bins, rejected.bins])
        bars = [spread.bins[first:last] for spread in sides.values()]
        ticks = [short(edge) for edge in (bars[0][0].low, *(told.high for told in bars[0]))]
    above, below = (
        [
            Column(told.number / spread.number, f"{_range(told)}: {told.number:,} {side}")
            for told in of
        ]
        for of, (side, spread) in zip(bars, sides.items(), strict=True)
    )
    return mirror(label, above, below, ticks)


def _filled(bins: list[list[Bin]]) -> tuple[int, int]:
    """The range of the bins that are not empty on all sides."""
    full = [place for of in bins for place, told in enumerate(of) if told.number]
    return min(full), max(full) + 1


def _trimmed(bins: list[Bin]) -> list[Bin]:
    """The bins without the empty ones at both ends."""
    if not bins:
        return []
    first, last = _filled([bins])
    return bins[first:last]


def _places(spread: Spread, bins: list[Bin]) -> Iterator[tuple[str, int]]:
    for value, count in spread.values:
        yield f"{value:,.15g}", count
    for told in bins:
        yield _range(told), told.number


def _ticks(spread: Spread, bins: list[Bin]) -> list[str]:
    if spread.values:
        return [short(value) for value, _ in spread.values]
    return [short(edge) for edge in (bins[0].low, *(told.high for told in bins))]


def _range(told: Bin) -> str:
    low, high = f"{told.low:,.15g}", f"{told.high:,.15g}"
    return low if low == high else f"{low} to {high}"


def short(number: float) -> str:
    """A number in few characters.

    >>> short(0.1 + 0.2), short(5000), short(123456), short(-2.5e6), short(1e12)
    ('0.3', '5,000', '123.5k', '-2.5M', '1.00e+12')
    """
    size = abs(number)
    if size >= _BILLION:
        return f"{number:.2e}"
    if size >= _MILLION:
        return f"{number / _MILLION:.4g}M"
    if size >= 10 * _THOUSAND:
        return f"{number / _THOUSAND:.4g}k"
    return f"{float(f'{number:.4g}'):,g}"
