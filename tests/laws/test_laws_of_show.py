"""Properties of `show` on any texts."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefpairs.analysis.text_diff import Effort, matches
from prefpairs.model.message import flat_text
from prefpairs.model.pair import Pair
from prefpairs.render.escape_and_wrap import Row, Span, columns_of, visible_text, width_of, wrapped
from prefpairs.render.pair_sheet import View, pair_rows

_SIGNS = "ab \t\n{}日語e\u0301\u200d\ufe0f\u26a0\U0001f468\u202e\x1b\x9b\u0645\u0627\r\U000e0041"
_LINES = ("SELECT a, b", "  FROM table", "", "```", "It is so.", "call add", "one two three four")
_TEXTS = st.one_of(
    st.text(st.sampled_from(_SIGNS), max_size=60),
    st.text(max_size=60),
    st.lists(st.sampled_from(_LINES), max_size=12).map("\n".join),
)


def _calls(arguments: str) -> list[dict[str, Any]]:
    return [{"id": "1", "type": "function", "function": {"name": arguments[:5] or "f",
                                                         "arguments": arguments}}]  # fmt: skip


_MESSAGES = st.one_of(
    _TEXTS.map(lambda text: {"role": "assistant", "content": text}),
    _TEXTS.map(lambda text: {"role": "user", "content": text}),
    _TEXTS.map(lambda text: {"role": "assistant", "content": "", "reasoning_content": text}),
    _TEXTS.map(lambda text: {"role": "assistant", "content": text, "tool_calls": _calls(text)}),
    _TEXTS.map(lambda text: {"role": "tool", "content": text, "tool_call_id": "1"}),
)
_ANSWERS = st.one_of(_TEXTS, st.lists(_MESSAGES, min_size=1, max_size=5))


def _pair(prompt: Any, chosen: Any, rejected: Any, other: str = "") -> Pair:
    return Pair("0" * 32, other, prompt, chosen, rejected, 1.0, 0.5, 0.5, 1, None, other, other,
                meta={other: other})  # fmt: skip


def _text(row: Row) -> str:
    return "".join(text for text, _ in row)


_PAIRS = st.builds(_pair, _ANSWERS, _ANSWERS, _ANSWERS, _TEXTS)
_VIEWS = st.builds(View, st.integers(40, 140), st.booleans(), st.booleans())


@given(_PAIRS, _TEXTS, _VIEWS)
def test_rows_fit_and_steer_nothing(pair: Pair, place: str, view: View) -> None:
    """No row is wider than allowed, and none contains control characters."""
    for row in pair_rows(pair, place, 1, view):
        text = _text(row)
        assert width_of(row) <= view.width
        assert "\n" not in text
        assert visible_text(text) == text or re.search("[\u200c\u200d]", text)


@given(_TEXTS, _TEXTS, st.integers(80, 140))
def test_all_that_answers_say_is_there(chosen: str, rejected: str, width: int) -> None:
    """All text is shown in order, each answer in its column, except blanks at the ends of rows."""
    columns = (width - 3) // 2
    rows = [_text(row) for row in pair_rows(_pair("Q", chosen, rejected), "", 1, View(width, True))]
    begin = next(place for place, row in enumerate(rows) if "┼" in row) + 1
    for text, side in ((chosen, slice(0, columns)), (rejected, slice(columns + 3, None))):
        shown = "".join("".join(_in_columns(row)[side]) for row in rows[begin:-1])
        drawn = re.sub("[·↵]", "", shown)
        wanted = re.sub("[·↵]", "", visible_text(flat_text(text)))
        assert _bare(drawn) == _bare(wanted)


def _in_columns(row: str) -> list[str]:
    """The characters that begin in each column; zero-width ones belong to the one before."""
    cells: list[str] = []
    for sign in row:
        columns = columns_of(sign)
        if columns or not cells:
            cells += [sign] + [""] * (columns - 1)
        else:
            place = next(at for at in range(len(cells) - 1, -1, -1) if cells[at])
            cells[place] += sign
    return cells


def _bare(text: str) -> str:
    """A text without white space and zero-width characters."""
    return "".join(sign for sign in text if not sign.isspace() and columns_of(sign))


@given(_TEXTS, st.integers(1, 50))
def test_wrapped_rows_hold_the_line(text: str, columns: int) -> None:
    """Wrapping a line loses nothing but a blank between rows."""
    line = visible_text(text).replace("\n", " ")
    rows = [_text(row) for row in wrapped([Span(line)], columns)]
    assert "".join("".join(rows).split()) == "".join(line.split())
    assert all(columns_of(row) <= max(columns, 2) for row in rows)


@given(st.text("abc", max_size=30), st.text("abc", max_size=30), st.integers(0, 300))
def test_matches_are_in_both(left: str, right: str, steps: int) -> None:
    """Matches are in both texts, in order and without overlap, with any effort limit."""
    ours = theirs = 0
    for match in matches(left, right, Effort(steps)):
        assert match.left >= ours
        assert match.right >= theirs
        ours, theirs = match.left + match.length, match.right + match.length
        assert left[match.left : ours] == right[match.right : theirs] != ""
    assert ours <= len(left)
    assert theirs <= len(right)
