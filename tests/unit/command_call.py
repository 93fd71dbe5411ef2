"""Calls commands with options as the command line does."""

from collections.abc import Callable
from typing import Any

from prefpairs.cli.typer_adapter import groups_of, options_of
from prefpairs.option import filled


def called(command: Callable[..., None], **given: Any) -> None:
    """Call a command with these options; the others have their defaults."""
    assert given.keys() <= {option.field for option in options_of(command)}
    command(**{name: filled(group, given) for name, group in groups_of(command).items()})
