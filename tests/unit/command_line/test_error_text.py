"""Exceptions become error messages."""

from typing import Any

import pytest

from prefpairs import errors
from prefpairs.cli.terminal.error_text import error_sentences, write_error
from prefpairs.cli.terminal.safe_text import plural, printable

LEAVE_OUT = (
    "leave out bad rows with --on-error skip, "
    "or save them with --on-error quarantine --quarantine FILE"
)


def _bad(*first: errors.BadRecord, count: int | None = None) -> errors.BadRecords:
    places = [(f"r.jsonl:{number}", error) for number, error in enumerate(first, 1)]
    return errors.BadRecords(count or len(first), places)


def test_bad_rows_of_several_kinds() -> None:
    """Bad rows of one kind are listed together, with the number of further ones."""
    first = [
        ("a:1", errors.NotJson("not JSON: x")),
        ("a:2", errors.BadField("score", [1], "a number")),
        ("a:3", errors.NotJson("not JSON: y")),
    ]
    kinds = {"not_json": 1002, "score: a number": 1}
    error = errors.BadRecords(1005, first, kinds, "0.5%")
    error.partly_written = True
    assert error_sentences(error)[0] == [
        "a:1: not JSON: x",
        "a:3: not JSON: y",
        "... and 1,000 more like these",
        "a:2: score is [1], expected a number",
        "... and 2 more",
        "1,005 bad rows, more than --max-errors 0.5% allows, the output is incomplete",
    ]


@pytest.mark.parametrize(
    ("error", "sentences", "hint"),
    [
        (errors.BadInput("r.gz", "it is cut"), ["r.gz: it is cut"], None),
        (
            errors.InputChanged("r.jsonl"),
            ["r.jsonl changed while it was being read"],
            "run the command again once nothing writes to the file",
        ),
        (
            errors.UnknownWord("source", "nemogym", ["auto", "nemo-gym"]),
            ["unknown source: nemogym"],
            "did you mean nemo-gym?",
        ),
        (
            errors.UnknownWord("source", "zzz", ["auto", "nat"]),
            ["unknown source: zzz"],
            "one of auto, nat",
        ),
        (errors.UnknownWord("source", "zzz", []), ["unknown source: zzz"], None),
        (errors.NotThere("pair"), ["there is no pair to show"], None),
        (errors.NotThere("group", ["a\x1b"], "look"), ["there is no group a\\x1b"], "look"),
        (
            errors.NotThere("pair", list("abcdefg")),
            [*(f"there is no pair {name}" for name in "abcde"), "... and 2 more that do not exist"],
            None,
        ),
        (
            errors.NoSuchPath("--score", "scores.judge", ["score", "score.judge"]),
            ["--score scores.judge: no row has this field"],
            "did you mean score.judge?",
        ),
        (
            errors.TooManyPairs(25_000_000, 10_000_000),
            ["this would write 25,000,000 pairs; the limit is 10,000,000"],
            ("limit them with --max-pairs-per-group or --rejected-per-chosen, or use --yes-all"),
        ),
        (errors.UsageError("a and b", "give one"), ["a and b"], "give one"),
        (
            errors.NothingCameOut("pair", "3 groups"),
            ["the result has no pairs, so nothing was written"],
            "3 groups",
        ),
        (errors.FileError("o.jsonl", "disk full"), ["o.jsonl: disk full"], None),
        (
            errors.GateNotMet("pairs>=5000\x1b", 1234),
            ["--require pairs>=5000\\x1b is not met: the value is 1,234"],
            "the summary shows what was dropped and why",
        ),
        (
            errors.GateNotMet("gap.mean>=0.5", 0.25),
            ["--require gap.mean>=0.5 is not met: the value is 0.25"],
            "the summary shows what was dropped and why",
        ),
        (
            errors.GateNotMet("mean_chosen_score>0", None),
            ["--require mean_chosen_score>0 is not met: the value is unknown"],
            "the summary shows what was dropped and why",
        ),
        (
            errors.FilesDiffer("m.json", ["input a\x1b is missing", "output b has other bytes"]),
            ["input a\\x1b is missing", "output b has other bytes"],
            None,
        ),
        (
            ValueError("odd\x1b"),
            ["ValueError: odd\\x1b"],
            "this is a bug in prefpairs; please report it with the command and the input",
        ),
    ],
)
def test_errors(error: Exception, sentences: list[str], hint: str | None) -> None:
    """Each exception has its message and its hint."""
    assert error_sentences(error) == (sentences, hint)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (errors.UsageError("a and b"), "r\\x1b.toml:7: a and b"),
        (errors.UnknownWord("strategy", "x", []), "r\\x1b.toml:7: unknown strategy: x"),
        (errors.NoSuchPath("--score", "x", []), "r\\x1b.toml:7: --score x: no row has this field"),
        (
            errors.TooManyPairs(2, 1),
            "r\\x1b.toml:7: this would write 2 pairs; the limit is 1",
        ),
    ],
)
def test_line_of_options(error: errors.UsageError, sentence: str) -> None:
    """Keys of a recipe are reported with their line, options without."""
    plain, hint = error_sentences(error)
    error.place = "r\x1b.toml:7"
    assert error_sentences(error) == ([sentence], hint)
    assert sentence.endswith(plain[0])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0.7", '"0.7"'),
        (None, "null"),
        ([1, "é"], '[1, "\\u00e9"]'),
        ("\x1b[31m", '"\\u001b[31m"'),
        ("x" * 100, '"' + "x" * 59 + "..."),
    ],
)
def test_value_of_a_bad_field(value: Any, shown: str) -> None:
    """A bad value is shown as JSON, truncated, without control characters."""
    sentences, _ = error_sentences(_bad(errors.BadField("score", value, "a number")))
    assert sentences[0] == f"r.jsonl:1: score is {shown}, expected a number"


