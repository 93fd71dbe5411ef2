"""Hints by kind of error, out of a TOML file."""

import tomllib

from prefpairs.errors import BadInput
from prefpairs.files.input_stamps import read_noted


def read_hints(path: str) -> dict[str, str]:
    """The hint of each kind of error."""
    data = read_noted(path)
    try:
        hints = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(path, f"no TOML ({error})") from None
    for kind, hint in hints.items():
        if not isinstance(hint, str):
            raise BadInput(
                path, f"{kind} is no text", 'tool_not_found = "There is no {tool_name}."'
            )
    return hints
