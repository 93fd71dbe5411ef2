"""What typer finds wrong with the words of a command, as one of our errors."""

import re
from typing import Any

from prefpairs.cli.command_docs import EVERYWHERE, options_of_command
from prefpairs.cli.main import COMMANDS
from prefpairs.cli.terminal.help import usage_of
from prefpairs.did_you_mean import listed
from prefpairs.errors import EmptyName, UnknownWord, UsageError
from prefpairs.option import Option

_UNREADABLE = re.compile(r"(['\"]?)(.*)\1 is not (?:a valid|in the range)", re.DOTALL)

_DECIMAL_COMMA = re.compile(r"-?[0-9]+,[0-9]+")
_EXTRA = re.compile(r"Got unexpected extra argument\(s\) \((.*)\)", re.DOTALL)


def mistyped(error: Any, command: str) -> UsageError:
    """The error behind one of typer's, of the words of a command."""
    words = options_of_command(command)
    match type(error).__name__:
        case "NoSuchOption":
            return _unknown_option(error.option_name, command, words)
        case "BadOptionUsage":
            return _misused(_named(error.option_name, words), error.option_name)
        case "MissingParameter":
            return _missing(_of(error.param, words), command)
        case "BadParameter" if error.param is not None:
            return _unreadable(_of(error.param, words), error.message)
    problem = error.format_message()
    if extra := _EXTRA.fullmatch(problem):
        problem = f"unexpected: {extra[1]}"
    return UsageError(problem, f"usage: {usage_of(command)}")


def _unknown_option(name: str, command: str, words: list[Option]) -> UsageError:
    """An option that a command does not have, but perhaps another one."""
    known = [*_names(words), *EVERYWHERE]
    owners = [
        other
        for other in COMMANDS
        if other != command and name in _names(options_of_command(other))
    ]
    if owners:
        have = "has" if len(owners) == 1 else "have"
        return UsageError(f"{command} has no {name}", f"{listed(owners, 'and')} {have} it")
    return UnknownWord(
        f"option of {command}", name, known, f"`prefpairs {command} --help` lists them"
    )


def _misused(word: Option, name: str) -> UsageError:
    if not word.metavar:
        return UsageError(f"{name} takes no value", f"{word.spelling}: {word.help}")
    return UsageError(f"{name} needs a value", _telling(word))


def _missing(word: Option, command: str) -> UsageError:
    if word.names:
        return UsageError(f"{command} needs {word.spelling}", _telling(word))
    return UsageError(f"{command} needs a {word.metavar}", f"usage: {usage_of(command)}")


def _unreadable(word: Option, message: str) -> UsageError:
    """A value that is not a number, or is out of bounds."""
    found = _UNREADABLE.match(message)
    if found is None:
        return UsageError(f"{word.spelling}: {message}", _telling(word))
    option, value = word.names[-1], found[2]
    if not value:
        return EmptyName(option)
    if value.startswith("--"):
        return UsageError(f"{option} needs a value, and {value} is an option", _telling(word))
    if not found[1]:
        return UsageError(f"{option} is {float(value):g}, expected {word.bounds}", None)
    whole = " whole" * ("int" in message)
    problem = f"{option} is {value}, expected a{whole} number"
    if _DECIMAL_COMMA.fullmatch(value) and not whole:
        return UsageError(problem, f"did you mean {value.replace(',', '.')}?")
    return UsageError(problem, _telling(word))


def _telling(word: Option) -> str:
    """An option as help describes it."""
    return f"{word.spelling}: {word.help}"


def _names(words: list[Option]) -> list[str]:
    return [name for word in words for name in word.names]


def _named(name: str, words: list[Option]) -> Option:
    return next(word for word in words if name in word.names)


def _of(parameter: Any, words: list[Option]) -> Option:
    """The option of typer's parameter."""
    if parameter.param_type_name == "option":
        return _named(parameter.opts[-1], words)
    return next(word for word in words if word.metavar == parameter.metavar)
