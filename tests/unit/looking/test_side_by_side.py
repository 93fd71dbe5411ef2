"""Shows two answers side by side."""

import pytest

from prefpairs.render.conversation_lines import Line, plain_lines, turn_lines
from prefpairs.render.escape_and_wrap import Row, Span
from prefpairs.render.side_by_side import (
    CHOSEN,
    REJECTED,
    Block,
    SideRow,
    TwoAnswers,
    blocks,
    one_side,
    side_by_side,
)

ELSEWHERE = "nothing of this stands over there"


def _stretches(chosen: str, rejected: str) -> list[Block]:
    return [*blocks(plain_lines(chosen), plain_lines(rejected))]


def _shape(chosen: str, rejected: str) -> list[tuple[bool, int, int]]:
    """Whether each block is equal, and its number of lines on each side."""
    found = _stretches(chosen, rejected)
    return [(one.equal, len(one.chosen.lines), len(one.rejected.lines)) for one in found]


def _rows(
    chosen: str, rejected: str, columns: int = 40, *, marked: bool = False, folded: bool = False
) -> list[SideRow]:
    found = TwoAnswers(_stretches(chosen, rejected), marked, folded)
    return list(side_by_side(found, columns))


def _text(row: Row) -> str:
    return "".join(text for text, _ in row)


def _drawn(
    chosen: str, rejected: str, columns: int = 40, *, marked: bool = False, folded: bool = False
) -> list[tuple[str, str, str]]:
    return [
        (_text(row.chosen), "=" if row.equal else "|", _text(row.rejected))
        for row in _rows(chosen, rejected, columns, marked=marked, folded=folded)
    ]


# Blocks -----------------------------------------------------------------------------------


def test_equal_lines_part_those_that_differ() -> None:
    """Equal lines separate different ones, in the order of both."""
    shared = "a line that both have"
    assert _shape(f"one\n{shared}\ntwo", f"uno\nuno\n{shared}\ndue") == [
        (False, 1, 2),
        (True, 1, 1),
        (False, 1, 1),
    ]


def test_lines_that_say_little_part_nothing() -> None:
    """Blank lines and brackets separate nothing, but are equal at the ends."""
    assert _shape("{\none\n\n}\ntwo\n}", "{\nuno\n\n}\ndue\n}") == [
        (True, 1, 1),
        (False, 4, 4),
        (True, 1, 1),
    ]


def test_headings_always_part() -> None:
    """Headings always separate, so that turns are aligned."""
    chats = (
        [
            {"role": "assistant", "content": first},
            {"role": "user", "content": second},
        ]
        for first, second in (("aye", "well"), ("nay\nnay", "done"))
    )
    found = blocks(*(turn_lines(chat, "") for chat in chats))
    assert [one.chosen.lines[0].text for one in found if one.equal] == ["assistant", "user"]


def test_the_same_words_of_another_kind_are_not_equal() -> None:
    """Equal text of another kind is not equal: thinking is not an answer."""
    found = [*blocks([Line("a whole sentence", "thinking")], [Line("a whole sentence")])]
    assert [one.equal for one in found] == [False]


def test_one_side_may_have_more() -> None:
    """One side may have more lines, at the end or anywhere."""
    assert _shape("a line that both have", "a line that both have\nand one more") == [
        (True, 1, 1),
        (False, 0, 1),
    ]


@pytest.mark.full
def test_bounded_effort_shows_the_ends() -> None:
    """With bounded effort, common beginnings and ends are still found."""
    ours = "\n".join(["head", *(f"a{number} {number}" for number in range(30_000)), "tail"])
    theirs = "\n".join(["head", *(f"b{number} {number}" for number in range(30_000)), "tail"])
    assert _shape(ours, theirs) == [(True, 1, 1), (False, 30_000, 30_000), (True, 1, 1)]


# Words ------------------------------------------------------------------------------------


def test_words_that_differ() -> None:
    """Different words have a style on each side."""
    (row,) = _rows("the answer is 41", "the answer is 42")
    assert row.chosen == [Span("the answer is ", "chosen text"), Span("41", "chosen-differs text")]
    assert row.rejected == [
        Span("the answer is ", "rejected text"),
        Span("42", "rejected-differs text"),
    ]


def test_marks_where_there_are_no_colours() -> None:
    """Without colors, there are marks, which differ by side."""
    assert _drawn("the answer is 41", "the answer is 42", marked=True) == [
        ("the answer is {+41+}", "|", "the answer is [-42-]")
    ]


