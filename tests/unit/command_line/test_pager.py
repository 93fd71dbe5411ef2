"""Where rows go: a terminal, its pager, or a file."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from prefpairs.cli.terminal.pager import open_screen
from prefpairs.render.escape_and_wrap import Span

pytestmark = pytest.mark.full

PAGER = "cat > paged.txt; echo paged"
"""A substitute for less that reports that it ran."""

USUAL = {"TERM": "xterm-256color", "PAGER": "", "LESS": "", "NO_COLOR": "", "COLORTERM": ""}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"prompt": f"Q{number}", "chosen": f"it is {number}", "rejected": "it is not"}
        for number in range(9)
    ]
    Path("p.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    Path("pager").write_text(f"#!/bin/sh\n{PAGER}\n", "utf-8")
    Path("pager").chmod(0o755)


def _open_terminal(columns: int, lines: int) -> tuple[int, int]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    return ours, theirs


def _start(
    words: list[str], env: Mapping[str, str], size: tuple[int, int]
) -> tuple[subprocess.Popen[bytes], int]:
    ours, theirs = _open_terminal(*size)
    known = {name: value for name, value in os.environ.items() if name not in USUAL}
    wanted = {name: value for name, value in {**USUAL, **env}.items() if name != "unset"}
    for name in env.get("unset", "").split():
        del wanted[name]
    process = subprocess.Popen(
        [sys.executable, "-m", "prefpairs", *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**known, **wanted},
    )
    os.close(theirs)
    return process, ours


def _read(descriptor: int) -> str:
    shown = b""
    while True:
        try:
            got = os.read(descriptor, 1 << 16)
        except OSError:  # on Linux, this means that the other end is closed
            break
        if not got:
            break
        shown += got
    os.close(descriptor)
    return shown.decode().replace("\r\n", "\n")


def _shown(*words: str, size: tuple[int, int] = (100, 24), code: int = 0, **env: Any) -> str:
    """The output of `show` on a terminal of a given size."""
    process, ours = _start(["show", "p.jsonl", *words], env, size)
    shown = _read(ours)
    assert process.wait(timeout=60) == code, shown
    return shown


def _widest(shown: str) -> int:
    rules = [line for line in shown.splitlines() if line.startswith("──")]
    return max(map(len, rules))


# Files and pipes --------------------------------------------------------------------------


def test_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a terminal, plain text, 100 columns wide by default, without trailing blanks."""
    with open_screen(None, pager=True) as screen:
        assert (screen.width, screen.coloured) == (100, False)
        screen.put([Span("é", "chosen-differs"), Span("  ", "rule")])
        screen.put([])
    with open_screen(60, pager=True) as screen:
        assert screen.width == 60
    assert capfd.readouterr().out == "é\n\n"


def test_same_bytes_in_any_surroundings() -> None:
    """Output to a file does not depend on the terminal's settings."""
    words = [sys.executable, "-m", "prefpairs", "show", "p.jsonl"]
    surroundings: tuple[dict[str, str], ...] = (
        {},
        {"COLUMNS": "60", "TERM": "dumb"},
        {"FORCE_COLOR": "1", "PAGER": "false"},
    )
    found = {
        subprocess.run(words, capture_output=True, check=True, env={**os.environ, **env}).stdout
        for env in surroundings
    }
    assert len(found) == 1
    assert b"\x1b" not in found.pop()


# Terminals --------------------------------------------------------------------------------


def test_colours_on_a_terminal() -> None:
    """Colors replace marks; each side has its own."""
    shown = _shown("-n", "1")
    assert "{+" not in shown
    assert "\x1b[32mit is \x1b[0m" in shown
    assert "\x1b[31mit is \x1b[0m" in shown
    assert "\x1b[1;97;48;5;22m0\x1b[0m" in shown
    assert "\x1b[1;97;48;5;52mnot\x1b[0m" in shown


def test_few_colours() -> None:
    """Terminals with 16 colors get the nearest ones."""
    assert "48;5;22" not in _shown("-n", "1", TERM="xterm")


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_terminals_without_colours(env: dict[str, Any]) -> None:
    """Without colors there are marks, as in a file, and no pager."""
    shown = _shown("-n", "1", **env)
    assert "{+0+}" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(("columns", "wide"), [(60, 60), (100, 100), (133, 133), (30, 40), (0, 80)])
def test_as_wide_as_the_terminal(columns: int, wide: int) -> None:
    """The width is the terminal's, but not below a minimum; a terminal may not know its width."""
    assert _widest(_shown("-n", "1", size=(columns, 24), NO_COLOR="1")) == wide


