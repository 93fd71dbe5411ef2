"""The completions for a command line."""

import pytest

from prefpairs.cli.completer import completed
from prefpairs.cli.main import COMMANDS
from prefpairs.reasons import ALL, SWITCHABLE
from prefpairs.sources import SOURCES
from prefpairs.strategies import STRATEGIES
from prefpairs.targets import PAIR_FORMATS, TARGETS


def _words(typed: str, *, cut_at_equals: bool = False) -> list[str]:
    answer = completed(typed.split(" "), cut_at_equals=cut_at_equals)
    assert answer.names == "none"
    return [*answer.words]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", [*COMMANDS]),
        ("p", ["pair"]),
        ("help sp", ["split"]),
        ("--", ["--help", "--version"]),
        ("nonsense --", []),
        ("pair --min", ["--min-gap", "--min-chosen-score"]),
        ("pair --min_", ["--min_gap", "--min_chosen_score"]),
        ("pair --help", ["--help"]),
        ("pair --strategy s", ["same-prompt", "stratified", "sweet-spot"]),
        ("pair --strategy same_", ["same_prompt"]),
        ("pair --strategy best", ["best-vs-worst", "best-vs-rest"]),
        ("pair --from ", ["auto", *SOURCES]),
        ("dedupe --from ", ["auto", *PAIR_FORMATS]),
        ("stats --from ", [*dict.fromkeys(["pairs", "auto", *PAIR_FORMATS, *SOURCES])]),
        ("export --to ", [*TARGETS]),
        ("validate --to=o", ["--to=openai", "--to=openrlhf"]),
        ("pair --on-error ", ["fail", "skip", "quarantine"]),
        ("pair --on_error=sk", ["--on_error=skip"]),
        ("pair --group-by ", ["auto", "prompt", "file"]),
        ("pair --keep-rows ", [*SWITCHABLE]),
        ("pair --keep-rows masked,no_s", ["masked,no_score"]),
        ("pair --host ", ["azure", "together", "fireworks", "openai"]),
        ("explain ", [*ALL]),
        ("explain no_sc", ["no_score"]),
        ("formats --schema p", ["pair"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("sample --order h", ["hard-first"]),
        ("pair --min-gap ", []),
        ("pair --score re", []),
        ("pair --nonsense=", []),
        ("verify manifest.json ", []),
        ("verify -- manifest.json ", []),
    ],
)
def test_words(typed: str, words: list[str]) -> None:
    """Completes commands, options and values, with `-` or `_` as typed."""
    assert _words(typed) == words


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("pair ", "files"),
        ("pair --quiet rows", "files"),
        ("pair --min-gap 0.2 rows", "files"),
        ("pair --min-gap=0.2 rows", "files"),
        ("pair rows.jsonl ", "files"),
        ("pair - ", "files"),
        ("pair -o ", "files"),
        ("pair --output=", "files"),
        ("pair -- --quiet", "files"),
        ("dedupe --against ", "files"),
        ("run ", "files"),
        ("verify ", "files"),
        ("diff ", "files"),
        ("diff a.jsonl ", "files"),
        ("rehearse ", "files"),
        ("validate --to trl ", "files"),
        ("pair --out-dir ", "folders"),
        ("pair --temp_dir ", "folders"),
    ],
)
def test_names(typed: str, names: str) -> None:
    """File names are left to the shell."""
    assert completed(typed.split(" ")) == ({}, names)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("pair --on-error =", ["fail", "skip", "quarantine"]),
        ("pair --on-error = sk", ["skip"]),
        ("pair --on-error = skip --qui", ["--quiet"]),
        ("pair --keep-rows = masked,no_s", ["masked,no_score"]),
    ],
)
def test_words_cut_at_equals(typed: str, words: list[str]) -> None:
    """Bash splits `--option=value` into three words and wants completions of the last."""
    assert _words(typed, cut_at_equals=True) == words


def test_options_are_given_once() -> None:
    """Options are offered once, unless they can be repeated."""
    words = _words("pair --quiet --min_gap 1 --score a --summary=x -o y --")
    given = {"--quiet", "--min-gap", "--summary", "--output"}
    assert given.isdisjoint(words)
    assert "--score" in words


def test_what_is_said_of_them() -> None:
    """Each completion has a one-line description, as in help and in `formats`."""
    assert completed(["pair", "--min-g"]).words == {"--min-gap": "Minimum score difference."}
    assert completed(["pair", "--strategy", "random"]).words == {"random": STRATEGIES["random"]}


def test_nothing_typed_at_all() -> None:
    """No words are completed like one empty word."""
    assert [*completed([]).words] == [*COMMANDS]
