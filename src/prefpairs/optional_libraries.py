"""Libraries that only some options need, and how to install them."""

import shlex
import sys
from importlib.util import find_spec

from prefpairs.errors import UsageError


def missing_library(what: str, extra: str) -> UsageError:
    """The error for a missing library, with the command that installs it."""
    return UsageError(f"{what} needs a library that is not installed", install_command(extra))


def install_command(extra: str) -> str | None:
    """The command that installs the libraries of an extra for the running Python.

    It names the libraries themselves: `prefpairs[extra]` would install whatever package has our
    name on an index.

    >>> install_command("near").endswith(" install 'rensa<0.6,>=0.5'")
    True
    """
    libraries = _libraries_of(extra)
    if not libraries:
        return None
    pip = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:  # as in environments created by uv
        pip = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*pip, *libraries])


def _libraries_of(extra: str) -> list[str]:
    """The libraries of an extra according to our metadata, without conditions on Python."""
    from importlib import metadata

    try:
        listed = metadata.requires("prefpairs") or []
    except metadata.PackageNotFoundError:  # run from source without installation
        return []
    marked = [requirement.partition(";") for requirement in listed]
    return [
        library.strip()
        for library, _, marker in marked
        if f"extra == '{extra}'" in marker.replace('"', "'")
    ]
