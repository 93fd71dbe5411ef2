"""Groups of options that several commands share."""

import inspect
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from typer.models import OptionInfo

from prefpairs.cli.command_words import function_of
from prefpairs.cli.main import COMMANDS
from prefpairs.cli.option_groups import command_of, one_of, split_words, word_group
from prefpairs.errors import UnknownWord


@dataclass(frozen=True, kw_only=True)
class Size:
    """A group of options."""

    width: Annotated[int, "how wide"] = 1
    height: int = 2


@dataclass(frozen=True, kw_only=True)
class Place:
    """Another one, with a word of the first."""

    width: int = 1
    left: int = 0


SEEN: list[tuple[Size, bool]] = []


@command_of
def _paint(*, size: Size, red: bool = False) -> None:
    """Paint it."""
    SEEN.append((size, red))


def test_groups_are_spread_out() -> None:
    """Every field is a parameter with its annotation and default."""
    parameters = inspect.signature(_paint).parameters
    assert [(name, given.default) for name, given in parameters.items()] == [
        ("width", 1),
        ("height", 2),
        ("red", False),
    ]
    assert parameters["width"].annotation == Annotated[int, "how wide"]
    assert inspect.getdoc(_paint) == "Paint it."


def test_groups_are_put_together_again() -> None:
    """The function gets what it asked for."""
    _paint(width=7, height=2, red=True)
    assert SEEN.pop() == (Size(width=7, height=2), True)


def test_a_word_of_two_groups_is_typed_once() -> None:
    """Both get what was said."""
    seen: list[tuple[Size, Place]] = []

    @command_of
    def put(*, size: Size, place: Place) -> None:
        seen.append((size, place))

    assert [*inspect.signature(put).parameters] == ["width", "height", "left"]
    put(width=7, height=2, left=3)
    assert seen == [(Size(width=7), Place(width=7, left=3))]


@pytest.mark.parametrize(
    ("word", "name"),
    [("best-vs-rest", "best-vs-rest"), ("best_vs_rest", "best-vs-rest"), ("no-score", "no_score")],
)
def test_one_of(word: str, name: str) -> None:
    """Hyphen and underscore are alike; the name itself is returned."""
    assert one_of("word", word, "best-vs-rest", "no_score") == name


@pytest.mark.parametrize("word", ["", "best", "BEST-VS-REST"])
def test_one_of_nothing(word: str) -> None:
    """The error knows what is asked for and what there is."""
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
    """Repeated or with commas."""
    assert split_words(values) == words


def test_groups_of_words() -> None:
    """Defaults, equality and inheritance are those of a dataclass."""

    @word_group
    class Wide:
        width: int = 1

    @word_group
    class Box(Wide):
        height: int = 2

    assert Box() == Box(width=1, height=2)
    assert Box(width=3) != Box()
    with pytest.raises(TypeError):
        Box(depth=1)  # type: ignore[call-arg]


def test_no_release_of_typer_has_to_derive_the_name_of_an_option() -> None:
    """Every option of every command declares its names: typer 0.27.3 made --STRATEGY of one."""
    parameters = [
        (command, given)
        for command in COMMANDS
        for given in inspect.signature(function_of(command)).parameters.values()
    ]
    options = [
        (command, given.name, given.annotation.__metadata__[0].param_decls)
        for command, given in parameters
        if isinstance(given.annotation.__metadata__[0], OptionInfo)
    ]
    assert [(command, name) for command, name, names in options if not names] == []
    assert len(options) > 200
