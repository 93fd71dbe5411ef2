"""Survey sections for a terminal, or as plain text."""

import io
import os
import shutil
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from prefpairs.analysis.survey_tables import Bar, Cell, Section, Table
from prefpairs.cli.terminal.safe_text import printable
from prefpairs.render.markdown import blocks

_PLAIN_WIDTH = 100
_BARS = 36
"""The total width of all bars in a row."""

_WIDEST_BAR = 24
_NARROWEST_WORDS = 40
"""Cells of up to this many characters are not wrapped."""


def draw_sections(sections: Sequence[Section], warnings: Sequence[str], *, terminal: bool) -> bytes:
    """The sections with colours for a terminal, or as plain text."""
    text = io.StringIO()
    console = _console(text, terminal=terminal)
    for section in sections:
        _draw(section, console)
    if warnings:
        console.print(Text("\nWorth a look", style="bold yellow"))
        for warning in warnings:
            console.print(_listed(warning, "yellow"))
    lines = (line.rstrip() for line in text.getvalue().split("\n"))
    return ("\n".join(lines).strip("\n") + "\n").encode()


def _console(text: io.StringIO, *, terminal: bool) -> Console:
    if terminal:
        width = shutil.get_terminal_size().columns
        no_color = bool(os.environ.get("NO_COLOR"))
        return Console(file=text, force_terminal=True, width=width, no_color=no_color)
    return Console(file=text, width=_PLAIN_WIDTH, color_system=None, _environ={})


def _draw(section: Section, console: Console) -> None:
    console.print(Text(f"\n{printable(section.title)}", style="bold"))
    if section.table is not None:
        console.print(_table(section.table))
    for note in section.notes:
        console.print(_listed(note, "dim"))


def _listed(sentence: str, style: str) -> RichTable:
    """A sentence as a list item with a hanging indent."""
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text(" -", style=style), Text(printable(sentence), style=style))
    return grid


def _table(table: Table) -> RichTable:
    drawn = RichTable(box=None, show_header=any(table.heads), header_style="dim", pad_edge=True)
    columns = list(zip(*table.rows, strict=True))
    with_bars = [any(isinstance(cell, Bar) for cell in column) for column in columns]
    bar = min(_WIDEST_BAR, _BARS // max(1, sum(with_bars)))
    for place, (head, column) in enumerate(zip(table.heads, columns, strict=True)):
        words = place in table.words
        widest = max((len(cell) for cell in column if not isinstance(cell, Bar)), default=0)
        drawn.add_column(
            printable(head),
            justify="left" if words else "right",
            no_wrap=not words,
            width=bar if with_bars[place] else None,
            min_width=min(widest, _NARROWEST_WORDS),
            overflow="fold",
        )
    for row in table.rows:
        drawn.add_row(*(_cell(cell, bar) for cell in row))
    return drawn


def _cell(cell: Cell, bar: int) -> Text:
    if isinstance(cell, Bar):
        return Text(blocks(cell.share, bar), style="cyan")
    return Text(printable(cell))
