"""A pair as rows of a terminal or a page: facts about it, the prompt, and both answers."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from prefpairs.model.candidate import Candidate
from prefpairs.model.json_codec import encode
from prefpairs.model.message import Text, flat_text
from prefpairs.model.pair import Pair, other_prompt
from prefpairs.render.conversation_lines import BODY, beginning, is_plain, plain_lines, turn_lines
from prefpairs.render.escape_and_wrap import (
    Row,
    Span,
    columns_of,
    one_line,
    shortened,
    shortened_at_left,
    width_of,
    wrapped,
)
from prefpairs.render.side_by_side import (
    CHOSEN,
    REJECTED,
    TwoAnswers,
    blocks,
    one_side,
    side_by_side,
)

TWO_COLUMNS = 80
"""From this width on, answers are shown side by side."""

_LABEL = 10
_PROMPT_HEAD, _PROMPT_TAIL = 4, 7
_RULE, _APART = "─", "   "
_NUMBER = 6
_MOST_ROWS = 1000
_UNSEEN = "the difference is invisible: whitespace, or characters without width"


class View(NamedTuple):
    """How pairs are shown."""

    width: int
    full: bool = False
    """Show the whole prompt, and all equal parts."""
    marked: bool = False
    """Put markers around words that differ, because there are no colours."""


def pair_rows(pair: Pair, place: str, number: int, view: View) -> Iterator[Row]:
    """All rows of a pair; `place` is its source line, `number` counts the pairs shown."""
    yield rule(f"{number} {_RULE} {pair.id}", place, view.width)
    yield from _facts(pair, view)
    yield []
    yield from prompt_rows(pair.prompt, view)
    yield []
    yield from _answer_rows(pair, view)
    yield []


def group_rows(candidate: Candidate, counts: str, view: View) -> Iterator[Row]:
    """Facts about a group, taken from one of its candidates."""
    yield rule(candidate.group, counts, view.width)
    yield from tools_rows(candidate.tools, view)
    yield from prompt_rows(candidate.prompt, view)
    yield []


def member_rows(
    number: int, candidate: Candidate, outcome: str, side: str, view: View
) -> Iterator[Row]:
    """A candidate of a group: facts about it, its outcome, and its first words."""
    columns = view.width - _NUMBER
    name = f"{f'#{number}':{_NUMBER - len(_APART)}}"
    facts = _facts_of_answer(name, candidate.response, candidate.score, candidate.index)
    room = max(columns - columns_of(facts), 1)
    origin = shortened_at_left(one_line(candidate.origin), room)
    yield [Span(shortened(f"{facts}{_APART}{origin}", view.width), f"{side} head")]
    for row in wrapped([Span(outcome, side)], columns):
        yield [Span(" " * _NUMBER), *row]
    begins = shortened(beginning(candidate.response, columns), columns)
    yield [Span(" " * _NUMBER), Span(begins, "label")]


def rule(title: str, place: str, width: int) -> Row:
    """A horizontal line with a title at the left and a place at the right."""
    title = shortened(one_line(title), width - 11)
    place = shortened_at_left(one_line(place), width - columns_of(title) - 9)
    row = [Span(f"{_RULE * 2} ", "rule"), Span(title, "title"), Span(" ", "rule")]
    rest = [Span(f" {place} ", "rule"), Span(_RULE * 2, "rule")]
    between = width - width_of(row) - width_of(rest)
    return [*row, Span(_RULE * between, "rule"), *rest]


def _facts(pair: Pair, view: View) -> Iterator[Row]:
    yield from labelled("group", one_line(pair.group), view)
    yield from labelled("gap", "unknown" if pair.gap is None else repr(pair.gap), view)
    if pair.gap is not None and pair.gap <= 0:
        yield from labelled("note", "the chosen answer does not score higher", view)
    if other_prompt(pair):
        yield from labelled("note", "the rejected answer is to another prompt", view)
    yield from tools_rows(pair.tools, view)
    if pair.meta:
        yield from labelled("meta", one_line(encode(pair.meta).decode()), view)


def labelled(label: str, value: str, view: View) -> Iterator[Row]:
    """A value next to its label, on one row, or with `full` on as many as it needs."""
    columns = view.width - _LABEL
    if not view.full:
        yield [_margin(label), Span(shortened(value, columns))]
        return
    for row in wrapped([Span(value)], columns):
        yield [_margin(label), *row]
        label = ""


def tools_rows(tools: list[object] | None, view: View) -> Iterator[Row]:
    """The names of the tools, if there are any."""
    if tools:
        yield from labelled("tools", ", ".join(map(_tool_name, tools)), view)


def _tool_name(tool: object) -> str:
    """The name of a tool, in either form of its schema."""
    for holder in (tool.get("function"), tool) if isinstance(tool, dict) else ():
        if isinstance(holder, dict) and isinstance(holder.get("name"), str):
            return one_line(holder["name"])
    return "?"


def prompt_rows(prompt: Text, view: View) -> Iterator[Row]:
    """The prompt with roles in the margin; the middle of a long one is shown only with `full`."""
    rows = list(_labelled_prompt(prompt, view))
    hidden = len(rows) - _PROMPT_HEAD - _PROMPT_TAIL
    last_label = ""
    for place, (label, row) in enumerate(rows):
        if not view.full and hidden > 1 and 0 <= place - _PROMPT_HEAD < hidden:
            last_label = ""
            if place == _PROMPT_HEAD:
                yield [_margin(""), Span(f"… {hidden:,} more rows (--full)", "fold")]
            continue
        if label != last_label and len(label) >= _LABEL:
            yield [Span(shortened(label, view.width), "label")]
        yield [_margin(label if label != last_label and len(label) < _LABEL else ""), *row]
        last_label = label


def _labelled_prompt(prompt: Text, view: View) -> Iterator[tuple[str, Row]]:
    """Each row of a prompt with its role."""
    label = "prompt"
    lines = plain_lines(prompt) if isinstance(prompt, str) else turn_lines(prompt, "user")
    for line in lines:
        if line.kind == "heading":
            label = line.text
            continue
        indent = max(line.indent - BODY, 0)
        for row in wrapped([Span(line.text, line.kind)], view.width - _LABEL - indent):
            yield label, [Span(" " * indent), *row]


def _margin(label: str) -> Span:
    return Span(f"{label:{_LABEL}}", "label")


def _answer_rows(pair: Pair, view: View) -> Iterator[Row]:
    if is_plain(pair.chosen) and is_plain(pair.rejected):
        chosen, rejected = plain_lines(pair.chosen), plain_lines(pair.rejected)
    else:
        chosen, rejected = (turn_lines(text, "assistant") for text in (pair.chosen, pair.rejected))
    found = TwoAnswers([*blocks(chosen, rejected)], view.marked, folded=not view.full)
    if chosen == rejected:
        yield from labelled("note", _UNSEEN, view)
        yield []
    if view.width < TWO_COLUMNS:
        for side in (CHOSEN, REJECTED):
            yield from _head(pair, side, view.width)
            yield from _cut(one_side(found, side, view.width), view)
            yield []
        return
    columns = (view.width - 3) // 2
    for left, right in zip(
        _head(pair, CHOSEN, columns), _head(pair, REJECTED, columns), strict=True
    ):
        yield _across(left, right, " │ ", columns)
    yield [Span(_RULE * (columns + 1) + "┼" + _RULE * (columns + 1), "rule")]
    rows = (
        _across(row.chosen, row.rejected, " = " if row.equal else " │ ", columns)
        for row in side_by_side(found, columns)
    )
    yield from _cut(rows, view)


def _cut(rows: Iterator[Row], view: View) -> Iterator[Row]:
    """The rows of answers; only the first ones of very long answers, unless `full`."""
    yield from rows if view.full else islice(rows, _MOST_ROWS)
    if next(rows, None) is not None:
        yield [Span("… there is more (--full)", "fold")]


def _across(left: Row, right: Row, gutter: str, columns: int) -> Row:
    return [*left, Span(" " * (columns - width_of(left))), Span(gutter, "rule"), *right]


def _head(pair: Pair, side: str, columns: int) -> Iterator[Row]:
    """Facts about one answer of a pair, and where it came from."""
    if side == CHOSEN:
        text, score = pair.chosen, pair.chosen_score
        index, origin = pair.chosen_index, pair.chosen_origin
    else:
        text, score = pair.rejected, pair.rejected_score
        index, origin = pair.rejected_index, pair.rejected_origin
    facts = shortened(_facts_of_answer(side, text, score, index), columns)
    yield [Span(facts, f"{side} head")]
    if pair.chosen_origin or pair.rejected_origin:
        yield [Span(shortened_at_left(one_line(origin), columns), "label")]


def _facts_of_answer(name: str, text: Text, score: float | None, index: int | None) -> str:
    facts = [name] if score is None else [name, repr(score)]
    facts += [f"{len(flat_text(text)):,} chars"]
    return _APART.join(facts + ([] if index is None else [f"index {index}"]))
