"""Sections as Markdown, for a pull request or a data card."""

import re
from collections.abc import Iterator, Sequence

from prefpairs.analysis.survey_tables import Bar, Cell, Section, Table

_WIDTH = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


def markdown(sections: Sequence[Section], warnings: Sequence[str]) -> str:
    """All sections and warnings as one text."""
    lines = [line for section in sections for line in _section(section)]
    if warnings:
        lines += ["", "### Worth a look", "", *(f"- {_words(warning)}" for warning in warnings)]
    return "\n".join(lines[1:]) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield from ("", f"### {_words(section.title)}", "")
    if section.table is not None:
        yield from _table(section.table)
    if section.notes:
        yield from ("", *(f"- {_words(note)}" for note in section.notes))


def _table(table: Table) -> Iterator[str]:
    yield _row([_words(head) for head in table.heads])
    yield _row([":--" if place in table.words else "--:" for place in range(len(table.heads))])
    for row in table.rows:
        yield _row([_cell(cell) for cell in row])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Bar):
        return blocks(cell.share, _WIDTH)
    return _words(cell.strip())


def _words(text: str) -> str:
    """Text with Markdown's special characters escaped."""
    return _SPECIAL.sub(r"\\\1", text)


def blocks(share: float, width: int) -> str:
    """A bar of block characters; any share above 0 is visible.

    >>> blocks(0.5, 4), blocks(0.01, 4), blocks(0, 4)
    ('██', '▏', '')
    """
    eighths = round(share * width * 8) or int(share > 0)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + ("▏▎▍▌▋▊▉"[rest - 1] if rest else "")
