"""Write docs/pictures: which candidates of a group each strategy pairs.

Dots are candidates, by score; an arc is a pair, its right end the chosen answer. The pairs come
from the strategies themselves, so the pictures cannot differ from them. They follow light and
dark themes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, pstdev

from prefpairs.strategies import strategy_named
from prefpairs.strategies.allowed_pairs import Group, Positions
from prefpairs.strategies.options import PairOptions

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"

WIDTH, HEIGHT = 600, 232
LEFT, RIGHT, FLOOR = 34, 566, 176
APART = 14
"""The distance of dots with equal scores."""
STEEPNESS = 0.34
"""The height of an arc, relative to its width."""

FEW = (1.0, 0.9, 0.9, 0.6, 0.5, 0.3, 0.0)
MANY = (
    *(1.0, 0.96, 0.92, 0.9, 0.87, 0.85, 0.83, 0.81, 0.8, 0.78, 0.76, 0.75, 0.74, 0.72, 0.71, 0.7),
    *(0.68, 0.67, 0.65, 0.64, 0.62, 0.6, 0.58, 0.56, 0.53, 0.5, 0.47, 0.43, 0.36, 0.3, 0.08, 0.0),
)

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #57606a; }
.name { font-weight: 600; fill: #24292f; }
.card { fill: #ffffff; stroke: #d0d7de; }
.axis { stroke: #8c959f; }
.mark { stroke: #bc4c00; stroke-dasharray: 4 4; }
.zone { fill: #0969da; fill-opacity: 0.08; }
.pair { fill: none; stroke: #0969da; stroke-width: 1.6; }
.used { fill: #0969da; stroke: #0969da; stroke-width: 1.6; }
.left { fill: #ffffff; stroke: #8c959f; stroke-width: 1.6; }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1; }
  .name { fill: #e6edf3; }
  .card { fill: #0d1117; stroke: #30363d; }
  .axis { stroke: #656c76; }
  .mark { stroke: #f0883e; }
  .zone { fill: #58a6ff; fill-opacity: 0.12; }
  .pair { stroke: #58a6ff; }
  .used { fill: #58a6ff; stroke: #58a6ff; }
  .left { fill: #0d1117; stroke: #656c76; }
}
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """One strategy on one group, with axis labels and marks."""

    strategy: str
    words: str = ""
    scores: Sequence[float] = FEW
    options: PairOptions = field(default_factory=PairOptions)
    zones: Sequence[tuple[float, float]] = ()
    mark: float | None = None

    @property
    def pairs(self) -> list[Positions]:
        """The pairs of the strategy."""
        _, strategy = strategy_named(self.strategy)
        digests = [b"%d" % place for place in range(len(self.scores))]
        return list(strategy(Group(self.scores, digests, b"picture"), self.options))


PICTURES = {
    "best-vs-worst": Picture("best-vs-worst"),
    "exhaustive": Picture("exhaustive"),
    "stratified": Picture(
        "stratified", " --high-threshold 0.7 --low-threshold 0.4", zones=((0.7, 1.0), (0.0, 0.4))
    ),
    "adjacent": Picture("adjacent"),
    "best-vs-rest": Picture("best-vs-rest"),
    "random": Picture(
        "random", " --max-pairs-per-group 4", options=PairOptions(max_pairs_per_group=4)
    ),
    "sweet-spot": Picture("sweet-spot", scores=MANY, mark=mean(MANY) - 2 * pstdev(MANY)),
    "min-gap": Picture("exhaustive", " --min-gap 0.5", options=PairOptions(min_gap=0.5)),
}


def main() -> None:
    """Write every picture."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def pictures() -> dict[str, str]:
    """Each picture, by file name."""
    return {f"{name}.svg": drawn(picture) for name, picture in PICTURES.items()}


def drawn(picture: Picture) -> str:
    """One picture as SVG."""
    pairs = picture.pairs
    count = f"{len(pairs)} pair" + "s" * (len(pairs) != 1)
    said = f"{picture.strategy}: {count} of {len(picture.scores)} candidates, by score"
    parts = (
        _opening(said),
        *_ground(picture),
        *_arcs(picture.scores, pairs),
        *_dots(picture.scores, {place for pair in pairs for place in pair}),
        f'<text class="name" x="20" y="28">{picture.strategy}{picture.words}</text>',
        f'<text x="{WIDTH - 20}" y="28" text-anchor="end">{count}</text>',
        "</svg>\n",
    )
    return "\n".join(parts)


def _opening(said: str) -> str:
    """The head, the colors and the background."""
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    card = f'width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{said}">\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="card" x="0.5" y="0.5" {card}/>'
    )


def _ground(picture: Picture) -> Iterator[str]:
    """The axis of scores, with shaded and marked ranges."""
    for low, high in picture.zones:
        left = _x(low) if low > 0 else _x(0) - 14
        right = _x(high) if high < 1 else _x(1) + 14
        yield (
            f'<rect class="zone" x="{left:.1f}" y="44" width="{right - left:.1f}" '
            f'height="{FLOOR + 12 - 44}" rx="6"/>'
        )
    yield f'<line class="axis" x1="{_x(0)}" y1="{FLOOR}" x2="{_x(1)}" y2="{FLOOR}"/>'
    if picture.mark is not None:
        x = f"{_x(picture.mark):.1f}"
        yield f'<line class="mark" x1="{x}" y1="62" x2="{x}" y2="{FLOOR + 12}"/>'
        yield f'<text x="{x}" y="54" text-anchor="middle">mean - 2 deviations</text>'
    yield from (
        f'<text x="{_x(score):.1f}" y="{HEIGHT - 12}" text-anchor="middle">{score}</text>'
        for score in (0.0, 0.25, 0.5, 0.75, 1.0)
    )


def _arcs(scores: Sequence[float], pairs: Sequence[Positions]) -> Iterator[str]:
    """An arc for each pair, higher for a wider gap."""
    for chosen, rejected in pairs:
        right, left = _place(scores, chosen), _place(scores, rejected)
        top = FLOOR - (right - left) * STEEPNESS
        yield (
            f'<path class="pair" d="M{right:.1f} {FLOOR} C{right:.1f} {top:.1f} '
            f'{left:.1f} {top:.1f} {left:.1f} {FLOOR}"/>'
        )


def _dots(scores: Sequence[float], used: set[int]) -> Iterator[str]:
    """A dot for each candidate, filled if it is in a pair, with letters if there is room."""
    few = len(scores) <= len(FEW)
    for number in range(len(scores)):
        x = f"{_place(scores, number):.1f}"
        role = "used" if number in used else "left"
        yield f'<circle class="{role}" cx="{x}" cy="{FLOOR}" r="{5.5 if few else 3.5}"/>'
        if few:
            letter = chr(ord("A") + number)
            yield f'<text x="{x}" y="{FLOOR + 24}" text-anchor="middle">{letter}</text>'


def _x(score: float) -> float:
    """The position of a score on the axis."""
    return LEFT + score * (RIGHT - LEFT)


def _place(scores: Sequence[float], number: int) -> float:
    """The position of a candidate on the axis; equal scores are side by side, the first leftmost.

    >>> _place((1.0, 0.5, 0.5), 1), _place((1.0, 0.5, 0.5), 2)
    (293.0, 307.0)
    """
    equals = scores.count(scores[number])
    aside = number - scores.index(scores[number]) - (equals - 1) / 2
    return _x(scores[number]) + APART * aside


if __name__ == "__main__":
    main()
