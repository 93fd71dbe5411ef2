"""The growth of cost as an SVG: two panels with logarithmic axes, for light and dark themes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from bench.results import Cost, Finding

WIDTH, HEIGHT = 860, 400
TOP, BOTTOM, LEFT, PANEL = 58, 338, 62, 262
BETWEEN = 418
COLOURS = {
    "prefpairs": "#d1495b",
    "prefpairs --workers 1": "#e58f65",
    "prefpairs --workers 1, Python": "#c2a878",
    "orjson loop": "#7d8597",
    "DuckDB": "#2a9d8f",
    "Polars": "#3a86c8",
    "plain Python": "#9b6bb3",
}
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.card { fill: #ffffff; stroke: #d0d7de; }
.grid { stroke: #d0d7de; stroke-width: 1; }
.title { font-weight: 600; font-size: 14px; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .card { fill: #0d1117; stroke: #30363d; }
  .grid { stroke: #30363d; }
}
"""
Series = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps numbers to positions by their logarithms, over whole decades.

    >>> Scale.around([20, 3000], 0, 300).place(1000)
    200.0
    """

    first: int
    last: int
    start: float
    end: float

    @classmethod
    def around(cls, numbers: Sequence[float], start: float, end: float) -> "Scale":
        """The decades that contain these numbers."""
        low, high = floor(log10(min(numbers))), ceil(log10(max(numbers)))
        return cls(low, max(high, low + 1), start, end)

    def place(self, number: float) -> float:
        """The position of a number."""
        share = (log10(number) - self.first) / (self.last - self.first)
        return self.start + share * (self.end - self.start)

    @property
    def decades(self) -> list[float]:
        """The labels of the axis."""
        return [10.0**power for power in range(self.first, self.last + 1)]


def growth_chart(findings: Sequence[Finding]) -> str:
    """Wall time and peak memory by the number of rollouts, a line for each contender."""
    wall = _panel(_series(findings, lambda cost: cost.wall), 0, "wall, seconds", "{:g}")
    peak = _panel(
        _series(findings, lambda cost: cost.peak / 1e6), BETWEEN, "peak memory, MB", "{:,.0f}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="How cost grows with the number of rollouts">\n<style>{STYLE}</style>\n'
        f'<rect class="card" x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="8"/>\n'
        f"{wall}\n{peak}\n</svg>\n"
    )


def _series(findings: Sequence[Finding], figure: Callable[[Cost], float]) -> Series:
    """The points of each contender that has a color."""
    return {
        name: points
        for name in COLOURS
        if (
            points := [
                (float(finding.rollouts), figure(finding.costs[name]))
                for finding in findings
                if name in finding.costs
            ]
        )
    }


def _panel(series: Series, shift: float, title: str, form: str) -> str:
    """One panel: title, grid, lines, and names at the ends of the lines."""
    points = [point for line in series.values() for point in line]
    across = Scale.around([x for x, _ in points], shift + LEFT, shift + LEFT + PANEL)
    up = Scale.around([y for _, y in points], BOTTOM, TOP)
    parts = [f'<text class="title" x="{shift + LEFT}" y="34">{title}</text>']
    parts += [_mark(across.place(x), _short(x)) for x in across.decades]
    parts += [_rule(up.place(y), shift + LEFT, form.format(y)) for y in up.decades]
    parts.append(f'<text x="{shift + LEFT}" y="{BOTTOM + 40}">rollouts</text>')
    parts += [_line(name, line, across, up) for name, line in series.items()]
    return "\n".join([*parts, *_names(series, across, up)])


def _mark(x: float, words: str) -> str:
    """A vertical grid line with its number."""
    return (
        f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{BOTTOM}"/>'
        f'<text x="{x:.1f}" y="{BOTTOM + 20}" text-anchor="middle">{words}</text>'
    )


def _rule(y: float, left: float, words: str) -> str:
    """A horizontal grid line with its number."""
    return (
        f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{left + PANEL}" y2="{y:.1f}"/>'
        f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{words}</text>'
    )


def _line(name: str, line: Sequence[tuple[float, float]], across: Scale, up: Scale) -> str:
    """The points of a contender, connected."""
    places = [(across.place(x), up.place(y)) for x, y in line]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places)
    colour = COLOURS[name]
    return (
        f'<g fill="{colour}"><polyline points="{path}" fill="none" stroke="{colour}" '
        f'stroke-width="2"/>{dots}</g>'
    )


def _names(series: Series, across: Scale, up: Scale) -> list[str]:
    """The names at the ends of the lines, without overlaps."""
    ends = sorted(
        (up.place(line[-1][1]), across.place(line[-1][0]), n) for n, line in series.items()
    )
    names, last = [], 0.0
    for y, x, name in ends:
        last = max(y, last + 14)
        names.append(
            f'<text x="{x + 8:.1f}" y="{last + 4:.1f}" style="fill:{COLOURS[name]}">'
            f"{escape(name.removeprefix('prefpairs '))}</text>"
        )
    return names


def _short(number: float) -> str:
    """A number of rollouts in short form.

    >>> _short(10_000), _short(1_000_000)
    ('10k', '1M')
    """
    return f"{number / 1e6:g}M" if number >= 1e6 else f"{number / 1e3:g}k"
