"""Two answers held against each other: level where they agree, with the words that differ."""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice, zip_longest
from typing import NamedTuple

from prefpairs.analysis.text_diff import Effort, Match, Words, matches, shared_words, words_of
from prefpairs.render.conversation_lines import Line
from prefpairs.render.terminal_text import Row, Span, wrapped

CHOSEN, REJECTED = "chosen", "rejected"
_SAME = "same"

_STEPS = 100_000
"""Of effort for lines, and again for words: each a tenth of a second at most."""

_SAYING = 12
"""Lines that have so many letters in common are the same on purpose; brackets alone are not."""

_AROUND = 3
"""So many rows of what is equal are shown beside what is not."""

_WORTH_FOLDING = 4

_MARKS = {CHOSEN: ("{+", "+}"), REJECTED: ("[-", "-]")}
"""What stands around words that differ where there are no colours."""

_BLANK, _LINE_FEED = "·", "↵"
"""How white space is drawn where there is nothing else."""


class Side(NamedTuple):
    """Lines of an answer; with their words, and which of these the other answer lacks, if known."""

    name: str
    lines: Sequence[Line]
    words: Words | None = None
    """Each line has its line feed among them."""
    differs: bytearray = bytearray()


class Stretch(NamedTuple):
    """Lines that stand side by side: equal ones, or such as differ."""

    chosen: Side
    rejected: Side

    @property
    def equal(self) -> bool:
        """Whether both sides say the same."""
        return self.chosen.name == _SAME


class TwoAnswers(NamedTuple):
    """Two answers in stretches, and how they are to be shown."""

    stretches: Sequence[Stretch]
    marked: bool = False
    """There are signs around words that differ."""
    folded: bool = False
    """Of what is equal only the edges are shown."""


class SideRow(NamedTuple):
    """A row of both columns; what has come to its end is empty."""

    chosen: Row
    rejected: Row
    equal: bool = False


def stretches(chosen: Sequence[Line], rejected: Sequence[Line]) -> Iterator[Stretch]:
    """The lines of two answers, in stretches that are equal and stretches that are not."""
    ours = theirs = 0
    effort = Effort(_STEPS)
    anchors = _anchors(matches(chosen, rejected, Effort(_STEPS)), chosen, rejected)
    for match in [*anchors, Match(len(chosen), len(rejected), 0)]:
        if match[:2] != (ours, theirs):
            yield _apart(chosen[ours : match.left], rejected[theirs : match.right], effort)
        ours, theirs = match.left + match.length, match.right + match.length
        if match.length:
            alike = Side(_SAME, chosen[match.left : ours])
            yield Stretch(alike, alike)


def _anchors(
    found: Sequence[Match], chosen: Sequence[Line], rejected: Sequence[Line]
) -> Iterator[Match]:
    """The matches that are no coincidence: they say something, or stand at either end."""
    for match in found:
        ours, theirs = match.left + match.length, match.right + match.length
        at_an_end = match[:2] == (0, 0) or (ours, theirs) == (len(chosen), len(rejected))
        if at_an_end or _says_something(chosen[match.left : ours]):
            yield match


def _says_something(lines: Sequence[Line]) -> bool:
    letters = sum(sign.isalnum() for line in lines for sign in line.text[: 2 * _SAYING])
    return letters >= _SAYING or any(line.kind == "heading" for line in lines)


def _apart(chosen: Sequence[Line], rejected: Sequence[Line], effort: Effort) -> Stretch:
    """Lines that differ, with the words that do, if they have others in common."""
    if not any(line.text.strip() for line in (*chosen, *rejected)):
        chosen, rejected = list(map(_drawn, chosen)), list(map(_drawn, rejected))
    ours, theirs = _words(chosen), _words(rejected)
    shared = shared_words(ours, theirs, effort)
    if shared is None:
        return Stretch(Side(CHOSEN, chosen), Side(REJECTED, rejected))
    ours_differ, theirs_differ = bytearray(b"\1") * len(ours), bytearray(b"\1") * len(theirs)
    for left, right, length in shared:
        ours_differ[left : left + length] = theirs_differ[right : right + length] = bytes(length)
    return Stretch(
        Side(CHOSEN, chosen, ours, ours_differ), Side(REJECTED, rejected, theirs, theirs_differ)
    )


