"""The help of the program and its commands, at any width."""

import os
import sys
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from prefpairs.cli.main import COMMANDS

if TYPE_CHECKING:
    from prefpairs.option import Option

GROUPS = {
    "Make pairs": ("pair", "extract"),
    "Curate pairs": ("dedupe", "filter", "sample", "split"),
    "Look at the data": ("stats", "report", "show", "diff"),
    "For trainers": ("export", "validate", "rehearse", "submit"),
    "Pipelines": ("run", "verify", "shards"),
}
"""Commands by purpose; all others come last."""

_ABOUT = (
    "Scored rollouts in, trainable preference pairs out. Every pair it writes can be trained on, "
    "and every record it read is accounted for."
)
_EXAMPLES = """\
prefpairs pair --min-gap 0.2 rollouts.jsonl -o pairs.jsonl
prefpairs split --val-fraction 0.1 pairs.jsonl --out-dir data
prefpairs export --to trl data --out-dir trl-data"""
_OPTIONS = [
    ("-h, --help", "Show this help; after a command, the help of that command."),
    ("    --version", "Show the version."),
]
_CODES = [
    ("0", "success, also if the reader of a pipe closed it"),
    ("1", "bad data; with submit: the service refused it, or the job failed"),
    ("2", "wrong usage"),
    ("3", "no output"),
    ("4", "a --require is not met, or a trainer would lose rows"),
    ("5", "a file could not be read or written, or a service not be reached"),
    ("6", "submit: the job was cancelled"),
    ("7", "submit: the model was not deployed in time"),
    ("70", "a bug in prefpairs"),
    ("130", "interrupted; 143 if by SIGTERM"),
]

_WIDEST = 100
_COLUMN, _INDENT = 32, 10
"""The widest column of names, and the indentation of descriptions that go below them."""


def help_text(width: int, paint: "Paint") -> str:
    """The help of the program."""
    page = Page(width, paint)
    page.paragraph("Usage: prefpairs COMMAND [OPTIONS] [INPUT]...")
    page.paragraph(_ABOUT)
    grouped = {name for names in GROUPS.values() for name in names}
    others = tuple(name for name in COMMANDS if name not in grouped)
    for title, names in {**GROUPS, "Other": others}.items():
        page.table(title, [(name, COMMANDS[name]) for name in names], column=14)
    page.table("Options", _OPTIONS)
    page.table("Exit codes", _CODES)
    page.examples([_EXAMPLES])
    return page.text()


def help_of(command: str, width: int, paint: "Paint") -> str:
    """The help of a command."""
    from prefpairs.cli.command_docs import manual_of, panels_of

    panels, manual = panels_of(command), manual_of(command)
    tables = {
        title: [(_left(word), f"{word.help}{_more(word)}") for word in words]
        for title, words in panels.items()
    }
    page = Page(width, paint)
    page.paragraph(f"Usage: {usage_of(command)}", hang=7)
    for paragraph in manual.paragraphs:
        page.paragraph(paragraph)
    column = column_of(["-h, --help", *(left for rows in tables.values() for left, _ in rows)])
    for title, rows in tables.items():
        page.table(title, rows, column=column)
    page.table("Help", [("-h, --help", "Show this help.")], column=column)
    page.examples(manual.examples)
    return page.text()


def usage_of(command: str) -> str:
    """The usage line of a command."""
    from prefpairs.cli.command_docs import options_of_command

    words = options_of_command(command)
    needed = [word.spelling for word in words if word.names and word.is_required]
    given = [
        word.metavar if word.is_required or word.metavar.startswith("[") else f"[{word.metavar}]"
        for word in words
        if not word.names
    ]
    options = ["[OPTIONS]"] if any(word.names and not word.is_required for word in words) else []
    return " ".join(["prefpairs", command, *needed, *options, *given])


def _left(word: "Option") -> str:
    """The names of an option or argument."""
    if not word.names:
        return word.metavar
    short = f"{word.names[0]}, " if len(word.names) > 1 else ""
    return f"{short:4}{word.spelling}"


def _more(word: "Option") -> str:
    """Bounds and default of a value."""
    facts = ["required"] if word.is_required else []
    if word.bounds is not None and word.most is not None:
        facts.append(word.bounds)
    if word.told_default is not None:
        facts.append(f"default: {word.told_default}")
    if word.repeated and word.names and "epeatable" not in word.help:
        facts.append("repeatable")
    return f" [{'; '.join(facts)}]" if facts else ""


def column_of(lefts: Sequence[str]) -> int:
    """The column where descriptions start: after the longest name, up to a limit."""
    return min(_COLUMN, max(map(len, lefts), default=0) + 4)


class Page:
    """Blocks of text, wrapped to a width."""

    def __init__(self, width: int, paint: "Paint") -> None:
        self._width = width
        self._paint = paint
        self._blocks: list[list[str]] = []

    def paragraph(self, text: str, *, hang: int = 0) -> None:
        """Add a paragraph."""
        self._blocks.append(_wrapped(text, self._width, hang=hang))

    def table(self, title: str, rows: Sequence[tuple[str, str]], *, column: int = 0) -> None:
        """Add a table of names and descriptions."""
        column = column or column_of([left for left, _ in rows])
        lines = [line for left, text in rows for line in self._row(left, text, column)]
        self._blocks.append([self._paint.title(title), *lines])

    def _row(self, left: str, text: str, column: int) -> Iterator[str]:
        """A row; its description goes below the name if there is no room next to it."""
        beside = column if column * 2 < self._width else _INDENT
        lines = _wrapped(text, self._width - beside)
        word = f"  {self._paint.word(left)}"
        if len(left) + 4 <= beside and lines:
            word += " " * (beside - 2 - len(left)) + lines.pop(0)
        yield word
        yield from (f"{'':{beside}}{line}" for line in lines)

    def examples(self, blocks: Sequence[str]) -> None:
        """Add example commands, with comments after #."""
        title = self._paint.title("Examples")
        for block in blocks:
            lines = [self._example(line) for line in block.splitlines()]
            self._blocks.append([title, *lines] if title else lines)
            title = ""

    def _example(self, line: str) -> str:
        return f"  {self._paint.aside(line) if line.startswith('#') else line}"

    def text(self) -> str:
        """All blocks, separated by blank lines."""
        return "\n".join("".join(f"{line}\n" for line in block) for block in self._blocks)


def _wrapped(text: str, width: int, *, hang: int = 0) -> list[str]:
    return wrap(
        text, width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
    )


class Paint:
    """Colours of titles and names, if there are colours."""

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours

    def title(self, text: str) -> str:
        """A title."""
        return self._in("1", text)

    def word(self, text: str) -> str:
        """A name to type."""
        return self._in("36", text)

    def aside(self, text: str) -> str:
        """A comment."""
        return self._in("2", text)

    def _in(self, colour: str, text: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours else text


def write_help(command: str | None) -> None:
    """Write the help of the program, or of a command, to standard output."""
    width = min(_width(), _WIDEST)
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    paint = Paint(colours=colours and os.environ.get("TERM", "dumb") != "dumb")
    text = help_text(width, paint) if command is None else help_of(command, width, paint)
    sys.stdout.write(text)


def _width() -> int:
    from shutil import get_terminal_size

    return max(get_terminal_size().columns - 1, 40)