def test_bad_rows() -> None:
    """Shows the first few bad rows, the number of others, and the consequence."""
    sentences, _ = error_sentences(_bad(errors.NotJson("not JSON"), count=1234))
    assert sentences == [
        "r.jsonl:1: not JSON",
        "... and 1,233 more",
        "1,234 bad rows, so nothing was written",
    ]


def test_bad_rows_after_something_was_written() -> None:
    """If rows were already written to standard output, the message says so."""
    bad = _bad(errors.NotJson("not JSON"))
    bad.partly_written = True
    sentences, _ = error_sentences(bad)
    assert sentences[-1] == "1 bad row, the output is incomplete"


def test_trouble_of_the_system() -> None:
    """An OSError shows the system's message, not a bug report."""
    assert error_sentences(OSError(28, "No space left on device")) == (
        ["No space left on device"],
        None,
    )


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (errors.NotJson("x", "lfs_pointer"), "fetch the file with `git lfs pull`"),
        (
            errors.NotJson("x", "pretty_printed"),
            "write one JSON value per line with `jq -c .`",
        ),
        (
            errors.NotJson("x", "unfinished"),
            "is the file still being written? --on-error skip leaves out incomplete rows",
        ),
        (
            errors.BadField("s", "0.7", "a number"),
            "--cast-score reads numbers written as text",
        ),
        (
            errors.BadField("s", "true", "a number"),
            "--cast-score reads numbers written as text",
        ),
        (
            errors.BadField("s", "1_0", "a number"),
            LEAVE_OUT,
        ),
        (
            errors.BadField("s", "high", "a number"),
            LEAVE_OUT,
        ),
        (
            errors.BadField("chosen", None, "text or a list of messages"),
            LEAVE_OUT,
        ),
        (
            errors.BadField("chosen", 7, "text or a list of messages"),
            LEAVE_OUT,
        ),
        (
            errors.BadField("s", [1], "a number"),
            LEAVE_OUT,
        ),
        (
            errors.NotJson("x"),
            LEAVE_OUT,
        ),
    ],
)
def test_hint_of_bad_rows(error: errors.BadRecord, hint: str) -> None:
    """The hint depends on the first few bad rows."""
    assert error_sentences(_bad(error))[1] == hint


def test_hint_of_any_of_the_first_few() -> None:
    """The hint may come from any of the first few rows."""
    bad = _bad(errors.NotJson("x"), errors.NotJson("x", "unfinished"))
    assert (error_sentences(bad)[1] or "").startswith("is the file still being written?")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain é \U0001f600", "plain é \U0001f600"),
        ("red \x1b[31m", "red \\x1b[31m"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("\u202eevil\u2069", "\\u202eevil\\u2069"),
        ("odd\udcff.jsonl", "odd\\xff.jsonl"),
    ],
)
def test_visible(text: str, seen: str) -> None:
    """Control characters are escaped."""
    assert printable(text) == seen


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 pairs"), (1, "1 pair"), (2, "2 pairs"), (1_234_567, "1,234,567 pairs")],
)
def test_plural(count: int, said: str) -> None:
    """One is singular, everything else is plural."""
    assert plural(count, "pair") == said


def test_write_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Messages, an empty line and the hint go to standard error."""
    write_error(errors.UsageError("a and b", "give one"))
    write_error(errors.FileError("o", "full"))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (
        "",
        "error: a and b\n\nhint: give one\nerror: o: full\n",
    )


@pytest.mark.parametrize(
    "error",
    [
        errors.BadInput("m.json", "no manifest: \x1b[31m"),
        errors.BadInput("m.json", "no manifest", "\x1b[31m"),
        errors.FileError("o.jsonl", "there is no directory \x1b[31m"),
        errors.ReadsAsDates("the output", "meta.\x1b[31m"),
        errors.WouldBeLost(1, 1, "trl", ["\x1b[31m"]),
        _bad(errors.BadField("a", 1, "what meta.\x1b[31m says")),
        _bad(errors.BadField("a", "\x7f", "a number")),
        errors.UsageError("?").at("\x1b[31m:1"),
    ],
)
def test_nothing_that_is_cited_steers_a_terminal(error: Exception) -> None:
    """File names, keys of rows and messages of libraries are escaped."""
    sentences, hint = error_sentences(error)
    for text in (*sentences, hint or ""):
        assert text == printable(text)
