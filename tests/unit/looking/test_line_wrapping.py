"""Lines are wrapped to rows."""

import pytest

from prefpairs.render.escape_and_wrap import Span, width_of, wrapped


def _rows(text: str, columns: int) -> list[str]:
    return ["".join(piece for piece, _ in row) for row in wrapped([Span(text)], columns)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [""]),
        ("short", ["short"]),
        ("exactly 9", ["exactly 9"]),
        ("one two three", ["one two ", "three"]),
        ("a fitting word", ["a fitting", "word"]),
        ("longerthannine", ["longertha", "nnine"]),
        ("no longerthannine", ["no ", "longertha", "nnine"]),
        ("  stand in far", ["  stand ", "  in far"]),
        ("       far in it", ["       fa", "r in it"]),
        (" " * 12, [" " * 9, "  "]),
        ("ends here ", ["ends here"]),
        ("日本語の文章", ["日本語の", "文章"]),
        ("ab日本語の文章", ["ab日本語", "の文章"]),
        ("e\u0301" * 12, ["e\u0301" * 9, "e\u0301" * 3]),
    ],
)
def test_rows(text: str, rows: list[str]) -> None:
    """Words stay whole if they fit; continued rows keep their line's indent if there is space."""
    assert _rows(text, 9) == rows


def test_a_sign_that_is_too_wide_has_a_row() -> None:
    """A character wider than the row gets a row, so wrapping ends."""
    assert _rows("日本", 1) == ["日", "本"]


def test_styles_are_kept() -> None:
    """Styled pieces are cut at the ends of rows."""
    line = [Span("one t", "a"), Span("", "b"), Span("wo thr", "c"), Span("ee", "d")]
    assert list(wrapped(line, 9)) == [
        [Span("one t", "a"), Span("wo ", "c")],
        [Span("thr", "c"), Span("ee", "d")],
    ]


def test_width() -> None:
    """The total width of all pieces."""
    assert width_of([Span("日"), Span("x", "a")]) == 3
