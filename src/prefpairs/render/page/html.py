"""HTML and SVG in which everything that was not made here is escaped text."""

import html
import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Characters that reorder, hide or end text, as in page.js; file names may have surrogates."""

_ALONE = frozenset({"meta"})
"""Elements that have no end tag."""


class Markup(str):
    """Text that is already markup; any other text is escaped when it is inserted."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """An element. In attribute names, underscores become dashes, and final ones are removed.

    >>> element("p", "a < b", element("b", "!"), class_="x", aria_label='"')
    '<p class="x" aria-label="&quot;">a &lt; b<b>!</b></p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_attribute(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _ALONE:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*parts: str) -> Markup:
    """The concatenation of parts, escaped unless they are markup."""
    return Markup("".join(part if isinstance(part, Markup) else escaped(part) for part in parts))


def lines(*parts: Markup) -> Markup:
    """Parts, one a line."""
    return Markup("".join(f"\n{part}" for part in parts) + "\n")


def escaped(text: str) -> str:
    r"""The text as it may be inserted anywhere in a page, with invisible characters escaped.

    >>> escaped("<b>\u202e")
    '&lt;b&gt;\\u202e'
    """
    return html.escape(written_out(text))


def written_out(text: str) -> str:
    """The text with escapes for characters that reorder, hide or end text."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _attribute(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
