"""How a terminal shows a text, and its width."""

import sys
import unicodedata

import pytest

from prefpairs.cli.terminal.safe_text import printable
from prefpairs.render.escape_and_wrap import (
    columns_of,
    one_line,
    shortened,
    shortened_at_left,
    visible_text,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ntext", "plain\ntext"),
        ("a\tb", "a    b"),
        ("\x1b[2J\x07\r\x7f\x85", "\\x1b[2J\\x07\\r\\x7f\\x85"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("zero\u200bwidth\ufeff\xad", "zero\\u200bwidth\\ufeff\\xad"),
        ("line\u2028paragraph\u2029", "line\\u2028paragraph\\u2029"),
        ("tags \U000e0041", "tags \\U000e0041"),
        ("fillers \u3164\u115f\uffa0", "fillers \\u3164\\u115f\\uffa0"),
        ("x\u200dy", "x\\u200dy"),
        ("\u0645\u06cc\u200c\u062e क\u094d\u200dष", "\u0645\u06cc\u200c\u062e क\u094d\u200dष"),
        ("م\u200c م", "م\\u200c م"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\U0001f469"),
        ("\u26a0\ufe0f 1\ufe0f\u20e3 \u2764\ufe0f\u200d\U0001f525", "⚠ 1\u20e3 ❤\U0001f525"),
        ("a\ufe0f", "a\\ufe0f"),
        ("e\u0301 日本", "e\u0301 日本"),
    ],
)
def test_visible_text(text: str, shown: str) -> None:
    """Invisible characters are escaped, unless a script needs them; emoji are split."""
    assert visible_text(text) == shown


@pytest.mark.full
def test_nothing_is_left_that_steers() -> None:
    """Everything that is escaped in messages is escaped here, too."""
    for code in range(sys.maxunicode + 1):
        sign = chr(code)
        if printable(sign) != sign and sign != "\n":
            assert visible_text(sign).isprintable(), hex(code)
            assert visible_text(sign) != sign, hex(code)


def test_nothing_is_left_without_width() -> None:
    """The only zero-width characters left are combining marks and signs that are visible."""
    seen = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    for code in range(sys.maxunicode + 1):
        sign = chr(code)
        if unicodedata.category(sign) in ("Cf", "Cc", "Zl", "Zp", "Cs") and sign not in "\n\t":
            known = sign in seen or 0x13430 <= code <= 0x1345F
            assert known or visible_text(sign) != sign, hex(code)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("abc", 3),
        ("日本語", 6),
        ("e\u0301\u0302", 1),
        ("\u1112\u1161\u11ab", 2),
        ("\U0001f600 \U0001f468", 5),
        ("\U0001faff", 2),
        ("\uff46\uff55\uff4c\uff4c", 8),
        ("می\u200cخ", 3),
    ],
)
def test_columns_of(text: str, columns: int) -> None:
    """Wide characters take two columns, combining marks none."""
    assert columns_of(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "left", "right"),
    [
        ("abcdef", 6, "abcdef", "abcdef"),
        ("abcdef", 5, "abcd…", "…cdef"),
        ("abcdef", 1, "…", "…"),
        ("", 1, "", ""),
        ("日本語", 5, "日本…", "…本語"),
        ("日本語", 4, "日…", "…語"),
        ("日本語", 6, "日本語", "日本語"),
    ],
)
def test_shortened(text: str, columns: int, left: str, right: str) -> None:
    """A shortened text fits, and shows that it was cut."""
    assert shortened(text, columns) == left
    assert shortened_at_left(text, columns) == right


def test_one_line() -> None:
    """Line feeds are escaped, too."""
    assert one_line("a\nb\x00") == "a\\nb\\x00"
