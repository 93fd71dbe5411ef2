"""Histograms: the values or the bins of a `Spread` as columns."""

from collections.abc import Iterator, Mapping, Sequence

from prefpairs.analysis.distribution import Bin, Spread
from prefpairs.render.page.markup import (
    ABOVE,
    BELOW,
    MANY,
    Box,
    Column,
    Markup,
    element,
    line,
    picture,
    rectangle,
    text,
)

_THOUSAND, _MILLION, _BILLION = 10**3, 10**6, 10**9

_HEIGHT = 150

_NAMED = 18
"""The height of a side's name."""

_BETWEEN = 28
"""The height of the ticks between two mirrored charts."""

_WIDEST = 20.0
"""The maximum width of a column, in percent."""


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
        ticks = [short(edge) for edge in (bars[0][0].low, *(one.high for one in bars[0]))]
    above, below = (
        [Column(one.number / spread.number, f"{_range(one)}: {one.number:,} {side}") for one in of]
        for of, (side, spread) in zip(bars, sides.items(), strict=True)
    )
    return _mirrored(label, above, below, ticks)


def _filled(bins: list[list[Bin]]) -> tuple[int, int]:
    """The range of the bins that are not empty on all sides."""
    full = [place for of in bins for place, one in enumerate(of) if one.number]
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
    for one in bins:
        yield _range(one), one.number


def _ticks(spread: Spread, bins: list[Bin]) -> list[str]:
    if spread.values:
        return [short(value) for value, _ in spread.values]
    return [short(edge) for edge in (bins[0].low, *(one.high for one in bins))]


def _range(one: Bin) -> str:
    low, high = f"{one.low:,.15g}", f"{one.high:,.15g}"
    return low if low == high else f"{low} to {high}"


def columns(label: str, given: Sequence[Column], ticks: Sequence[str]) -> Markup:
    """Vertical bars, with a tick under each, or one at each edge."""
    width = _width(given)
    base = ABOVE + _HEIGHT
    drawn = [*_bars(given, base, ""), _axis(base, width * len(given))]
    drawn += _tick_labels(ticks, given, base + 16)
    return picture(label, base + BELOW, drawn)


def _mirrored(
    label: str, above: Sequence[Column], below: Sequence[Column], ticks: Sequence[str]
) -> Markup:
    """Chosen above and rejected below, over the same values."""
    most = max(column.share for column in (*above, *below))
    base = _NAMED + ABOVE + _HEIGHT
    other = base + _BETWEEN
    bottom = other + _HEIGHT + ABOVE
    end = _width(above) * len(above)
    drawn = [*_bars(above, base, "chosen", most), _axis(base, end)]
    drawn += [*_bars(below, other, "rejected", most, downwards=True), _axis(other, end)]
    drawn += _tick_labels(ticks, above, base + _BETWEEN / 2 + 4)
    drawn.append(text("chosen", 0, 12, class_="chosen"))
    drawn.append(text("rejected", 0, bottom + 12, class_="rejected"))
    return picture(label, bottom + _NAMED, drawn)


def _bars(
    given: Sequence[Column], base: float, kind: str, most: float = 0.0, *, downwards: bool = False
) -> Iterator[Markup]:
    """Columns above or below a base line, each with its number and a tooltip."""
    width = _width(given)
    most = most or max(column.share for column in given) or 1.0
    highest = max(given, key=lambda column: column.share)
    for place, column in enumerate(given):
        if not column.share:
            continue
        left, high = place * width, max(1.0, column.share / most * _HEIGHT)
        box = Box(left + width * 0.06, base if downwards else base - high, width * 0.88, high)
        bar = rectangle(box, f"bar {kind}".strip())
        yield element("g", element("title", column.tooltip), bar)
        minor = "minor" if len(given) > MANY and column is not highest else None
        top = base + high + 14 if downwards else base - high - 6
        yield text(
            _percent(column.share), left + width / 2, top, class_=minor, text_anchor="middle"
        )


def _tick_labels(ticks: Sequence[str], given: Sequence[Column], top: float) -> Iterator[Markup]:
    """Labels under columns, or at their edges."""
    width = _width(given)
    at_edges = len(ticks) > len(given)
    for place, tick in enumerate(ticks):
        at = place * width + (0 if at_edges else width / 2)
        anchor = "start" if at == 0 else "end" if at > 100 - width / 4 else "middle"
        minor = len(given) > MANY and place % 2
        yield text(tick, at, top, class_="tick minor" if minor else "tick", text_anchor=anchor)


def _width(given: Sequence[Column]) -> float:
    return min(_WIDEST, 100 / len(given))


def _axis(base: float, end: float) -> Markup:
    return line((0, base), (end, base), "axis")


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 else "<1%"


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
