"""Lines of text to rows of a width, with the style of each piece kept."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from prefpairs.render.text_cells import columns_of


class Span(NamedTuple):
    """A piece of a row, visible and without a line feed, and the name of its style."""

    text: str
    style: str = ""


Row = list[Span]


def wrapped(line: Sequence[Span], columns: int) -> Iterator[Row]:
    """The rows of a line, broken where words end; a word that is too long is cut.

    Rows stand in as far as their line does.

    >>> [[text for text, _ in row] for row in wrapped([Span(" a bc"), Span("d ef", "x")], 6)]
    [[' a bc', 'd'], [' ', 'ef']]
    """
    text = "".join([piece for piece, _ in line])
    if len(text) <= columns and text.isascii():
        yield list(line)
        return
    hang = len(text) - len(text.lstrip(" "))
    hang = 0 if 2 * hang >= columns else hang
    spans = iter(line)
    span, left = next(spans, Span("")), 0
    for start, end in _row_ends(text, columns, hang):
        row, place = [Span(" " * hang)] if start and hang else [], start
        while place < end:
            while left + len(span.text) <= place:
                left += len(span.text)
                span = next(spans)
            stop = min(end, left + len(span.text))
            row.append(Span(span.text[place - left : stop - left], span.style))
            place = stop
        yield row


def _row_ends(text: str, columns: int, hang: int) -> Iterator[tuple[int, int]]:
    """Where each row of a text begins and ends; a space between two rows may be in neither."""
    edges = None if text.isascii() else list(accumulate(map(columns_of, text), initial=0))
    start, room = 0, columns
    while start < len(text) or not start:
        if edges is None:
            end = start + room
        else:
            end = max(bisect_right(edges, edges[start] + room) - 1, start + 1)
        if end >= len(text):
            yield start, len(text)
            return
        space = end if text[end] == " " else text.rfind(" ", start, end)
        if space == end:
            yield start, end
            start = end + 1
        elif space > start and not text[start:space].isspace():
            yield start, space + 1
            start = space + 1
        else:
            yield start, end
            start = end
        room = columns - hang


def width_of(row: Row) -> int:
    """How many columns a row takes."""
    return sum(columns_of(text) for text, _ in row)
