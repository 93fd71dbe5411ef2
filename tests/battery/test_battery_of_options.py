"""The battery for options: every option of every command with invalid values.

The list of options comes from the program, so new options are covered automatically. The
program runs in this process, thousands of times.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from prefpairs.cli.command_docs import options_of_command
from prefpairs.cli.main import COMMANDS, main
from prefpairs.option import Option

WORKING = {
    "extract": ["rollouts.jsonl"],
    "pair": ["rollouts.jsonl"],
    "dedupe": ["pairs.jsonl"],
    "filter": ["pairs.jsonl", "--max-prompt-chars", "99"],
    "sample": ["pairs.jsonl", "--order", "shuffle"],
    "split": ["pairs.jsonl", "--out-dir", "split"],
    "export": ["pairs.jsonl", "--to", "trl"],
    "validate": ["dataset.jsonl", "--to", "trl"],
    "rehearse": ["dataset.jsonl"],
    "submit": [
        *("customizer", "data", "--dry-run", "--entity-host", "http://nmp.example"),
        *("--datastore-host", "http://store.example", "--namespace", "games"),
        *("--customization-config", "meta/llama"),
    ],
    "run": ["recipe.toml"],
    "verify": ["manifest.json"],
    "shards": ["finish", "."],
    "stats": ["rollouts.jsonl"],
    "report": ["rollouts.jsonl", "-o", "page.html"],
    "show": ["rollouts.jsonl", "--group", "prompt:"],
    "diff": ["pairs.jsonl", "other.jsonl"],
    "formats": [],
    "explain": ["no_score"],
    "completion": ["bash"],
}
"""Arguments with which each command has something to do; the option under test replaces its own."""

KINDS = ("SOURCE", "FORMAT", "KIND", "TARGET", "STRATEGY", "REASON,...", "FIELD,...", "RECORD")
"""A valid value for options that take a list. Fixed lists are spelled out: keep|drop."""

OF_ROWS = ("PATH", "PATH,...", "PATH[:WEIGHT]", "COLUMN,...")
"""Placeholders for field names. Fields that no row has are reported as missing."""


class Tried(NamedTuple):
    """An option of a command."""

    command: str
    word: Option

    @property
    def name(self) -> str:
        """Its long form."""
        return self.word.names[-1]

    @property
    def is_number(self) -> bool:
        """Whether its value is a number instead of text."""
        return self.word.number is not None

    def line(self, *values: str) -> list[str]:
        """The command line with these values."""
        typed = [word for value in values for word in (self.name, value)]
        return [self.command, *self._others(), *typed]

    def _others(self) -> list[str]:
        """The arguments that the command needs, without this option."""
        words = WORKING[self.command]
        place = next((words.index(name) for name in self.word.names if name in words), len(words))
        return [*words[:place], *words[place + 2 :]]


def options() -> Iterator[Tried]:
    """Every option with a value, of every command."""
    for command in COMMANDS:
        for word in options_of_command(command):
            if word.names and word.metavar:
                yield Tried(command, word)


OPTIONS = [*options()]


def every(*given: Tried) -> pytest.MarkDecorator:
    """Run the test for each of these options."""
    ids = [f"{option.command} {option.name}" for option in given]
    return pytest.mark.parametrize("option", given, ids=ids)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with input for every command."""
    place = tmp_path_factory.mktemp("options")
    before = Path.cwd()
    os.chdir(place)
    rollouts = [
        {"prompt": "Question?", "response": f"answer {number}", "score": number % 2 / 2}
        for number in range(8)
    ]
    pairs = [
        {
            "prompt": f"Question {number}?",
            "chosen": "yes, of course",
            "rejected": "no",
            "chosen_score": 1.0,
            "rejected_score": 0.0,
        }
        for number in range(8)
    ]
    for name, rows in (("rollouts", rollouts), ("pairs", pairs), ("other", pairs[:4])):
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Path("recipe.toml").write_text(
        '[read]\ninputs = "rollouts.jsonl"\n[pair]\n[write]\noutput = "made.jsonl"\n'
    )
    assert main(["export", "-q", "--to", "trl", "pairs.jsonl", "-o", "dataset.jsonl"]) == 0
    assert main(["export", "-q", "--to", "customizer", "pairs.jsonl", "--out-dir", "data"]) == 0
    assert main(["run", "-q", "recipe.toml"]) == 0
    yield place
    os.chdir(before)