def _drawn(line: Line) -> Line:
    return line._replace(text=_BLANK * len(line.text) + _LINE_FEED)


def _words(lines: Sequence[Line]) -> Words:
    return [word for line in lines for word in (*words_of(line.text), "\n")]


def side_by_side(found: TwoAnswers, columns: int) -> Iterator[SideRow]:
    """The rows of two columns, in which stretches begin level."""
    for place, stretch in enumerate(found.stretches):
        if stretch.equal:
            for row in _equal_rows(found, place, columns):
                yield SideRow(row, row, equal=True)
            continue
        sides = (_rows(side, columns, marked=found.marked) for side in stretch)
        for chosen, rejected in zip_longest(*sides, fillvalue=[]):
            yield SideRow(chosen, rejected)


def one_side(found: TwoAnswers, name: str, columns: int) -> Iterator[Row]:
    """The rows of one of the answers alone."""
    for place, stretch in enumerate(found.stretches):
        if stretch.equal:
            yield from _equal_rows(found, place, columns)
        else:
            side = stretch.chosen if name == CHOSEN else stretch.rejected
            yield from _rows(side, columns, marked=found.marked)


def _equal_rows(found: TwoAnswers, place: int, columns: int) -> Iterator[Row]:
    """The rows of what is equal, less those that are far from all that differs."""
    side = found.stretches[place].chosen
    head = _AROUND if place else 0
    tail = _AROUND if place < len(found.stretches) - 1 else 0
    rows = _rows(side, columns)
    begin = list(islice(rows, head + tail + _WORTH_FOLDING))
    if not found.folded or len(found.stretches) == 1 or len(begin) < head + tail + _WORTH_FOLDING:
        yield from begin
        yield from rows
        return
    yield from _edge(side, columns, head)
    lines = "1 equal line" if len(side.lines) == 1 else f"{len(side.lines):,} equal lines in all"
    yield [Span(f"… {lines} (--full)", "fold")]
    yield from _edge(side, columns, tail, last=True)


def _edge(side: Side, columns: int, most: int, *, last: bool = False) -> list[Row]:
    """The first rows, or the last ones, in whole lines if they are not too long for that."""
    edge: list[Row] = []
    for line in side.lines[: -most - 1 : -1] if last else side.lines[:most]:
        rows = list(_rows(side._replace(lines=[line]), columns))
        if edge and len(edge) + len(rows) > most:
            break
        edge = [*rows, *edge] if last else [*edge, *rows]
    return edge[max(len(edge) - most, 0) :] if last else edge[:most]


def _rows(side: Side, columns: int, *, marked: bool = False) -> Iterator[Row]:
    for line, spans in zip(side.lines, _spans(side, marked=marked), strict=True):
        for row in wrapped(spans, columns - line.indent):
            yield [Span(" " * line.indent), *row] if line.indent else row


def _spans(side: Side, *, marked: bool) -> Iterator[list[Span]]:
    """The lines in pieces: words that differ, and words that do not."""
    if side.words is None:
        for line in side.lines:
            yield [Span(line.text, f"{side.name} {line.kind}")]
        return
    opening, closing = _MARKS[side.name] if marked else ("", "")
    begin = 0
    for line in side.lines:
        end = side.words.index("\n", begin)
        words, differs = side.words[begin:end], side.differs[begin:end]
        if words and words[0].isspace():
            differs[0] = 0  # that a line stands in is seen as it is
        spans = []
        for differ, pieces in groupby(zip(words, differs, strict=True), lambda piece: piece[1]):
            text = "".join(word for word, _ in pieces)
            if differ:
                spans.append(Span(f"{opening}{text}{closing}", f"{side.name}-differs {line.kind}"))
            else:
                spans.append(Span(text, f"{side.name} {line.kind}"))
        yield spans
        begin = end + 1
