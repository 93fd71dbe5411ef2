"""HTML and SVG in which everything is text that was not made here."""

import html
import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
"""What turns, hides or ends text, as page.js has it; halves of signs stand in names of files."""

_ALONE = frozenset({"meta"})
"""Elements that have no end tag."""


class Markup(str):
    """Text that is markup already; any other text is escaped on its way in."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """An element. Underscores stand for dashes in names of attributes, and end those Python has.

    >>> element("p", "a < b", element("b", "!"), class_="x", aria_label='"')
    '<p class="x" aria-label="&quot;">a &lt; b<b>!</b></p>'
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_attribute(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _ALONE:
        return Markup(f"<{name}{told}>")
    return Markup(f"<{name}{told}>{joined(*children)}</{name}>")


def joined(*parts: str) -> Markup:
    """Parts one after the other."""
    return Markup("".join(part if isinstance(part, Markup) else escaped(part) for part in parts))


def lines(*parts: Markup) -> Markup:
    """Parts with a line each."""
    return Markup("".join(f"\n{part}" for part in parts) + "\n")


def escaped(text: str) -> str:
    r"""The text as it may stand anywhere in a page; what would not be seen is written out.

    >>> escaped("<b>\u202e")
    '&lt;b&gt;\\u202e'
    """
    return html.escape(written_out(text))


def written_out(text: str) -> str:
    """The text with escapes for what turns, hides or ends text."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _attribute(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
