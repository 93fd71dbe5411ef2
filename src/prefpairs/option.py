"""Options, each declared once as a field of a dataclass with all its properties.

The command line, recipes, help, completion and the reference are derived from these fields.
Nothing here depends on typer or pydantic.
"""

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from decimal import Decimal
from typing import Any, TypeVar, dataclass_transform, get_args

from prefpairs.errors import EmptyName, UnknownWord, UsageError
from prefpairs.model.number import round_score

G = TypeVar("G")

REQUIRED: Any = MISSING
"""The default of an option that must be given."""

_MOST = 2**63 - 1
"""The largest count, since counting is done in C."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option: how it is typed, and what its value may be."""

    help: str
    field: str = ""
    type: Any = str
    type_typed: Any = str
    """The type on the command line, where words separated by commas are one text."""
    default: Any = None
    default_typed: Any = None
    """Its default as it would be typed."""
    fallback: Any = None
    """Its value if neither the command line nor a file gives one; the default is then None."""
    names: tuple[str, ...] = ()
    """Its names on the command line, the longest one last. An argument has none."""
    metavar: str = ""
    """The placeholder for its value; empty for a flag, which takes none."""
    panel: str = ""
    """The section of the help that lists it."""
    repeated: bool = False
    """Whether it may be given several times."""
    is_required: bool = False
    least: float | None = None
    most: float | None = None
    show_default: bool = True
    positional: bool = False
    choices: tuple[str, ...] = ()
    """The words of which its value is one, or, where that is a tuple, some."""
    convert: Callable[[Any], Any] | None = None
    """Makes the value of what is typed: a list of texts if it is repeated, else one text."""
    recipe_key: str = ""
    """Its name in a recipe, where that is not the name that is typed."""

    @property
    def name(self) -> str:
        """Its name in errors."""
        return self.names[-1] if self.names else self.metavar

    @property
    def key(self) -> str:
        """Its name in a recipe and in `--set`: the longest one that is typed, or its field's."""
        if self.recipe_key:
            return self.recipe_key
        return self.name.lstrip("-").replace("-", "_") if self.names else self.field

    @property
    def spelling(self) -> str:
        """Its name with the placeholder for its value."""
        return " ".join([*self.names[-1:], self.metavar]).rstrip()

    @property
    def number(self) -> str | None:
        """`int` or `float` if its value is a number."""
        kinds = get_args(self.type) or [self.type]
        return next((kind.__name__ for kind in (int, float) if kind in kinds), None)

    @property
    def told_default(self) -> str | None:
        """Its default for help texts, or None if there is nothing to say."""
        default = self.default_typed if self.fallback is None else self.fallback
        nothing = default is None or default is False or default == "-"
        if self.is_required or nothing or not self.show_default:
            return None
        return f"{default:g}" if isinstance(default, float) else str(default)

    @property
    def bounds(self) -> str | None:
        """The range of its value, in words."""
        if self.least is None:
            return None
        upper = " or more" if self.most is None else f" to {self.most:g}"
        return f"{self.least:g}{upper}"

    def value_of(self, typed: Any) -> Any:
        """The typed value: words spelled as in the choices, numbers decimal like scores.

        >>> order = Option(names=("--order",), help="", choices=("input", "easy-first"))
        >>> order.value_of("easy_first"), order.value_of(0.1 + 0.2)
        ('easy-first', 0.3)
        """
        if self.convert is not None:
            return self.convert(typed)
        if self.type == tuple[str, ...] and isinstance(typed, str):
            words = split_words([typed])
            return tuple(one_of(self.name, word, *self.choices) for word in words)
        if self.choices and isinstance(typed, str):
            return one_of(self.name, typed, *self.choices)
        return round_score(typed) if isinstance(typed, float) else typed

    def check(self, value: Any, name: str = "") -> None:
        """Raise UsageError for values that are invalid for every option.

        >>> Option(metavar="GAP", help="").check(0.5)
        >>> Option(names=("--keep",), metavar="PATH,...", help="").check(" ,")
        Traceback (most recent call last):
        prefpairs.errors.EmptyName: --keep
        """
        name = name or self.name
        if isinstance(value, str):
            words = value.replace(",", " ") if self.metavar.endswith(",...") else value
            if not words.strip():
                raise EmptyName(name)
            if value == "-" and self.metavar.endswith("DIR"):
                raise UsageError(f"{name} is -, expected a directory", "./- is one of that name")
        elif isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{name} is {value}, expected a finite number")
        elif isinstance(value, int) and self.least is not None and value > _MOST:
            digits = len(str(value))
            raise UsageError(f"{name} has {digits} digits, expected a number up to {_MOST}")