def test_texts_without_words_in_common_have_no_marks() -> None:
    """Texts without common words have no marks, since everything differs."""
    (row,) = _rows("aye", ELSEWHERE, marked=True)
    assert row == SideRow([Span("aye", "chosen text")], [Span(ELSEWHERE, "rejected text")])


def test_indentation_is_not_marked() -> None:
    """Different indentation is not marked, but trailing blanks are."""
    assert _drawn("  same words", "    same words ", marked=True) == [
        ("  same words", "|", "    same words[- -]")
    ]


def test_white_space_alone_is_drawn() -> None:
    """Changes of only white space are drawn visibly."""
    assert _drawn("same\n", "same") == [("same", "=", "same"), ("↵", "|", "")]
    assert _drawn("same\n  \n", "same\n") == [
        ("same", "=", "same"),
        ("··↵", "|", ""),
        ("", "=", ""),
    ]


# Rows -------------------------------------------------------------------------------------


def test_stretches_begin_level() -> None:
    """Blocks begin on the same row; the shorter side is padded."""
    shared = "a line that both have"
    assert _drawn(f"{'long ' * 9}\n{shared}", f"short\n{shared}", columns=24) == [
        ("long long long long long", "|", "short"),
        ("long long long long ", "|", ""),
        (shared, "=", shared),
    ]


def test_what_is_equal_is_folded() -> None:
    """Equal rows are folded, except three next to each change."""
    shared = "\n".join(f"shared line number {number}" for number in range(12))
    drawn = _drawn(f"{shared}\naye\n{shared}\nnay\n{shared}", f"{shared}\n{shared}\n{shared}",
                   folded=True)  # fmt: skip
    equal = [chosen for chosen, sign, _ in drawn if sign == "="]
    fold = "… 12 equal lines in all (--full)"
    ends = [f"shared line number {number}" for number in (9, 10, 11)]
    begins = [f"shared line number {number}" for number in (0, 1, 2)]
    assert equal == [fold, *ends, *begins, fold, *ends, *begins, fold]


def test_few_equal_rows_are_not_folded() -> None:
    """A few equal rows are not folded."""
    shared = "\n".join(f"shared line number {number}" for number in range(6))
    assert len(_drawn(f"{shared}\naye", shared, folded=True)) == 7
    assert len(_drawn(f"{shared}\n{shared}\naye", f"{shared}\n{shared}", folded=True)) == 5


def test_answers_that_look_the_same_are_not_folded() -> None:
    """Equal answers are not folded, or nothing would be shown."""
    shared = "\n".join(f"shared line number {number}" for number in range(60))
    assert len(_drawn(shared, shared, folded=True)) == 60


def test_long_equal_lines_are_folded_by_their_rows() -> None:
    """A long equal line is folded by rows, since it may fill a screen."""
    shared = "word " * 500
    drawn = _drawn(f"{shared}\naye", f"{shared}\nnay", folded=True)
    assert len(drawn) == 5
    assert drawn[0][0] == "… 1 equal line (--full)"


def test_folds_end_between_lines() -> None:
    """Folds do not split a line."""
    shared = [f"line {number} goes on in a second row" for number in range(9)]
    drawn = _drawn("\n".join([*shared, "aye", *shared]), "\n".join([*shared, "nay", *shared]), 24,
                   folded=True)  # fmt: skip
    fold = "… 9 equal lines in all (--full)"
    last, first = (["line 8 goes on in a ", "second row"], ["line 0 goes on in a ", "second row"])
    assert [chosen for chosen, *_ in drawn] == [fold, *last, "aye", *first, fold]


def test_one_side() -> None:
    """One above the other, each side has the same rows without those of the other."""
    found = TwoAnswers(_stretches("a line that both have\naye", "a line that both have\nnay"))
    for name, word in ((CHOSEN, "aye"), (REJECTED, "nay")):
        assert list(map(_text, one_side(found, name, 40))) == ["a line that both have", word]


def test_rows_of_bodies_are_indented() -> None:
    """All rows of a body are indented, including continued ones."""
    lines = turn_lines([{"role": "assistant", "content": "one two three"}], "")
    found = TwoAnswers([*blocks(lines, lines)])
    rows = [_text(row.chosen) for row in side_by_side(found, 9)]
    assert rows == ["assistant", "  one two", "  three"]
