"""HTML and SVG in which everything that was not made here is escaped text.

Widths of shapes are percentages and heights are pixels, so that a chart fits a phone and a large
screen, and its text has the same size on both.
"""

import html
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Characters that reorder, hide or end text, as in page.js; file names may have surrogates."""

_ALONE = frozenset({"meta"})
"""Elements that have no end tag."""


class Markup(str):
    """Text that is already markup; any other text is escaped when it is inserted."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """An element. In attribute names, underscores become dashes, and final ones are removed.

    >>> element("p", "a < b", element("b", "!"), class_="x", aria_label='"')
    '<p class="x" aria-label="&quot;">a &lt; b<b>!</b></p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_attribute(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _ALONE:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*parts: str) -> Markup:
    """The concatenation of parts, escaped unless they are markup."""
    return Markup("".join(part if isinstance(part, Markup) else escaped(part) for part in parts))


def lines(*parts: Markup) -> Markup:
    """Parts, one a line."""
    return Markup("".join(f"\n{part}" for part in parts) + "\n")


def escaped(text: str) -> str:
    r"""The text as it may be inserted anywhere in a page, with invisible characters escaped.

    >>> escaped("<b>\u202e")
    '&lt;b&gt;\\u202e'
    """
    return html.escape(written_out(text))


