"""Lines to rows."""

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
    """Words stay whole where they fit; a row is indented like its line, if that leaves room."""
    assert _rows(text, 9) == rows


def test_a_sign_that_is_too_wide_has_a_row() -> None:
    """Nothing is endless."""
    assert _rows("日本", 1) == ["日", "本"]


def test_styles_are_kept() -> None:
    """Pieces are cut where rows end."""
    line = [Span("one t", "a"), Span("", "b"), Span("wo thr", "c"), Span("ee", "d")]
    assert list(wrapped(line, 9)) == [
        [Span("one t", "a"), Span("wo ", "c")],
        [Span("thr", "c"), Span("ee", "d")],
    ]


def test_width() -> None:
    """Of all pieces together."""
    assert width_of([Span("日"), Span("x", "a")]) == 3