class Said(NamedTuple):
    """The outcome of a command."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """Its error lines."""
        return [line for line in self.err.splitlines() if line.startswith("error: ")]


@pytest.fixture
def run(folder: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    """Run the program in the folder with empty standard input."""
    assert Path.cwd() == folder

    def ran(*words: str) -> Said:
        with open(os.devnull, "rb") as nothing:
            before = os.dup(0)
            os.dup2(nothing.fileno(), 0)
            try:
                code = main([*words])
            finally:
                os.dup2(before, 0)
                os.close(before)
        return Said(code, *capfd.readouterr())

    return ran


def refused(said: Said, option: Tried) -> None:
    """Exits 2 with a single error that names the option as it was typed."""
    assert said.code == 2, said
    assert len(said.errors) == 1, said
    assert option.name in said.errors[0]


def test_every_command_has_valid_arguments(run: Any) -> None:
    """WORKING has valid arguments for every command, or the tests below would show little.

    The trainer's library that a rehearsal needs may be missing.
    """
    assert WORKING.keys() == COMMANDS.keys()
    for command, words in WORKING.items():
        said = run(command, *words)
        assert said.code == 0 or "a library that is not installed" in said.err, (command, said)


@every(*OPTIONS)
def test_a_value_that_is_empty(option: Tried, run: Any) -> None:
    """Rejects empty values, as an unset shell variable gives them, and lists without elements."""
    values = ["", " ", "\t"]
    if option.word.metavar.endswith(",..."):
        values += [",", " , "]
    for value in values:
        refused(run(*option.line(value)), option)


@every(*(option for option in OPTIONS if not option.word.repeated))
def test_two_values_where_one_is_meant(option: Tried, run: Any) -> None:
    """Rejects an option given twice under any of its names; both values are named."""
    least, most = option.word.least, option.word.most
    smaller = max(least or 0, 0 if most == 1 else 2)
    one, other = (f"{smaller:g}", f"{smaller + (0.5 if most == 1 else 1):g}")
    if not option.is_number:
        one, other = "that one", "another"
    shown = f"{one!r} and {other}" if " " in one else f"{one} and {other}"
    underscored = "--" + option.name.removeprefix("--").replace("-", "_")
    for name in (*option.word.names, underscored):
        said = run(*option.line(one), name, other)
        refused(said, option)
        assert f" takes one value, and here are 2: {shown}" in said.errors[0]
    refused(run(*option.line(one, other, one)), option)
    refused(run(*option.line(other), f"{option.name}={other}"), option)


@every(*(option for option in OPTIONS if option.word.repeated))
def test_lists_may_be_given_twice(option: Tried, run: Any) -> None:
    """Options that take a list may be repeated; any other error is allowed here."""
    assert "takes one value" not in run(*option.line("one", "two")).err


@every(*(option for option in OPTIONS if option.is_number))
def test_invalid_numbers(option: Tried, run: Any) -> None:
    """Rejects words, other number notations and numbers beyond every bound."""
    values = ["one", "1,5", "0x10", "nan", "NaN", "inf", "-inf", "1e999", "--quiet"]
    if option.word.least is not None:
        values += [f"{option.word.least - 1:g}", "-" + "1" * 400, "1" * 400]
    if option.word.most is not None:
        values.append(f"{option.word.most * 2 + 1:g}")
    for value in values:
        refused(run(*option.line(value)), option)


def _is_list(option: Tried) -> bool:
    words = option.word.metavar.split("|")
    return option.word.metavar in KINDS or (
        len(words) > 1 and all(re.fullmatch("[a-z-]+", word) for word in words)
    )


@every(*(option for option in OPTIONS if _is_list(option)))
def test_a_word_that_is_not_in_the_list(option: Tried, run: Any) -> None:
    """The hint lists the allowed words or suggests a similar one."""
    for value in ("nosuchword", "-", "0", "\udce9", "a" * 5000):
        said = run(*option.line(value))
        refused(said, option)
        if "unknown" in said.errors[0]:  # otherwise it says that the option requires another one
            assert "\nhint: " in said.err


@every(*(option for option in OPTIONS if option.word.metavar in OF_ROWS))
def test_a_field_that_no_row_has(option: Tried, run: Any) -> None:
    """A field that no row has is an error or a note; it is not silently ignored."""
    page = Path("page.html")
    page.unlink(missing_ok=True)
    said = run(*option.line("nosuchfield"))
    of_files = option.name == "--rows"  # a file without such a list is bad input
    assert said.code in ((1,) if of_files else (0, 2))
    told = said.out + said.err + (page.read_text() if page.exists() else "")
    assert f"{option.name} nosuchfield: " in told or option.name in "".join(said.errors)


ODD = ["0", "1", "9223372036854775807", "-1", "1" * 400, "-", ".", "/", "\udce9", "\u00e9" * 3000]
ODD += ["nosuchword", "no/such/file", "a=b", "a:b", "%s", "{}", "*", "--", "--quiet", "\x1b[31m"]


@every(*OPTIONS)
@pytest.mark.parametrize(
    "values",
    [
        pytest.param(ODD[::2], id="some"),
        pytest.param(ODD[1::2], id="others", marks=pytest.mark.stress),
    ],
)
def test_whatever_the_value(option: Tried, values: list[str], run: Any) -> None:
    """Whatever the value, there is no traceback, and a failure always has an error message."""
    for value in values:
        said = run(*option.line(value))
        assert said.code in (0, 1, 2, 3, 4, 5), (value, said)
        assert "Traceback" not in said.err
        assert "\x1b" not in said.err
        assert bool(said.errors) == bool(said.code), (value, said)


@pytest.mark.parametrize(
    "line",
    [
        "pair --min-gap 0.5 --max-gap 0.4",
        "pair --high-threshold 0.9",
        "pair --low-threshold 0.1",
        "pair --strategy stratified --low-threshold 0.8",
        "pair --across-prompts",
        "pair --strategy stratified --across-prompts --max-pairs-per-group 2",
        "pair --rejected-per-chosen 2",
        "pair --assume-grouped --order key",
        "pair --out-dir made",
        "pair --turns all",
        "pair --to trl --out-dir made -o made.jsonl",
        "pair --quarantine bad.jsonl",
        "pair --on-error quarantine",
        "pair --max-errors 3",
        "pair --lower-is-better --keep-rows no_score",
        "pair --score score --score score:2",
        "pair --to trl --pad-to 3",
        "pair --temp-dir nosuch",
        "filter --max-tokens 3",
        "filter --min-gap 0.5 --max-gap 0.4",
        "dedupe --against-field a",
        "dedupe --near-on chosen",
        "split --val-fraction 0.6 --test-fraction 0.6",
        "split --out-dir -",
        "export --to trl --host azure",
        "export --to openai --template x",
        "export --to openai --text",
        "export --to trl --release 0.5",
        "export --to nemo-rl --reasoning-as field",
        "export --to tokens --keep-end",
        "validate --to trl --max-tokens 3",
        "validate --to trl --template x",
        "stats --json --markdown",
        "show --id abcd --random",
        "show --seed 3",
        "show --group a --across-prompts",
        "diff --ids lost --json",
        "run --set pair.min_gap=1 --set pair.min-gap=2",
        "run --set pair.min_gap=1 --set pair.max_gap=0.5",
        "run --set pair.prompt=a",
    ],
)
def test_options_that_contradict_each_other(line: str, run: Any) -> None:
    """Contradictory options exit 2 before anything is written; the error names one of them."""
    command, *words = line.split()
    inputs = [word for word in WORKING[command] if word.endswith((".jsonl", ".toml"))]
    before = sorted(os.listdir())
    said = run(command, *inputs, *words)
    assert said.code == 2, said
    assert len(said.errors) == 1
    typed = [word for word in words if word.startswith("-")]
    settings = [word.partition("=")[0].replace("pair.", "--") for word in words if "=" in word]
    named = [name for name in (*typed, *settings) if name.replace("_", "-") in said.errors[0]]
    assert named, said
    assert sorted(os.listdir()) == before


def test_no_option_has_a_counterpart() -> None:
    """No flag has a --no- counterpart, because giving both would have to be rejected."""
    for command in COMMANDS:
        names = [name for word in options_of_command(command) for name in word.names]
        assert not {f"--no-{name.removeprefix('--')}" for name in names} & {*names}
