"""Help, as people read it: on a terminal, through a pipe, at any width."""

import os
import sys
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from prefpairs.cli.main import COMMANDS

if TYPE_CHECKING:
    from prefpairs.option import Option

GROUPS = {
    "Making pairs": ("pair", "extract"),
    "Curating pairs": ("dedupe", "filter", "sample", "split"),
    "Looking at the data": ("stats", "report", "show", "diff"),
    "For trainers": ("export", "validate", "rehearse"),
    "All in one": ("run", "verify"),
}
"""What commands are for. Those that stand nowhere are told last."""

_ABOUT = (
    "Scored rollouts in, trainable preference pairs out. Every pair it writes can be trained on, "
    "and every record it read is accounted for."
)
_EXAMPLES = """\
prefpairs pair --min-gap 0.2 rollouts.jsonl -o pairs.jsonl
prefpairs split --val-fraction 0.1 pairs.jsonl --out-dir data
prefpairs export --to trl data --out-dir trl-data"""
_OPTIONS = [
    ("-h, --help", "Show this; behind a command, all about it."),
    ("    --version", "Show the version."),
]
_CODES = [
    ("0", "done, also where the reader of a pipe went away"),
    ("1", "bad data"),
    ("2", "wrong usage"),
    ("3", "nothing came out"),
    ("4", "a --require is not met, or a trainer would lose rows"),
    ("5", "a file could not be read or written"),
    ("70", "a bug"),
    ("130", "interrupted; 143 by SIGTERM"),
]

_WIDEST = 100
_COLUMN, _INDENT = 32, 10
"""Where what is said of a word begins at most, and where if there is no room beside it."""


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
    from prefpairs.cli.command_manual import manual_of, panels_of

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
    page.table("Help", [("-h, --help", "Show this.")], column=column)
    page.examples(manual.examples)
    return page.text()


def usage_of(command: str) -> str:
    """How a command is typed."""
    from prefpairs.cli.command_manual import options_of_command

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
    """How a word is typed; long names stand below each other."""
    if not word.names:
        return word.metavar
    short = f"{word.names[0]}, " if len(word.names) > 1 else ""
    return f"{short:4}{word.spelling}"


def _more(word: "Option") -> str:
    """What else is to be known of a value: its bounds, and what it is by default."""
    facts = ["required"] if word.is_required else []
    if word.bounds is not None and word.most is not None:
        facts.append(word.bounds)
    if word.told_default is not None:
        facts.append(f"default: {word.told_default}")
    if word.repeated and word.names and "epeatable" not in word.help:
        facts.append("repeatable")
    return f" [{'; '.join(facts)}]" if facts else ""


def column_of(lefts: Sequence[str]) -> int:
    """Where the texts beside words begin: behind the longest word, if it is not too long."""
    return min(_COLUMN, max(map(len, lefts), default=0) + 4)


class Page:
    """Text of a width, block after block."""

    def __init__(self, width: int, paint: "Paint") -> None:
        self._width = width
        self._paint = paint
        self._blocks: list[list[str]] = []

    def paragraph(self, text: str, *, hang: int = 0) -> None:
        """Plain words."""
        self._blocks.append(_wrapped(text, self._width, hang=hang))

    def table(self, title: str, rows: Sequence[tuple[str, str]], *, column: int = 0) -> None:
        """Words, and beside each what is said of it."""
        column = column or column_of([left for left, _ in rows])
        lines = [line for left, text in rows for line in self._row(left, text, column)]
        self._blocks.append([self._paint.title(title), *lines])

    def _row(self, left: str, text: str, column: int) -> Iterator[str]:
        """What is said stands below the word where one of both is too long."""
        beside = column if column * 2 < self._width else _INDENT
        lines = _wrapped(text, self._width - beside)
        word = f"  {self._paint.word(left)}"
        if len(left) + 4 <= beside and lines:
            word += " " * (beside - 2 - len(left)) + lines.pop(0)
        yield word
        yield from (f"{'':{beside}}{line}" for line in lines)

    def examples(self, blocks: Sequence[str]) -> None:
        """Lines to type, and what is said of them behind a #."""
        title = self._paint.title("Examples")
        for block in blocks:
            lines = [self._example(line) for line in block.splitlines()]
            self._blocks.append([title, *lines] if title else lines)
            title = ""

    def _example(self, line: str) -> str:
        return f"  {self._paint.aside(line) if line.startswith('#') else line}"

    def text(self) -> str:
        """All blocks, with an empty line between any two."""
        return "\n".join("".join(f"{line}\n" for line in block) for block in self._blocks)


def _wrapped(text: str, width: int, *, hang: int = 0) -> list[str]:
    return wrap(
        text, width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
    )


class Paint:
    """Titles and words in their colours, where there are colours."""

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours

    def title(self, text: str) -> str:
        """The title of a group."""
        return self._in("1", text)

    def word(self, text: str) -> str:
        """A word to type."""
        return self._in("36", text)

    def aside(self, text: str) -> str:
        """What need not be read."""
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
