"""The page as one file: it fetches nothing, and only its own script runs in it.

Rollouts are text that strangers wrote. Charts and tables escape it; pairs are in the page as data,
which the script turns into text. A policy in the page's head allows that one script and that one
style sheet by their digests, and no requests at all.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.resources import files

from prefpairs import __version__
from prefpairs.analysis.survey import Survey
from prefpairs.analysis.survey_tables import Bar, Cell, Section, Table, sections, warnings
from prefpairs.ledger import Ledger
from prefpairs.render.page.charts import Chart, charts
from prefpairs.render.page.gallery import Gallery
from prefpairs.render.page.markup import Markup, element, lines

_POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_UNSAFE = re.compile("[<>&\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Characters that JSON does not escape, but that could end a script or mislead its readers."""

_PROMISE = "This page makes no network requests and stores nothing."
_FIRST_NAMES = 3
_FUNNEL, _TALL = "What happened to the input", 6
"""This section is as tall as two others if it has more rows than this."""


def page(
    survey: Survey, ledger: Ledger, gallery: Gallery, title: str | None = None
) -> Iterator[bytes]:
    """The whole page in parts; its bytes do not depend on where it is made."""
    heading = title or _named(ledger)
    script, style = _own("page.js"), _own("page.css")
    body = lines(
        _top(heading, survey, ledger),
        element("main", lines(*_story(survey, ledger), *_browser(gallery))),
        element("footer", element("p", f"prefpairs {__version__}. {_PROMISE}")),
    )
    yield f'<!doctype html>\n<html lang="en">{lines(_head(heading, script, style))}'.encode()
    yield f'<body>{body}<script type="application/json" id="data">'.encode()
    yield harmless(gallery.data())
    yield f"</script>{lines(element('script', script))}</body>\n</html>\n".encode()


def _named(ledger: Ledger) -> str:
    """The inputs, as a title for a page without one."""
    names = list(dict.fromkeys(name for name, _ in ledger.sources))
    more = f" and {len(names) - _FIRST_NAMES:,} more" if len(names) > _FIRST_NAMES else ""
    return ", ".join(names[:_FIRST_NAMES]) + more or "no input"


def _own(name: str) -> Markup:
    """A file next to this module, as the content of an element."""
    return Markup("\n" + files(__package__).joinpath(name).read_text("utf-8"))


def _head(heading: str, script: str, style: str) -> Markup:
    policy = _POLICY.format(script=_digest(script), style=_digest(style))
    inside = lines(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{heading} · prefpairs"),
        element("style", style),
    )
    return element("head", inside)


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _top(heading: str, survey: Survey, ledger: Ledger) -> Markup:
    totals = [("rows", ledger.rows_read)]
    if survey.groups is not None:
        totals += [("candidates", ledger.candidates_found), ("groups", survey.groups.groups)]
    totals += [("pairs", survey.pairs.pairs), ("prompts", survey.pairs.prompts)]
    numbers = [
        element("div", element("dt", name), element("dd", f"{count:,}")) for name, count in totals
    ]
    return element(
        "header",
        element("p", "Preference pairs", class_="kicker"),
        element("h1", heading, dir="auto"),
        element("dl", *numbers, class_="numbers"),
        element(
            "nav",
            element("a", "Charts", href="#charts"),
            *([element("a", "Pairs", href="#pairs")] if survey.pairs.pairs else []),
            element("button", "Dark", type="button", id="theme", hidden="hidden"),
            aria_label="This page",
        ),
    )


def _story(survey: Survey, ledger: Ledger) -> Iterator[Markup]:
    """The warnings, then every section with its chart and its figures."""
    drawn = charts(survey, ledger)
    shown = [*_warnings(warnings(survey))]
    shown += [_section(part, drawn.get(part.title)) for part in sections(survey, ledger)]
    yield element("div", lines(*shown), id="charts", class_="charts")


def _warnings(found: Sequence[str]) -> Iterator[Markup]:
    if found:
        listed = [element("li", _without_ticks(warning)) for warning in found]
        heading = element("h2", "Worth a look")
        yield element("section", heading, element("ul", *listed), class_="worries")


def _section(section: Section, chart: Chart | None) -> Markup:
    parts = [element("span", section.title, class_="kicker")]
    if chart is not None:
        parts.append(element("span", chart.says, class_="says", dir="auto"))
    inside = [element("h2", *parts)]
    if chart is not None and chart.drawn is not None:
        inside.append(chart.drawn)
    if section.notes:
        notes = [element("li", _without_ticks(note)) for note in section.notes]
        inside.append(element("ul", *notes, class_="notes"))
    if section.table is not None:
        inside.append(_figures(section.table))
    rows = len(section.table.rows) if section.table is not None else 0
    tall = section.title == _FUNNEL and rows > _TALL
    return element("section", *inside, class_="tall" if tall else None)


def _without_ticks(sentence: str) -> str:
    """A sentence without the backticks that the terminal has around commands."""
    return sentence.replace("`", "")


def _figures(table: Table) -> Markup:
    """The figures of a chart, as a table that opens; its bars are in the chart."""
    places = [
        place
        for place in range(len(table.heads))
        if not any(isinstance(row[place], Bar) for row in table.rows)
    ]
    heads = element("tr", *(element("th", table.heads[place], scope="col") for place in places))
    inside = [element("thead", heads)] if any(table.heads) else []
    rows = (element("tr", *(_cell(table, row, place) for place in places)) for row in table.rows)
    inside.append(element("tbody", *rows))
    reached = {"tabindex": "0", "role": "region", "aria_label": "Figures"}
    scrolled = element("div", element("table", *inside), class_="scroll", **reached)
    return element("details", element("summary", "Figures"), scrolled)


def _cell(table: Table, row: Sequence[Cell], place: int) -> Markup:
    kind = "words" if place in table.words else None
    return element("td", str(row[place]), class_=kind)


def _browser(gallery: Gallery) -> Iterator[Markup]:
    """The section in which the script shows pairs."""
    if gallery.number:
        kicker = element("span", "Pairs", class_="kicker")
        heading = element("h2", kicker, element("span", _held(gallery), class_="says"))
        without = element("p", "Browsing pairs requires the script of this page.", id="without")
        inside = [heading, without] if gallery.drawn else [heading]
        yield element("section", *inside, id="pairs", class_="pairs")


def _held(gallery: Gallery) -> str:
    """A sentence on which of the pairs are on the page."""
    if not gallery.drawn:
        return f"None of {gallery.number:,} pairs is on this page"
    if gallery.drawn == gallery.number:
        return f"All {gallery.number:,} of them" if gallery.number > 1 else "The only one"
    drawn = f"{gallery.drawn:,} of {gallery.number:,} pairs, drawn by seed {gallery.seed}"
    return f"{drawn}, and those with the most uneven lengths and the narrowest gaps"


def harmless(data: bytes) -> bytes:
    r"""JSON without characters that have a meaning in HTML or change the direction of text.

    >>> harmless(b'["</script>"]')
    b'["\\u003c/script\\u003e"]'
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", data.decode()).encode()