def test_width_goes_before_the_terminal() -> None:
    """--width overrides the terminal's width."""
    assert _widest(_shown("-n", "1", "--width", "70", NO_COLOR="1")) == 70


# The pager --------------------------------------------------------------------------------


def test_what_does_not_fit_goes_to_the_pager() -> None:
    """Output that does not fit goes to the pager completely, in color."""
    assert _shown(PAGER="./pager") == "paged\n"
    paged = Path("paged.txt").read_text("utf-8")
    assert paged.count("── ") == 5
    assert "\x1b[32mit is \x1b[0m" in paged


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (["-n", "1"], {"PAGER": "./pager"}),
        (["--no-pager"], {"PAGER": "./pager"}),
        ([], {"PAGER": ""}),
        ([], {"PAGER": "cat"}),
        ([], {"PAGER": "./nothing-of-this-name"}),
        ([], {"PAGER": "'"}),
        ([], {"PAGER": "./pager", "TERM": "dumb"}),
    ],
)
def test_no_pager(words: list[str], env: dict[str, Any]) -> None:
    """No pager if everything fits, if it is switched off, or if there is none."""
    shown = _shown(*words, **env)
    assert "it is" in shown.replace("\x1b[32m", "")
    assert "paged" not in shown
    assert not Path("paged.txt").exists()


@pytest.mark.parametrize(("lines", "paged"), [(10, True), (9, True), (12, False)])
def test_what_fits(lines: int, paged: bool) -> None:
    """A pair of ten rows fits if there is one more for the shell's prompt."""
    assert ("paged" in _shown("-n", "1", size=(100, lines), PAGER="./pager")) is paged


def test_arguments_of_the_pager() -> None:
    """$PAGER may have options; it is not run by a shell."""
    Path("pager").write_text('#!/bin/sh\ncat > /dev/null; echo "$# $1 $2"\n', "utf-8")
    assert _shown(PAGER="./pager 'a  b' $(id)") == "2 a  b $(id)\n"


@pytest.mark.parametrize(("env", "told"), [({"unset": "LESS"}, "FRX"), ({"LESS": "S"}, "S")])
def test_less_lets_colours_through(env: dict[str, Any], told: str) -> None:
    """$LESS is set to pass colors through, unless the user has set it."""
    Path("pager").write_text('#!/bin/sh\ncat > /dev/null; echo "$LESS"\n', "utf-8")
    assert _shown(PAGER="./pager", **env) == f"{told}\n"


def test_less_by_itself() -> None:
    """The default pager is less if $PAGER is not set."""
    Path("less").write_text('#!/bin/sh\ncat > /dev/null; echo "less $*"\n', "utf-8")
    Path("less").chmod(0o755)
    assert _shown(unset="PAGER", PATH=f".:{os.environ['PATH']}") == "less -R\n"


def test_a_pager_that_is_left_early() -> None:
    """Leaving the pager early is a success, like any closed pipe."""
    Path("p.jsonl").write_text(
        "".join(
            f"{json.dumps({'prompt': 'Q', 'chosen': f'{n} yes ' * 5000, 'rejected': 'no'})}\n"
            for n in range(20)
        ),
        "utf-8",
    )
    assert _shown("-n", "20", PAGER="true") == ""


def test_an_error_comes_after_what_was_shown() -> None:
    """An error is printed after the output, with a pager or without."""
    shown = _shown("--id", "00000000", code=3, PAGER="./pager")
    assert shown.endswith("error: there is no pair 00000000\n\nhint: ids name the content, and "
                          "change with it; `jq -r .id` lists those of a file\n")  # fmt: skip
    with open("p.jsonl", "a") as file:
        file.write("{oops\n")
    assert "error: p.jsonl:10: not JSON" in _shown("-n", "10", code=1, PAGER="./pager")


def test_interrupts_are_for_the_pager() -> None:
    """Ctrl-C is left to the pager."""
    Path("pager").write_text(
        "#!/bin/sh\ntrap 'echo caught' INT\ncat > /dev/null\ntouch ready\n"
        "while [ ! -e go ]; do sleep 0.05; done\n",
        "utf-8",
    )
    process, ours = _start(["show", "p.jsonl"], {"PAGER": "./pager"}, (100, 24))
    deadline = time.monotonic() + 20
    while not Path("ready").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert process.poll() is None
    Path("go").touch()
    _read(ours)
    assert process.wait(timeout=20) == 0
