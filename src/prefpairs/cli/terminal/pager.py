"""Output of styled rows: to a terminal and its pager, or as plain text."""

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO, Any, NamedTuple, Self, cast

from prefpairs.files.output import Output, open_output
from prefpairs.files.standard_output import STDOUT, ClosedPipe
from prefpairs.render.escape_and_wrap import Row

PLAIN_WIDTH = 100
"""The width of text that does not go to a terminal."""

NARROWEST, WIDEST = 40, 10_000
_USUAL_SIZE = 80, 24

_PAGER, _NO_PAGER = "less -R", ("", "cat")
_LESS = "FRX"
"""Default options of less: quit if everything fits, show colours, do not clear the screen."""

_STYLES = {
    "rule": "dim",
    "title": "bold",
    "label": "dim",
    "fold": "dim italic",
    "heading": "bold",
    "head": "bold",
    "thinking": "italic",
    "chosen": "green",
    "rejected": "red",
    "chosen-differs": "bold bright_white on color(22)",
    "rejected-differs": "bold bright_white on color(52)",
}
"""The look of each word in the name of a style; other words have none."""

Paint = Callable[[Row], str]


class Screen(NamedTuple):
    """The output for rows."""

    width: int
    coloured: bool
    output: Output
    paint: Paint

    def put(self, row: Row) -> None:
        """Show a row."""
        self.output.write(f"{self.paint(row)}\n".encode())


@contextmanager
def open_screen(width: int | None, *, pager: bool) -> Iterator[Screen]:
    """Standard output: with colours and a pager if it is a terminal, otherwise plain."""
    if not os.isatty(1):
        with open_output(STDOUT, styled=True) as output:
            yield Screen(width or PLAIN_WIDTH, False, output, _plain)
        return
    columns, lines = _size()
    paint = _colours()
    command = _pager_words() if pager and paint is not None else []
    with _Pager(command, lines) if command else open_output(STDOUT, styled=True) as output:
        yield Screen(width or max(columns, NARROWEST), paint is not None, output, paint or _plain)


def _plain(row: Row) -> str:
    return "".join(text for text, _ in row).rstrip()


def _size() -> tuple[int, int]:
    """Columns and lines of the terminal, or the usual size if it is unknown."""
    try:
        columns, lines = os.get_terminal_size(1)
    except OSError:
        return _USUAL_SIZE
    return columns or _USUAL_SIZE[0], lines or _USUAL_SIZE[1]


def _colours() -> Paint | None:
    """How to colour rows, if the terminal has colours and the user wants them."""
    from rich.console import COLOR_SYSTEMS, Console
    from rich.style import Style

    # rich below 14 also obeys an empty NO_COLOR
    console = Console(force_terminal=True, no_color=bool(os.environ.get("NO_COLOR")))
    if console.color_system is None or console.no_color:
        return None
    system = COLOR_SYSTEMS[console.color_system]

    @cache
    def style_of(name: str) -> Style:
        return sum((Style.parse(_STYLES.get(word, "")) for word in name.split()), Style())

    def paint(row: Row) -> str:
        return "".join(style_of(name).render(text, color_system=system) for text, name in row)

    return paint


def _pager_words() -> list[str]:
    """The pager command; empty for none."""
    wanted = os.environ.get("PAGER", _PAGER)
    with suppress(ValueError):  # an unclosed quotation mark
        return [] if wanted in _NO_PAGER else shlex.split(wanted)
    return []


class _Pager:
    """Lines for a terminal, through a pager if they do not fit."""

    def __init__(self, words: list[str], height: int) -> None:
        self._words = words
        self._height = height
        self._waiting: list[bytes] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._heed: Any = None

    def write(self, line: bytes, /) -> object:
        """Write one line, including its newline."""
        self._waiting.append(line)
        if self._process is None and self._words and len(self._waiting) >= self._height:
            self._start()
        if self._process is not None:
            self._send(self._process)
        return None

    def _start(self) -> None:
        settings = {"LESS": _LESS, **os.environ}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - $PAGER comes from the user
                self._words, stdin=subprocess.PIPE, env=settings
            )
        except OSError:  # no such program
            self._words = []
            return
        self._heed = signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C is for the pager now

    def _send(self, process: subprocess.Popen[bytes]) -> None:
        lines, self._waiting = self._waiting, []
        try:
            cast("IO[bytes]", process.stdin).write(b"".join(lines))
        except BrokenPipeError:
            raise ClosedPipe from None

    def __enter__(self) -> Self:
        """Nothing to set up."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for the pager to be closed; without a pager, print the lines."""
        if self._process is not None:
            with suppress(BrokenPipeError):
                cast("IO[bytes]", self._process.stdin).close()
            self._process.wait()
            signal.signal(signal.SIGINT, self._heed)
        elif kind is None or issubclass(kind, Exception):
            with open_output(STDOUT, styled=True) as output:
                output.write(b"".join(self._waiting))
