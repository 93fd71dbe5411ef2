"""Two answers side by side: aligned where they agree, with the words that differ."""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice, zip_longest
from typing import NamedTuple

from prefpairs.analysis.text_diff import Effort, Match, Words, matches, shared_words, words_of
from prefpairs.render.conversation_lines import Line
from prefpairs.render.escape_and_wrap import Row, Span, wrapped

CHOSEN, REJECTED = "chosen", "rejected"
_SAME = "same"

_STEPS = 100_000
"""The effort for lines, and again for words: at most a tenth of a second each."""

_MEANINGFUL = 12
"""Equal lines with this many letters are no coincidence; brackets alone may be."""

_AROUND = 3
"""The number of equal rows that are shown next to rows that differ."""

_WORTH_FOLDING = 4

_MARKS = {CHOSEN: ("{+", "+}"), REJECTED: ("[-", "-]")}
"""The markers around words that differ, if there are no colours."""

_BLANK, _LINE_FEED = "·", "↵"
"""How whitespace is drawn if there is nothing else."""


class Side(NamedTuple):
    """Lines of an answer, with their words and which of them the other answer lacks, if known."""

    name: str
    lines: Sequence[Line]
    words: Words | None = None
    """Including the line feed of each line."""
    differs: bytearray = bytearray()


class Block(NamedTuple):
    """Lines that are shown side by side: equal ones, or ones that differ."""

    chosen: Side
    rejected: Side

    @property
    def equal(self) -> bool:
        """Whether both sides are equal."""
        return self.chosen.name == _SAME


class TwoAnswers(NamedTuple):
    """Two answers as blocks, and how they are shown."""

    blocks: Sequence[Block]
    marked: bool = False
    """Put markers around words that differ."""
    folded: bool = False
    """Show only the edges of equal blocks."""


class SideRow(NamedTuple):
    """A row of both columns; a side that has ended is empty."""

    chosen: Row
    rejected: Row
    equal: bool = False


def blocks(chosen: Sequence[Line], rejected: Sequence[Line]) -> Iterator[Block]:
    """The lines of two answers, in blocks that are equal and blocks that differ."""
    ours = theirs = 0
    effort = Effort(_STEPS)
    anchors = _anchors(matches(chosen, rejected, Effort(_STEPS)), chosen, rejected)
    for match in [*anchors, Match(len(chosen), len(rejected), 0)]:
        if match[:2] != (ours, theirs):
            yield _different(chosen[ours : match.left], rejected[theirs : match.right], effort)
        ours, theirs = match.left + match.length, match.right + match.length
        if match.length:
            alike = Side(_SAME, chosen[match.left : ours])
            yield Block(alike, alike)


def _anchors(
    found: Sequence[Match], chosen: Sequence[Line], rejected: Sequence[Line]
) -> Iterator[Match]:
    """The matches that are no coincidence: they contain words, or are at either end."""
    for match in found:
        ours, theirs = match.left + match.length, match.right + match.length
        at_an_end = match[:2] == (0, 0) or (ours, theirs) == (len(chosen), len(rejected))
        if at_an_end or _has_words(chosen[match.left : ours]):
            yield match


def _has_words(lines: Sequence[Line]) -> bool:
    letters = sum(sign.isalnum() for line in lines for sign in line.text[: 2 * _MEANINGFUL])
    return letters >= _MEANINGFUL or any(line.kind == "heading" for line in lines)


def _different(chosen: Sequence[Line], rejected: Sequence[Line], effort: Effort) -> Block:
    """A block of lines that differ, word by word if they have words in common."""
    if not any(line.text.strip() for line in (*chosen, *rejected)):
        chosen, rejected = list(map(_drawn, chosen)), list(map(_drawn, rejected))
    ours, theirs = _words(chosen), _words(rejected)
    shared = shared_words(ours, theirs, effort)
    if shared is None:
        return Block(Side(CHOSEN, chosen), Side(REJECTED, rejected))
    ours_differ, theirs_differ = bytearray(b"\1") * len(ours), bytearray(b"\1") * len(theirs)
    for left, right, length in shared:
        ours_differ[left : left + length] = theirs_differ[right : right + length] = bytes(length)
    return Block(
        Side(CHOSEN, chosen, ours, ours_differ), Side(REJECTED, rejected, theirs, theirs_differ)
    )


def _drawn(line: Line) -> Line:
    return line._replace(text=_BLANK * len(line.text) + _LINE_FEED)


def _words(lines: Sequence[Line]) -> Words:
    return [word for line in lines for word in (*words_of(line.text), "\n")]


def side_by_side(found: TwoAnswers, columns: int) -> Iterator[SideRow]:
    """The rows of two columns, in which each block starts on the same row."""
    for place, block in enumerate(found.blocks):
        if block.equal:
            for row in _equal_rows(found, place, columns):
                yield SideRow(row, row, equal=True)
            continue
        sides = (_rows(side, columns, marked=found.marked) for side in block)
        for chosen, rejected in zip_longest(*sides, fillvalue=[]):
            yield SideRow(chosen, rejected)


def one_side(found: TwoAnswers, name: str, columns: int) -> Iterator[Row]:
    """The rows of one answer by itself."""
    for place, block in enumerate(found.blocks):
        if block.equal:
            yield from _equal_rows(found, place, columns)
        else:
            side = block.chosen if name == CHOSEN else block.rejected
            yield from _rows(side, columns, marked=found.marked)


def _equal_rows(found: TwoAnswers, place: int, columns: int) -> Iterator[Row]:
    """The rows of an equal block, without those that are far from any difference."""
    side = found.blocks[place].chosen
    head = _AROUND if place else 0
    tail = _AROUND if place < len(found.blocks) - 1 else 0
    rows = _rows(side, columns)
    begin = list(islice(rows, head + tail + _WORTH_FOLDING))
    if not found.folded or len(found.blocks) == 1 or len(begin) < head + tail + _WORTH_FOLDING:
        yield from begin
        yield from rows
        return
    yield from _edge(side, columns, head)
    lines = "1 equal line" if len(side.lines) == 1 else f"{len(side.lines):,} equal lines in all"
    yield [Span(f"… {lines} (--full)", "fold")]
    yield from _edge(side, columns, tail, last=True)


def _edge(side: Side, columns: int, most: int, *, last: bool = False) -> list[Row]:
    """The first or last rows, in whole lines unless these are too long."""
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
    """The spans of each line: words that differ, and words that do not."""
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
            differs[0] = 0  # indentation is visible without a mark
        spans = []
        for differ, pieces in groupby(zip(words, differs, strict=True), lambda piece: piece[1]):
            text = "".join(word for word, _ in pieces)
            if differ:
                spans.append(Span(f"{opening}{text}{closing}", f"{side.name}-differs {line.kind}"))
            else:
                spans.append(Span(text, f"{side.name} {line.kind}"))
        yield spans
        begin = end + 1
