"""The values of options: one where one is meant, none of them empty, and numbers that are finite.

typer keeps the last value of an option that is typed twice. So it sees each option with a value
as one that may be repeated, and the command gets the only value there is.
"""

import functools
import inspect
import math
import shlex
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Annotated, Any, get_args

from typer.models import OptionInfo, ParameterInfo

from prefpairs.cli.option_groups import option_names, split_words
from prefpairs.did_you_mean import listed
from prefpairs.errors import UnknownWord, UsageError
from prefpairs.files.output import STDOUT

_MOST = 2**63 - 1
"""No count is larger: what counts is written in C."""


def given_well(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer sees it; UsageError where an option has a value that it cannot have.

    Flags may be repeated, since all of them say the same.
    """
    parameters = [*inspect.signature(command).parameters.values()]
    options = {given.name: given for given in parameters if _is_option(given)}
    single = {name: given for name, given in options.items() if _takes_one(given)}

    @functools.wraps(command)
    def collected(**values: Any) -> None:
        for name, value in values.items():
            if name in options and isinstance(value, list):
                _check_all(options[name], value)
        for name, parameter in single.items():
            values[name] = _only(parameter, values[name])
        try:
            command(**values)
        except UnknownWord as error:
            error.option = _option_of(error, options, values)
            raise

    seen = [_repeatable(given) if given.name in single else given for given in parameters]
    collected.__signature__ = inspect.Signature(seen)  # type: ignore[attr-defined]
    collected.__annotations__ = {given.name: given.annotation for given in seen}
    return collected


def check_value(name: str, words: ParameterInfo, value: Any) -> None:
    """Raise UsageError for a value that means nothing, whatever the option.

    >>> check_value("--min-gap", OptionInfo(metavar="GAP"), 0.5)
    >>> check_value("--keep", OptionInfo(metavar="PATH,..."), " ,")
    Traceback (most recent call last):
    prefpairs.errors.UsageError: --keep is empty
    """
    if isinstance(value, str):
        metavar = words.metavar or ""
        if not (value.replace(",", " ") if metavar.endswith(",...") else value).strip():
            raise UsageError(f"{name} is empty", "is a variable of your shell empty?")
        if value == STDOUT and metavar.endswith("DIR"):
            raise UsageError(f"{name} is -, expected a directory", "./- is one of that name")
    elif isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{name} is {value}, expected a finite number")
    elif isinstance(value, int) and words.min is not None and value > _MOST:
        raise UsageError(f"{name} has {len(str(value))} digits, expected a number up to {_MOST}")


def _check_all(parameter: inspect.Parameter, values: list[Any]) -> None:
    words = parameter.annotation.__metadata__[0]
    for value in values:
        check_value(option_names(parameter.name, words)[-1], words, value)


def _option_of(
    error: UnknownWord, options: Mapping[str, inspect.Parameter], values: Mapping[str, Any]
) -> str | None:
    """The option that an unknown word was typed for, if the error does not name it already."""
    for name, parameter in options.items():
        option = option_names(name, parameter.annotation.__metadata__[0])[-1]
        given = values[name] if isinstance(values[name], list) else [values[name]]
        if error.word in split_words([value for value in given if isinstance(value, str)]):
            return None if option in error.what else option
    return None


def _is_option(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation.__metadata__[0], OptionInfo)


def _takes_one(parameter: inspect.Parameter) -> bool:
    """Whether an option has a value, and not a list of them."""
    kind = parameter.annotation.__origin__
    return kind is not bool and "list" not in str(kind)


def _repeatable(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter as a list of values, with none of them unless one must be given."""
    kind, words = get_args(parameter.annotation)
    kind = next((one for one in get_args(kind) if one is not NoneType), kind)
    if parameter.default is parameter.empty:
        return parameter.replace(annotation=Annotated[list[kind], words])  # type: ignore[valid-type]
    return parameter.replace(annotation=Annotated[list[kind] | None, words], default=None)  # type: ignore[valid-type]


def _only(parameter: inspect.Parameter, given: list[Any] | None) -> Any:
    """The value of an option, or else its default."""
    if not given:
        return parameter.default
    if len(given) > 1:
        words = parameter.annotation.__metadata__[0]
        names = "/".join(option_names(parameter.name, words))
        values = listed([shlex.quote(str(value).removesuffix(".0")) for value in given], "and")
        hint = f"{names} {words.metavar}: {words.help}"
        raise UsageError(f"{names} takes one value, and here are {len(given)}: {values}", hint)
    return given[0]
