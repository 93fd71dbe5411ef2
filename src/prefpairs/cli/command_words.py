"""What can be typed: the words of a command, as help, errors and the reference see them.

All of it is told from the signature of the command's function and from its docstring.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, get_args

from prefpairs.cli.option_groups import option_names

EVERYWHERE = ("-h", "--help")
"""The option that every command has."""


class Word(NamedTuple):
    """An option or an argument of a command."""

    names: list[str]
    """How an option is typed, the longest name last. An argument has no name."""
    metavar: str
    """What stands for the value; nothing where none is taken."""
    help: str
    panel: str
    default: Any
    """`inspect.Parameter.empty` if it must be given."""
    tells_default: bool
    least: float | None
    most: float | None
    repeated: bool
    number: str | None
    """int or float, where its value is a number."""

    @property
    def spelling(self) -> str:
        """The name that errors call it by, with what stands for its value."""
        return " ".join([*self.names[-1:], self.metavar]).rstrip()

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is inspect.Parameter.empty

    @property
    def told_default(self) -> str | None:
        """What it is where it is not given, if there is something to say."""
        nothing = self.default is None or self.default is False or self.default == "-"
        if self.is_required or nothing or not self.tells_default:
            return None
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    @property
    def bounds(self) -> str | None:
        """Between which numbers its value lies."""
        if self.least is None:
            return None
        upper = " or more" if self.most is None else f" to {self.most:g}"
        return f"{self.least:g}{upper}"


def function_of(command: str) -> Callable[..., Any]:
    """The function behind a command, loaded when it is asked for."""
    module = import_module(f"prefpairs.cli.commands.{command}")
    function: Callable[..., Any] = getattr(module, command)
    return function


def words_of(command: str) -> list[Word]:
    """The arguments and options of a command, in the order in which they are declared."""
    return [*map(_word, inspect.signature(function_of(command)).parameters.values())]


def _word(parameter: inspect.Parameter) -> Word:
    words = parameter.annotation.__metadata__[0]
    is_option = type(words).__name__ == "OptionInfo"
    return Word(
        names=option_names(parameter.name, words) if is_option else [],
        metavar=words.metavar.strip(),
        help=words.help,
        panel=words.rich_help_panel or ("Options" if is_option else "Arguments"),
        default=parameter.default,
        tells_default=bool(words.show_default),
        least=getattr(words, "min", None),
        most=getattr(words, "max", None),
        repeated="list" in str(parameter.annotation.__origin__),
        number=next((kind for kind in ("int", "float") if kind in _kinds(parameter)), None),
    )


def _kinds(parameter: inspect.Parameter) -> list[str]:
    """The types of a value, such as int and NoneType."""
    kind = parameter.annotation.__origin__
    return [one.__name__ for one in get_args(kind) or [kind]]


_LAST = ("What is written", "How it runs", "When something is wrong")
"""Of all panels these are told last, in this order: every command has them, and few look there."""


def panels_of(command: str) -> dict[str, list[Word]]:
    """The words of a command by their panels; first what must be given, and what has a letter."""
    panels: dict[str, list[Word]] = {}
    for word in words_of(command):
        panels.setdefault(word.panel, []).append(word)
    for members in panels.values():
        members.sort(key=_rank)
    titles = sorted(panels, key=lambda title: _LAST.index(title) if title in _LAST else -1)
    return {title: panels[title] for title in titles}


def _rank(word: Word) -> int:
    """What must be given goes before what has a letter, and that before all else."""
    if word.is_required:
        return 0
    has_letter = len(word.names) > 1
    return 3 - has_letter * (2 if word.metavar else 1)


class Manual(NamedTuple):
    """What a docstring says: paragraphs, and the lines that can be typed."""

    paragraphs: list[str]
    examples: list[str]


def manual_of(command: str) -> Manual:
    """The docstring of a command. Lines that stand further in are examples."""
    blocks = (inspect.getdoc(function_of(command)) or "").split("\n\n")
    return Manual(
        [" ".join(block.split()) for block in blocks if not block.startswith(" ")],
        [inspect.cleandoc(block) for block in blocks if block.startswith(" ")],
    )
