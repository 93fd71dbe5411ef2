"""Commands as typer sees them: a parameter for each option in their groups."""

import inspect

import pytest

from prefpairs.cli.command_docs import function_of
from prefpairs.cli.main import COMMANDS
from prefpairs.cli.typer_adapter import command_of, options_of
from prefpairs.errors import UsageError
from prefpairs.option import flag, option, options


@options
class Size:
    """A group of options."""

    width: int = option(1, metavar="N", help="How wide.")
    height: int = option(2, metavar="N")


@options
class Place:
    """Another group that shares an option with the first."""

    width: int = option(1, metavar="N")
    left: int = option(0, metavar="N")
    red: bool = flag(help="Painted.")


SEEN: list[tuple[Size, Place]] = []


def _put(*, size: Size, place: Place) -> None:
    """Put it there."""
    SEEN.append((size, place))


def test_an_option_of_two_groups_is_declared_once() -> None:
    """The first group declares it; both get its value."""
    assert [known.field for known in options_of(_put)] == ["width", "height", "left", "red"]
    assert options_of(_put)[0].help == "How wide."
    command_of(_put)(width=[7], height=None, left=[3], red=False)
    assert SEEN.pop() == (Size(width=7), Place(width=7, left=3))


def test_the_command_keeps_its_docstring() -> None:
    """The command keeps its docstring, from which help is made."""
    assert inspect.getdoc(command_of(_put)) == "Put it there."


def test_an_option_that_is_given_twice() -> None:
    """An option with two values is rejected."""
    with pytest.raises(UsageError, match="--width takes one value, and here are 2: 1 and 2"):
        command_of(_put)(width=[1, 2], height=None, left=None, red=False)


def test_no_release_of_typer_has_to_derive_the_name_of_an_option() -> None:
    """Every option declares its names: typer 0.27.3 derived --STRATEGY for one."""
    commands = [command_of(function_of(command)) for command in COMMANDS]
    parameters = [given for one in commands for given in inspect.signature(one).parameters.values()]
    words = [given.annotation.__metadata__[0] for given in parameters]
    named = [one.param_decls for one in words if type(one).__name__ == "OptionInfo"]
    assert all(named)
    assert len(named) > 200
