"""A command as typer sees it: a parameter for each option of its groups.

typer keeps the last value of an option that is typed twice. So it sees each option with a value
as one that may be repeated, and the command gets the only value there is.
"""

import functools
import inspect
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Annotated, Any, get_args

import typer

from prefpairs.errors import UnknownWord, UsageError
from prefpairs.option import Option, filled, options_in, split_words

_FLAG = " "
"""The metavar of an option that takes no value: without it typer calls each one <bool>."""


def groups_of(function: Callable[..., None]) -> dict[str, Any]:
    """The groups of options that a command takes, by the names of its parameters."""
    return {name: kind for name, kind in function.__annotations__.items() if name != "return"}


def options_of(function: Callable[..., None]) -> list[Option]:
    """The options of a command. One that two groups have is declared by the first of them."""
    known: dict[str, Option] = {}
    for group in groups_of(function).values():
        for option in options_in(group):
            known.setdefault(option.field, option)
    return [*known.values()]


def command_of(function: Callable[..., None]) -> Callable[..., None]:
    """The function as a command for typer, which gets options and not groups.

    Flags may be repeated, since all of them say the same.
    """
    options = options_of(function)

    @functools.wraps(function)
    def command(**values: Any) -> None:
        for option in options:
            values[option.field] = _value(option, values[option.field])
        _refuse_swallowed(values, options)
        try:
            groups = {name: filled(kind, values) for name, kind in groups_of(function).items()}
            function(**groups)
        except UnknownWord as error:
            error.option = _option_of(error, options, values)
            raise

    parameters = [_parameter(option) for option in options]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {given.name: given.annotation for given in parameters}
    return command


def _parameter(option: Option) -> inspect.Parameter:
    """An option as typer wants it; the names are declared, since typer 0.27 derives wrong ones."""
    default, kind = option.default_typed, option.type_typed
    if option.positional:
        words: Any = typer.Argument(metavar=option.metavar)
    elif kind is bool:
        words = typer.Option(..., *option.names, metavar=_FLAG)
    else:
        words = typer.Option(
            ..., *option.names, metavar=option.metavar, min=option.least, max=option.most
        )
        if not option.repeated:
            one = next((one for one in get_args(kind) if one is not NoneType), kind)
            kind = list[one] if option.is_required else list[one] | None  # type: ignore[valid-type]
            default = default if option.is_required else None
    return inspect.Parameter(
        option.field,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if option.is_required else default,
        annotation=Annotated[kind, words],
    )


def _value(option: Option, given: Any) -> Any:
    """The value of an option, or else its default."""
    if option.positional or option.type is bool:
        return given
    for value in given or []:
        option.check(value)
    if option.repeated:
        return given
    if not given:
        return option.default
    if len(given) > 1:
        from prefpairs.did_you_mean import listed

        names = "/".join(option.names)
        values = listed([shlex.quote(str(value).removesuffix(".0")) for value in given], "and")
        hint = f"{names} {option.metavar}: {option.help}"
        raise UsageError(f"{names} takes one value, and here are {len(given)}: {values}", hint)
    return given[0]


def _refuse_swallowed(values: Mapping[str, Any], options: Sequence[Option]) -> None:
    """Raise where an option without a value took the next one for it: no file is called --quiet."""
    known = {name for option in options for name in option.names}
    for option in options:
        value = values[option.field]
        for text in value if isinstance(value, list) else [value]:
            if (
                isinstance(text, str)
                and text.startswith("--")
                and text in known
                and not _is_glued(option.names, text)
            ):
                raise UsageError(f"{option.name} needs a value, and {text} is an option")


def _is_glued(names: Sequence[str], text: str) -> bool:
    """Whether an option was typed together with its value, so that there is no doubt about it."""
    typed = (word.partition("=") for word in sys.argv)
    return any(value == text and name.replace("_", "-") in names for name, _, value in typed)


def _option_of(
    error: UnknownWord, options: Sequence[Option], values: Mapping[str, Any]
) -> str | None:
    """The option that an unknown word was typed for, if the error does not name it already."""
    for option in options:
        if option.positional:
            continue
        value = values[option.field]
        given = value if isinstance(value, list) else [value]
        if error.word in split_words([one for one in given if isinstance(one, str)]):
            return None if option.name in error.what else option.name
    return None