def written_out(text: str) -> str:
    """The text with escapes for characters that reorder, hide or end text."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _attribute(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


_ROW = 42
ABOVE = 20
BELOW = 22
MANY = 8
"""With more columns, on a phone only the highest has a number and every second one a tick."""

_NAMES = 24.0
"""The width of the names next to a heat map, in percent."""

_CROWD = 13
"""With more squares in a row, they are too narrow for numbers (on a phone, with more than many)."""

_FEW, _SHORT, _LONG = 4, 10, 16
"""Up to this many names of this length are above a heat map too; names next to it are cut."""

_LEAST = 0.4
"""The minimum width of a bar that is not zero, in percent."""


class Box(NamedTuple):
    """A box: left and width in percent, top and height in pixels."""

    left: float
    top: float
    width: float
    high: float


class Row(NamedTuple):
    """A horizontal bar, with a label and a number above it."""

    label: str
    number: str
    share: float
    kind: str = ""
    mark: float | None = None
    """The end of a second, thinner bar."""


class Column(NamedTuple):
    """A vertical bar: its share of all, and its tooltip."""

    share: float
    tooltip: str


def picture(label: str, high: float, shapes: Sequence[Markup]) -> Markup:
    """An SVG with a text that says what it shows."""
    title = element("title", label)
    return element(
        "svg",
        title,
        *shapes,
        class_="chart",
        width="100%",
        height=high,
        role="img",
        aria_label=label,
    )


def rows(label: str, given: Sequence[Row], caption: str = "") -> Markup:
    """Horizontal bars, with a caption below them."""
    drawn = [shape for place, row in enumerate(given) for shape in _row(row, place * _ROW)]
    end = len(given) * _ROW
    if caption:
        drawn.append(text(caption, 0, end + 14, class_="tick"))
    return picture(label, end + (BELOW if caption else 0), drawn)


def _row(row: Row, top: float) -> Iterator[Markup]:
    lost = row.kind == "lost"
    yield text(row.label, 0, top + 16, class_="lost" if lost else "strong", dx=12 if lost else None)
    yield text(row.number, 100, top + 16, class_="number", text_anchor="end")
    yield rectangle(Box(0, top + 23, 100, 8), "track")
    yield rectangle(Box(0, top + 23, _seen(row.share), 8), f"bar {row.kind}".strip())
    if row.mark is not None:
        yield rectangle(Box(0, top + 33, _seen(row.mark), 2), "second")


def dots(label: str, given: Sequence[Row], fair: tuple[float, float]) -> Markup:
    """A dot for each share on a line from never to always, with the fair part shaded."""
    low, high = (bound * 100 for bound in fair)
    top, end = ABOVE, ABOVE + len(given) * _ROW
    drawn = [rectangle(Box(low, top, high - low, end - top), "fair")]
    drawn.append(line((50, top), (50, end), "half"))
    drawn.append(text("fair", 50, 12, class_="tick", text_anchor="middle"))
    for place, row in enumerate(given):
        drawn += _dot(row, top + place * _ROW + 28)
    edges: list[tuple[str, float, str]] = [("never", 0, "start"), ("always", 100, "end")]
    edges += [(f"{bound:.0f}%", bound, "middle") for bound in (low, high)]
    for words, at, anchor in edges:
        drawn.append(text(words, at, end + 16, class_="tick", text_anchor=anchor))
    return picture(label, end + BELOW, drawn)


def _dot(row: Row, top: float) -> Iterator[Markup]:
    at, kind = row.share * 100, f" {row.kind}".rstrip()
    yield text(row.label, 0, top - 12, class_="strong")
    yield text(row.number, 100, top - 12, class_=f"number{kind}", text_anchor="end")
    yield line((0, top), (100, top), "track")
    yield line((50, top), (at, top), f"reach{kind}")
    yield element("circle", cx=f"{at:.2f}%", cy=top, r=6, class_=f"dot{kind}")


def heat(label: str, names: Sequence[str], squares: Sequence[Sequence[Column | None]]) -> Markup:
    """A square for each two names: the further from a half, the deeper its colour."""
    side = (100 - _NAMES) / len(names)
    high = 44 if len(names) <= MANY else 26
    fit = len(names) <= _FEW and all(len(name) <= _SHORT for name in names)
    heads = names if fit else [str(place + 1) for place in range(len(names))]
    drawn = [
        text(head, _NAMES + (place + 0.5) * side, 14, class_="tick", text_anchor="middle")
        for place, head in enumerate(heads)
        if len(names) <= _CROWD or place % 5 == 4
    ]
    for down, (name, of_row) in enumerate(zip(names, squares, strict=True)):
        top = 22 + down * high
        shown = shortened(name, _LONG) if fit else f"{down + 1}. {shortened(name, _LONG)}"
        drawn.append(text(shown, 0, top + high / 2 + 4))
        for right, square in enumerate(of_row):
            box = Box(_NAMES + right * side, top, side, high)
            drawn += _square(square, box, len(names))
    return picture(label, 24 + len(names) * high, drawn)


def _square(square: Column | None, box: Box, number: int) -> Iterator[Markup]:
    inner = Box(box.left + 0.2, box.top + 1, box.width - 0.4, box.high - 2)
    yield rectangle(inner, "nobody")
    if square is None:
        return
    share = square.share
    kind = "heat chosen" if share > 0.5 else "heat rejected"
    deep = rectangle(inner, kind, fill_opacity=round(abs(share - 0.5), 3))
    yield element("g", element("title", square.tooltip), deep)
    if number <= _CROWD:
        minor = "minor" if number > MANY else None
        at, top = box.left + box.width / 2, box.top + box.high / 2 + 4
        yield text(f"{share:.0%}", at, top, class_=minor, text_anchor="middle")


def text(words: str, at: float, top: float, **attributes: str | float | None) -> Markup:
    """Text that starts, ends or is centred at a percentage of the width."""
    return element("text", words, x=f"{at:.2f}%", y=top, **attributes)


def rectangle(box: Box, kind: str, **attributes: float) -> Markup:
    """A filled box."""
    left, top, width, high = box
    place: dict[str, str | float] = {
        "x": f"{left:.2f}%",
        "y": top,
        "width": f"{width:.2f}%",
        "height": high,
    }
    return element("rect", **place, **attributes, class_=kind)


def line(begin: tuple[float, float], end: tuple[float, float], kind: str) -> Markup:
    """A line between two points."""
    (left, top), (right, bottom) = begin, end
    ends: dict[str, str | float] = {
        "x1": f"{left:.2f}%",
        "y1": top,
        "x2": f"{right:.2f}%",
        "y2": bottom,
    }
    return element("line", **ends, class_=kind)


def shortened(words: str, most: int) -> str:
    """A text cut in the middle to at most this many characters.

    >>> shortened("checkpoint-1200", 9)
    'chec…1200'
    """
    if len(words) <= most:
        return words
    tail = most // 2
    return f"{words[: most - 1 - tail]}…{words[-tail:]}"


def _seen(share: float) -> float:
    return max(_LEAST, share * 100) if share else 0.0
