"""Options are declared once, as dataclass fields."""

from typing import Any

import pytest

from prefpairs.errors import UnknownWord, UsageError
from prefpairs.option import (
    REQUIRED,
    argument,
    filled,
    flag,
    given_options,
    one_of,
    option,
    options,
    options_in,
    split_words,
)


@options
class Box:
    """A group of options."""

    inputs: list[str] | None = argument(None, metavar="[INPUT]...", help="Files.")
    width: int = option(1, "-w", "--width", metavar="N", least=0, most=9, help="How wide.")
    min_gap: float | None = option(None, metavar="GAP", panel="Gaps", help="Least gap.")
    red: bool = flag(help="Painted.")


@options
class Wide(Box):
    """A group with another default."""

    width: int = option(3, metavar="N", help="How wide.")


def test_names() -> None:
    """Names are as declared, or derived from the field; an argument has none."""
    assert [known.names for known in options_in(Box)] == [
        (),
        ("-w", "--width"),
        ("--min-gap",),
        ("--red",),
    ]
    assert [known.name for known in options_in(Box)] == [
        "[INPUT]...",
        "--width",
        "--min-gap",
        "--red",
    ]


def test_facts() -> None:
    """An option knows its type, default, bounds and panel."""
    inputs, width, gap, red = options_in(Box)
    assert (inputs.repeated, inputs.panel) == (True, "Arguments")
    assert (width.number, width.bounds, width.told_default, width.panel) == (
        "int",
        "0 to 9",
        "1",
        "Options",
    )
    assert (gap.number, gap.bounds, gap.told_default, gap.panel) == ("float", None, None, "Gaps")
    assert (red.type, red.spelling, red.told_default) == (bool, "--red", None)


@pytest.mark.parametrize(
    ("typed", "number"),
    [(0.30000000000000004, 0.3), (0.29999999999999993, 0.3), (1e-15, 1e-15), (-0.0, 0.0)],
)
def test_numbers_are_decimal(typed: float, number: float) -> None:
    """Numbers are decimal with 15 significant digits, like scores."""
    assert repr(filled(Box, {"min_gap": typed}).min_gap) == repr(number)


def test_groups_inherit() -> None:
    """Defaults, equality and inheritance are those of a dataclass."""
    assert Wide().width == 3
    assert Box() == Box(width=1, red=False) != Box(width=3)
    with pytest.raises(TypeError):
        Box(depth=1)  # type: ignore[call-arg]


def test_an_option_that_must_be_given() -> None:
    """A required option has no default."""

    @options
    class Needed:
        to: str = option(REQUIRED, metavar="TARGET")

    assert options_in(Needed)[0].is_required
    with pytest.raises(TypeError):
        Needed()


def test_options_that_were_given() -> None:
    """Given options are those that differ from the default."""
    assert given_options(Box(width=2, red=True), {"red"}) == ["--width"]


@pytest.mark.parametrize("value", ["", " ", float("nan"), float("inf"), 2**63])
def test_values_that_mean_nothing(value: Any) -> None:
    """Meaningless values are rejected for any option."""
    with pytest.raises(UsageError):
        options_in(Box)[1].check(value)


@pytest.mark.parametrize(
    ("word", "name"),
    [("best-vs-rest", "best-vs-rest"), ("best_vs_rest", "best-vs-rest"), ("no-score", "no_score")],
)
def test_one_of(word: str, name: str) -> None:
    """Hyphen and underscore are interchangeable; the proper name is returned."""
    assert one_of("word", word, "best-vs-rest", "no_score") == name


@pytest.mark.parametrize("word", ["", "best", "BEST-VS-REST"])
def test_one_of_nothing(word: str) -> None:
    """The error has the kind of name and the known names."""
    with pytest.raises(UnknownWord) as caught:
        one_of("--order", word, "input", "key")
    assert (caught.value.what, caught.value.word, caught.value.known) == (
        "--order",
        word,
        ("input", "key"),
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (None, ()),
        ([], ()),
        (["a"], ("a",)),
        (["a,b", "c"], ("a", "b", "c")),
        ([" a , ,b,"], ("a", "b")),
        ([""], ()),
    ],
)
def test_split_words(values: Any, words: tuple[str, ...]) -> None:
    """Values may be repeated or separated by commas."""
    assert split_words(values) == words
