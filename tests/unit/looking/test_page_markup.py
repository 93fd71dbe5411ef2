"""Markup in which all foreign text is escaped."""

import pytest

from prefpairs.render.page.markup import Markup, element, escaped, lines


def test_text_is_escaped_and_markup_is_not() -> None:
    """Text is escaped in elements and in attributes; markup is not."""
    inner = element("b", "<i>")
    assert element("p", "&", inner, title='"<') == '<p title="&quot;&lt;">&amp;<b>&lt;i&gt;</b></p>'


def test_attributes() -> None:
    """Attributes that are None are omitted; numbers are short."""
    made = element("meta", http_equiv="x", class_="y", x=1 / 3, y=2.0, z=0, gone=None)
    assert made == '<meta http-equiv="x" class="y" x="0.333" y="2" z="0">'


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\u202ea", "\\u202ea"),
        ("\x00\x1b", "\\x00\\x1b"),
        ("a\tb\nc", "a\tb\nc"),
        ("\u200b\u2028", "\\u200b\\u2028"),
        ("\U000e0041", "\\U000e0041"),
        ("\udcff", "\\udcff"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
    ],
)
def test_what_is_not_seen_is_written_out(text: str, seen: str) -> None:
    """Control, bidi and invisible characters are escaped; emoji joiners stay."""
    assert escaped(text) == seen


def test_lines() -> None:
    """Each part begins a line, and the last one ends with a newline."""
    assert lines(Markup("<a>"), Markup("<b>")) == "\n<a>\n<b>\n"
