"""Options that take one value are given once: of two, neither is silently ignored.

typer keeps the last value of an option that is typed twice. So it sees each option with a value
as one that may be repeated, and the command gets the only value there is.
"""

import functools
import inspect
import shlex
from collections.abc import Callable
from types import NoneType
from typing import Annotated, Any, get_args

from typer.models import OptionInfo

from prefpairs.cli.words import option_names
from prefpairs.errors import UsageError
from prefpairs.nearest import listed


def given_once(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer sees it; UsageError where an option has more values than it takes.

    Flags may be repeated, since all of them say the same.
    """
    parameters = [*inspect.signature(command).parameters.values()]
    single = {given.name: given for given in parameters if _takes_one(given)}

    @functools.wraps(command)
    def collected(**values: Any) -> None:
        command(
            **{
                name: _only(single[name], value) if name in single else value
                for name, value in values.items()
            }
        )

    seen = [_repeatable(given) if given.name in single else given for given in parameters]
    collected.__signature__ = inspect.Signature(seen)  # type: ignore[attr-defined]
    collected.__annotations__ = {given.name: given.annotation for given in seen}
    return collected


def _takes_one(parameter: inspect.Parameter) -> bool:
    """Whether it is an option with a value, and not with a list of them."""
    kind = parameter.annotation.__origin__
    is_option = isinstance(parameter.annotation.__metadata__[0], OptionInfo)
    return is_option and kind is not bool and "list" not in str(kind)


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
        values = listed([shlex.quote(str(value)) for value in given], "and")
        hint = f"{names} {words.metavar}: {words.help}"
        raise UsageError(f"{names} takes one value, and here are {len(given)}: {values}", hint)
    return given[0]
