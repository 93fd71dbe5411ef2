"""What a command says about itself: its options by panel, and its docstring with examples."""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from prefpairs.cli.typer_adapter import options_of
from prefpairs.option import Option

EVERYWHERE = ("-h", "--help")
"""The option that every command has."""

_LAST = ("Output", "Execution", "Bad rows and limits")
"""The panels that come last, in this order: every command has them, and few look there."""


def function_of(command: str) -> Callable[..., Any]:
    """The function behind a command, loaded when it is asked for."""
    module = import_module(f"prefpairs.cli.commands.{command}")
    function: Callable[..., Any] = getattr(module, command)
    return function


def options_of_command(command: str) -> list[Option]:
    """The arguments and options of a command, in the order in which they are declared."""
    return options_of(function_of(command))


def panels_of(command: str) -> dict[str, list[Option]]:
    """The options of a command by panel; required ones first, then those that have a letter."""
    panels: dict[str, list[Option]] = {}
    for option in options_of_command(command):
        panels.setdefault(option.panel, []).append(option)
    for members in panels.values():
        members.sort(key=_rank)
    titles = sorted(panels, key=lambda title: _LAST.index(title) if title in _LAST else -1)
    return {title: panels[title] for title in titles}


def _rank(option: Option) -> int:
    if option.is_required:
        return 0
    has_letter = len(option.names) > 1
    return 3 - has_letter * (2 if option.metavar else 1)


class Manual(NamedTuple):
    """What a docstring says: paragraphs, and the lines that can be typed."""

    paragraphs: list[str]
    examples: list[str]


def manual_of(command: str) -> Manual:
    """The docstring of a command. Indented lines are examples."""
    blocks = (inspect.getdoc(function_of(command)) or "").split("\n\n")
    return Manual(
        [" ".join(block.split()) for block in blocks if not block.startswith(" ")],
        [inspect.cleandoc(block) for block in blocks if block.startswith(" ")],
    )
