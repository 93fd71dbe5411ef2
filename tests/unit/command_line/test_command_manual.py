"""What can be typed: options, help texts and examples."""

import shlex

import pytest

from prefpairs.cli.command_docs import EVERYWHERE, manual_of, options_of_command, panels_of
from prefpairs.cli.main import COMMANDS
from prefpairs.option import Option

LONGEST = 77
"""Help indents examples by two, and a terminal has 80 columns."""


def _word(command: str, name: str) -> Option:
    return next(word for word in options_of_command(command) if name in (*word.names, word.metavar))


def test_option() -> None:
    """An option has names, a metavar, a help text and a panel."""
    word = _word("sample", "--limit")
    assert (word.names, word.metavar, word.spelling) == (("-n", "--limit"), "N", "--limit N")
    assert (word.help, word.panel, word.repeated) == (
        "Read only the first N rows.",
        "Input",
        False,
    )


def test_flag() -> None:
    """A flag takes no value."""
    assert _word("pair", "--quiet").spelling == "--quiet"


def test_argument() -> None:
    """An argument has no name."""
    word = _word("verify", "MANIFEST")
    assert (word.names, word.spelling, word.is_required) == ((), "MANIFEST", True)


@pytest.mark.parametrize(
    ("command", "name", "default"),
    [
        ("pair", "--min-gap", "0"),
        ("pair", "--high-threshold", "0.7"),
        ("pair", "--seed", "0"),
        ("pair", "--strategy", "same_prompt"),
        ("pair", "--max-gap", None),
        ("pair", "--quiet", None),
        ("pair", "--output", None),
        ("pair", "--to", None),
        ("export", "--to", None),
    ],
)
def test_default(command: str, name: str, default: str | None) -> None:
    """Zero is shown as a default; None, "no" and standard output are not."""
    assert _word(command, name).told_default == default


@pytest.mark.parametrize(
    ("name", "bounds"),
    [("--fraction", "0 to 1"), ("--max-pairs", "1 or more"), ("--order", None)],
)
def test_bounds(name: str, bounds: str | None) -> None:
    """The bounds of a number are shown."""
    assert _word("sample", name).bounds == bounds


def test_order_of_panels() -> None:
    """A command's own options come before those that all commands have."""
    assert [*panels_of("pair")] == [
        "Arguments",
        "Input",
        "Pairing",
        "Export",
        "Tokens",
        "Output",
        "Execution",
        "Bad rows and limits",
    ]


def test_order_within_panels() -> None:
    """Required options come first, then those with a letter, then flags with a letter."""
    written = [word.spelling for word in panels_of("pair")["Output"]]
    assert written[:3] == ["--output FILE", "--quiet", "--summary FILE"]
    assert panels_of("validate")["Trainer"][0].spelling == "--to TARGET"
    assert panels_of("pair")["Export"][0].spelling == "--to TARGET"


def test_manual() -> None:
    """Paragraphs are wrapped; examples stay as they are."""
    manual = manual_of("verify")
    assert manual.paragraphs[0] == "Check files against a manifest."
    assert manual.paragraphs[1].endswith("or if the manifest lists none.")
    assert manual.examples[0] == "prefpairs verify data/manifest.json"
    assert manual.examples[1].startswith("# train only if the data is unchanged")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_that_fits(command: str) -> None:
    """Every command has an example that fits an 80-column terminal."""
    lines = [line for block in manual_of(command).examples for line in block.splitlines()]
    assert any(line.startswith(f"prefpairs {command}") for line in lines)
    assert [line for line in lines if len(line) > LONGEST] == []


def _commands_in(line: str) -> list[list[str]]:
    """The words of each run of the program in a line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    parts: list[list[str]] = [[]]
    for token in lexer:
        if set(token) <= {*"|&;"}:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part[1:] for part in parts if part[:1] == ["prefpairs"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_use_existing_options(command: str) -> None:
    """Each option in an example is an option of its command."""
    lines = [line for block in manual_of(command).examples for line in block.splitlines()]
    runs = [run for line in lines if not line.startswith("#") for run in _commands_in(line)]
    for name, *words in runs:
        known = {*EVERYWHERE, *(name for word in options_of_command(name) for name in word.names)}
        assert {word for word in words if word.startswith("-")} <= {"-", *known}, (name, words)
    assert command in [name for name, *_ in runs]


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {"formats", "explain", "completion"}))
def test_every_command_says_what_memory_it_takes(command: str) -> None:
    """The help of every command has a Memory line."""
    assert any(text.startswith("Memory: ") for text in manual_of(command).paragraphs)
