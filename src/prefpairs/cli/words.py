"""Groups of options that several commands share, declared once as dataclasses.

typer wants each option in the signature of each command. `command_of` writes that signature:
a parameter whose type is a dataclass stands for all of its fields.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from prefpairs.errors import UnknownWord

FLAG = " "
"""The metavar of an option that takes no value: without it help calls each one <bool>."""


def command_of(function: Callable[..., None]) -> Callable[..., None]:
    """The function as a command: its groups of options spread out into single ones."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters = [
        parameter
        for name in inspect.signature(function).parameters
        for parameter in _parameters(function, name, hints[name])
    ]

    @functools.wraps(function)
    def command(**values: Any) -> None:
        arguments = {
            name: kind(**{field.name: values.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        function(**arguments, **values)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {given.name: given.annotation for given in parameters}
    return command


def _parameters(function: Callable[..., None], name: str, hint: Any) -> list[inspect.Parameter]:
    if not is_dataclass(hint):
        given = inspect.signature(function).parameters[name]
        return [given.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY)]
    hints = get_type_hints(hint, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(hint)
    ]


def option_names(name: str, words: Any) -> list[str]:
    """How the option of a field is typed: the names it declares, or else that of the field."""
    # In an annotation typer takes the first declared name for the default.
    declared = [words.default, *(words.param_decls or ())]
    typed = [word for word in declared if isinstance(word, str)]
    return typed or [f"--{name.replace('_', '-')}"]


def one_of(what: str, word: str, *known: str) -> Any:
    """A word of a short list; `-` and `_` are alike.

    >>> one_of("order", "key", "input", "key")
    'key'
    """
    spelled = {name.replace("_", "-"): name for name in known}
    if (name := spelled.get(word.replace("_", "-"))) is None:
        raise UnknownWord(what, word, known)
    return name


def split_words(values: list[str] | None) -> tuple[str, ...]:
    """The words of an option that is repeatable and takes commas.

    >>> split_words(["a,b", "c"])
    ('a', 'b', 'c')
    """
    words = (word.strip() for value in values or [] for word in value.split(","))
    return tuple(word for word in words if word)
