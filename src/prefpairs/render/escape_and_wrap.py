"""Text for a terminal: invisible characters escaped, measured in columns, and wrapped.

Escaped are controls, marks of direction and characters without width. Emoji made of several
characters, about whose width terminals disagree, are shown character by character.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple
from unicodedata import category, east_asian_width

TAB = "    "
ELLIPSIS = "…"

_SYMBOL = "#*0-9\xa9\xae\u2000-\u200c\u2010-\u27ff\u2900-\u2bff\u3030\u303d\u3297\u3299"
_SYMBOL += "\U0001f000-\U0001faff"
_LETTER = "\u0590-\u1fff\ua000-\uabff\U00010800-\U00011fff"

_ONE_SIGN_OF_SEVERAL = re.compile(f"(?<=[{_SYMBOL}])[\ufe0e\ufe0f]?(?:\u200d(?=[{_SYMBOL}]))?")
"""What joins several characters into one emoji, or colours one: each is shown by itself."""

_UNSEEN = re.compile(
    "[\0-\x09\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e"
    "\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    # Persian, Hindi and others cannot be written without joiners between letters.
    f"|(?<![{_LETTER}])[\u200c\u200d]|[\u200c\u200d](?![{_LETTER}])"
)

_NO_WIDTH = ("Mn", "Me", "Cf")
_HANGUL_TAILS = range(0x1160, 0x1200)
_PICTURES = range(0x1F300, 0x1FB00)


def visible_text(text: str) -> str:
    r"""The text with invisible characters escaped; line feeds stay.

    >>> visible_text("red \x1b[31m, hid\u200bden, \u26a0\ufe0f")
    'red \\x1b[31m, hid\\u200bden, ⚠'
    """
    text = text.replace("\t", TAB)
    if not text.isascii():
        text = _ONE_SIGN_OF_SEVERAL.sub("", text)
    return _UNSEEN.sub(_escaped, text)


def one_line(text: str) -> str:
    r"""The visible text with line feeds escaped too.

    >>> one_line("two\nlines")
    'two\\nlines'
    """
    return visible_text(text).replace("\n", "\\n")


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def columns_of(text: str) -> int:
    """The number of columns that a visible text without line feeds takes.

    >>> columns_of("abc"), columns_of("日本"), columns_of("e\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_COLUMNS.__getitem__, text))


class _Columns(dict[str, int]):
    """The columns of characters, cached."""

    def __missing__(self, sign: str) -> int:
        self[sign] = columns = _columns_of_sign(sign)
        return columns


def _columns_of_sign(sign: str) -> int:
    kind, place = category(sign), ord(sign)
    if kind in _NO_WIDTH or place in _HANGUL_TAILS:
        return 0
    newer = kind == "Cn" and place in _PICTURES  # than the tables of this Python
    return 2 if newer or east_asian_width(sign) in "WF" else 1


_COLUMNS = _Columns()


def shortened(text: str, columns: int) -> str:
    """A visible text without line feeds, truncated to a number of columns.

    >>> shortened("many words on one line", 12)
    'many words …'
    """
    taken = fitting = 0
    for place, sign in enumerate(text):
        taken += _COLUMNS[sign]
        if taken > columns:
            return text[:fitting] + ELLIPSIS
        if taken < columns:
            fitting = place + 1
    return text


def shortened_at_left(text: str, columns: int) -> str:
    """The same, but truncated at the left: the end of a path with a line matters most.

    >>> shortened_at_left("runs/rollouts.jsonl:17", 12)
    '…ts.jsonl:17'
    """
    return shortened(text[::-1], columns)[::-1]


class Span(NamedTuple):
    """A piece of a row, visible and without line feeds, and the name of its style."""

    text: str
    style: str = ""


Row = list[Span]


def wrapped(line: Sequence[Span], columns: int) -> Iterator[Row]:
    """The rows of a line, broken after words; a word that is too long is cut.

    Rows have the indentation of their line.

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
    """The start and end of each row of a text; a space between two rows may be in neither."""
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
    """The number of columns that a row takes."""
    return sum(columns_of(text) for text, _ in row)
