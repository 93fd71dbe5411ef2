"""Commands called with options, as the command line calls them with groups of options."""

from collections.abc import Callable
from typing import Any

from prefpairs.cli.typer_adapter import groups_of, options_of
from prefpairs.option import options_in


def called(command: Callable[..., None], **given: Any) -> None:
    """Call a command with these options; the others have their defaults."""
    assert given.keys() <= {option.field for option in options_of(command)}
    command(
        **{
            name: group(
                **{
                    option.field: given[option.field]
                    for option in options_in(group)
                    if option.field in given
                }
            )
            for name, group in groups_of(command).items()
        }
    )
