"""Help texts on a terminal."""

import os
import pty
import subprocess
import sys

import pytest

from prefpairs.cli.main import COMMANDS
from prefpairs.cli.terminal.help import GROUPS, Page, Paint, help_of, help_text, usage_of

PLAIN = Paint(colours=False)


def test_every_command_is_listed_once() -> None:
    """Every command is listed once, in one of the groups."""
    lines = help_text(100, PLAIN).splitlines()
    told = [line.split()[0] for line in lines if line.startswith("  ") and line[2:3].isalpha()]
    assert sorted(name for name in told if name in COMMANDS) == sorted(COMMANDS)


def test_groups_hold_commands() -> None:
    """Groups contain only commands."""
    assert {name for names in GROUPS.values() for name in names} <= {*COMMANDS}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("width", [59, 79, 100])
def test_nothing_is_cut_or_too_wide(command: str, width: int) -> None:
    """Every line fits, except examples, which stay as typed, and long option names."""
    text, _, _ = help_of(command, width, PLAIN).partition("\nExamples\n")
    assert [line for line in text.splitlines() if len(line) > width] == []
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_usage() -> None:
    """The usage line shows required arguments."""
    assert usage_of("export") == "prefpairs export --to TARGET [OPTIONS] [INPUT]..."
    assert usage_of("verify") == "prefpairs verify MANIFEST"
    assert usage_of("run") == "prefpairs run [OPTIONS] [RECIPE.toml]"


def test_table() -> None:
    """Descriptions are next to the word, or below it if it is too long."""
    page = Page(20, PLAIN)
    page.table("T", [("-a", "one two three"), ("--long-word", "four")], column=8)
    assert page.text() == "T\n  -a    one two\n        three\n  --long-word\n        four\n"


def test_narrow_table() -> None:
    """If there is no space next to words, all descriptions are below."""
    page = Page(24, PLAIN)
    page.table("T", [("--longer-word", "one two three")], column=17)
    assert page.text() == "T\n  --longer-word\n          one two three\n"


def test_colours() -> None:
    """Titles, words and comments in examples have colors; these do not count as width."""
    page = Page(40, Paint(colours=True))
    page.table("T", [("-a", "one")])
    page.examples(["# why\nprefpairs"])
    assert page.text() == (
        "\x1b[1mT\x1b[0m\n  \x1b[36m-a\x1b[0m  one\n\n"
        "\x1b[1mExamples\x1b[0m\n  \x1b[2m# why\x1b[0m\n  prefpairs\n"
    )


@pytest.mark.parametrize("words", [[], ["--help"], ["help"], ["-h"]])
def test_ways_to_ask(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """All ways to ask for help give the same plain text on standard output."""
    from prefpairs.cli.main import main

    assert main(words or ["--help"]) == 0
    out, err = capfd.readouterr()
    assert (out.splitlines()[0], err) == ("Usage: prefpairs COMMAND [OPTIONS] [INPUT]...", "")
    assert "\x1b" not in out


@pytest.mark.parametrize(
    "words",
    [["pair", "--help"], ["help", "pair"], ["pair", "-h"], ["pair", "--no-such", "x", "--help"]],
)
def test_ways_to_ask_for_a_command(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """All ways to ask for a command's help work, whatever else was typed."""
    from prefpairs.cli.main import main

    assert main(words) == 0
    assert capfd.readouterr().out.startswith("Usage: prefpairs pair [OPTIONS] [INPUT]...\n")


def test_help_behind_two_dashes_is_a_file(capfd: pytest.CaptureFixture[str]) -> None:
    """After `--`, help is a file name."""
    from prefpairs.cli.main import main

    assert main(["pair", "--", "--help"]) == 5
    assert capfd.readouterr().err.startswith("error: --help: no such file\n")


@pytest.mark.parametrize(
    ("settings", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_colours_on_a_terminal(settings: dict[str, str], coloured: bool) -> None:
    """Colors are used on a terminal if they are wanted, and nowhere else."""
    ours, theirs = pty.openpty()
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    subprocess.run(
        [sys.executable, "-m", "prefpairs", "explain", "--help"],
        stdout=theirs,
        env={**kept, **settings},
        check=True,
    )
    os.close(theirs)
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert (b"\x1b" in shown) == coloured