@dataclass_transform(kw_only_default=True, frozen_default=True)
def options(kind: type[G]) -> type[G]:
    """Make the class a group of options: a dataclass with keyword arguments.

    Python compiles the methods of dataclasses whenever the program starts, so unused methods are
    left out. Only the type checker ensures that no field is set later.
    """
    return dataclasses.dataclass(kw_only=True, repr=False)(kind)


def option(  # noqa: PLR0913 - all are properties of the option
    default: Any,
    *names: str,
    metavar: str = "",
    choices: tuple[str, ...] = (),
    help: str = "",  # noqa: A002 - the usual name
    panel: str = "",
    least: float | None = None,
    most: float | None = None,
    show_default: bool = True,
    repeated: bool = False,
    convert: Callable[[Any], Any] | None = None,
    fallback: Any = None,
) -> Any:
    """A field that is an option with a value; it is `repeated` if its type is a list, too."""
    known = Option(
        help=help,
        metavar=metavar or "|".join(choices),
        panel=panel or "Options",
        names=names,
        least=least,
        most=most,
        show_default=show_default,
        choices=choices,
        repeated=repeated,
        convert=convert,
        fallback=fallback,
    )
    return dataclasses.field(default=default, metadata={"option": known})


def flag(*names: str, help: str, panel: str = "") -> Any:  # noqa: A002
    """A field that is an option without a value: false unless given."""
    known = Option(help=help, panel=panel or "Options", names=names)
    return dataclasses.field(default=False, metadata={"option": known})


def argument(default: Any, *, metavar: str, help: str, key: str = "") -> Any:  # noqa: A002
    """A field that is typed without a name."""
    known = Option(
        help=help,
        metavar=metavar,
        panel="Arguments",
        positional=True,
        show_default=False,
        recipe_key=key,
    )
    return dataclasses.field(default=default, metadata={"option": known})


def options_in(group: Any) -> tuple[Option, ...]:
    """The options of a group, in order of declaration.

    >>> @options
    ... class Rows:
    ...     limit: int | None = option(None, "-n", "--limit", metavar="N", help="Read N rows.")
    ...     min_gap: float = option(0.0, metavar="GAP", help="Minimum score difference.")
    >>> [known.names for known in options_in(Rows)]
    [('-n', '--limit'), ('--min-gap',)]
    """
    return _options_of(group if isinstance(group, type) else type(group))


@functools.cache
def _options_of(group: type) -> tuple[Option, ...]:
    return tuple(
        _bound(field, field.metadata["option"])
        for field in dataclasses.fields(group)
        if "option" in field.metadata
    )


def _bound(field: "dataclasses.Field[Any]", known: Option) -> Option:
    """An option, completed from its field."""
    by_field = () if known.positional else (f"--{field.name.replace('_', '-')}",)
    repeated = known.repeated or "list" in str(field.type)
    typed = field.type
    if known.repeated:
        typed = list[str] | None
    elif known.convert is not None or field.type == tuple[str, ...]:
        typed = str
    default = field.default
    if repeated and not default:
        default = None
    elif isinstance(default, tuple):
        default = ",".join(default)
    return dataclasses.replace(
        known,
        field=field.name,
        default_typed=default,
        type=field.type,
        type_typed=typed,
        default=field.default,
        names=known.names or by_field,
        repeated=repeated,
        is_required=field.default is REQUIRED,
    )


def filled(group: type[G], typed: Mapping[str, Any]) -> G:
    """A group with the typed values, converted and checked against each other.

    What is not typed keeps its default.
    """
    given = [
        one
        for one in options_in(group)
        if one.field in typed and typed[one.field] not in (one.default, one.default_typed)
    ]
    made = group(**{one.field: one.value_of(typed[one.field]) for one in given})
    check = getattr(made, "check", None)
    if check is not None:
        check()
    return made


def given_options(group: Any, besides: frozenset[str] | set[str]) -> list[str]:
    """The options of a group that do not have their default value."""
    return [
        option.name
        for option in options_in(group)
        if option.field not in besides and getattr(group, option.field) != option.default
    ]


def one_of(what: str, word: str, *known: str) -> Any:
    """One of a few words; `-` and `_` are the same.

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
    """The words of an option that may be repeated and takes commas.

    >>> split_words(["a,b", "c"])
    ('a', 'b', 'c')
    """
    words = (word.strip() for value in values or [] for word in value.split(","))
    return tuple(word for word in words if word)
