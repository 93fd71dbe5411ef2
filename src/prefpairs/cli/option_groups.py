"""Groups of options that several commands share, each declared once as a dataclass.

typer wants each option in the signature of each command. `command_of` writes that signature:
a parameter whose type is a dataclass stands for all of its fields.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Collection
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from typing import Annotated, Any, TypeVar, dataclass_transform, get_type_hints

from typer.models import OptionInfo

from prefpairs.errors import UnknownWord, UsageError

FLAG = " "
"""The metavar of an option that takes no value: without it help calls each one <bool>."""

G = TypeVar("G")


@dataclass_transform(kw_only_default=True, frozen_default=True)
def word_group(kind: type[G]) -> type[G]:
    """The class as a group of options: a dataclass of keywords.

    Python compiles the methods of a dataclass at each start of the program, so those that nobody
    calls are left out. That no field is set later is for the type checker to say.
    """
    return dataclass(kw_only=True, repr=False)(kind)


def command_of(function: Callable[..., None]) -> Callable[..., None]:
    """The function as a command: its groups of options spread out into single ones.

    A word that two groups have is one option, declared by the first of them and told to both.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    declared: dict[str, inspect.Parameter] = {}
    for name in inspect.signature(function).parameters:
        for parameter in _parameters(function, name, hints[name]):
            declared.setdefault(parameter.name, parameter)
    parameters = [_with_its_name(parameter) for parameter in declared.values()]

    @functools.wraps(function)
    def command(**values: Any) -> None:
        _refuse_swallowed(values, parameters)
        arguments = {
            name: kind(**{field.name: values[field.name] for field in fields(kind)})
            for name, kind in groups.items()
        }
        grouped = {field.name for kind in groups.values() for field in fields(kind)}
        alone = {name: value for name, value in values.items() if name not in grouped}
        function(**arguments, **alone)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {given.name: given.annotation for given in parameters}
    return command


def _with_its_name(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter of an option with its name declared: typer 0.27 derives it from the metavar."""
    words = getattr(parameter.annotation, "__metadata__", (None,))[0]
    if not isinstance(words, OptionInfo):
        return parameter
    named = copy(words)
    named.default, named.param_decls = ..., tuple(option_names(parameter.name, words))
    return parameter.replace(annotation=Annotated[parameter.annotation.__origin__, named])


def _refuse_swallowed(values: dict[str, Any], parameters: list[inspect.Parameter]) -> None:
    """Raise where an option without a value took the next one for it: no file is called --quiet."""
    odd = [(name, text) for name, value in values.items() for text in _options_in(value)]
    if not odd:
        return
    names = {
        given.name: option_names(given.name, given.annotation.__metadata__[0])
        for given in parameters
    }
    for name, text in odd:
        if any(text in known for known in names.values()) and not _is_glued(names[name], text):
            raise UsageError(f"{names[name][-1]} needs a value, and {text} is an option")


def _is_glued(names: list[str], text: str) -> bool:
    """Whether an option was typed together with its value, so that there is no doubt about it."""
    typed = (word.partition("=") for word in sys.argv)
    return any(value == text and name.replace("_", "-") in names for name, _, value in typed)


def _options_in(value: Any) -> list[str]:
    """The texts of a value that could be options."""
    texts = value if isinstance(value, list) else [value]
    return [text for text in texts if isinstance(text, str) and text.startswith("--")]


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


def given_options(words: Any, besides: Collection[str]) -> list[str]:
    """The options of a group that were given another value than their default."""
    hints = get_type_hints(type(words), include_extras=True)
    return [
        option_names(field.name, hints[field.name].__metadata__[0])[-1]
        for field in fields(words)
        if field.name not in besides and getattr(words, field.name) != field.default
    ]


def one_of(what: str, word: str, *known: str) -> Any:
    """A word of a short list; `-` and `_` are alike.

    >>> one_of("order", "key", "input", "key")
    'key'
    """
    spelled = {name.replace("_", "-"): name for name in known}
    if (name := spelled.get(word.replace("_", "-"))) is None:
        raise UnknownWord(what, word, known)
    return name


_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]?)(B|iB)?", re.IGNORECASE)


def size_of(option: str, word: str) -> int:
    """A number of bytes: 5000, 64MB (millions), 64MiB or 64M (powers of two).

    >>> size_of("--max-line", "64MB"), size_of("--max-line", "0.5 KiB"), size_of("--max-line", "7")
    (64000000, 512, 7)
    """
    found = _SIZE.fullmatch(word.strip())
    if found is None:
        raise UsageError(f"{option} {word}: expected a size", "as in 64MB, 1.5GB or 512KiB")
    base = 1000 if found[3] in ("B", "b") else 1024
    size = int(Decimal(found[1]) * base ** " KMGT".index(found[2].upper() or " "))
    if not size:
        raise UsageError(f"{option} {word}: nothing is that small")
    return size


def split_words(values: list[str] | None) -> tuple[str, ...]:
    """The words of an option that is repeatable and takes commas.

    >>> split_words(["a,b", "c"])
    ('a', 'b', 'c')
    """
    words = (word.strip() for value in values or [] for word in value.split(","))
    return tuple(word for word in words if word)
