"""Libraries that only some options need, and how to install those that are missing."""

import shlex
import sys
from importlib.util import find_spec

from prefpairs.errors import UsageError


def missing_library(what: str, extra: str) -> UsageError:
    """The error for a library that is not installed, with the command that installs it here."""
    return UsageError(f"{what} needs a library that is not installed", install_command(extra))


def install_command(extra: str) -> str | None:
    """The command that adds the libraries of an extra to the Python that runs this copy.

    It names the libraries themselves: `prefpairs[extra]` would look for a package of our name on
    an index, whoever has put it there.

    >>> install_command("near").endswith(" install 'rensa<0.6,>=0.5'")
    True
    """
    libraries = _libraries_of(extra)
    if not libraries:
        return None
    pip = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:  # as in the environments that uv makes
        pip = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*pip, *libraries])


def _libraries_of(extra: str) -> list[str]:
    """What the metadata of this copy lists under an extra, without conditions on Python."""
    from importlib import metadata

    try:
        listed = metadata.requires("prefpairs") or []
    except metadata.PackageNotFoundError:  # run from its sources, without an installation
        return []
    marked = [requirement.partition(";") for requirement in listed]
    return [
        library.strip()
        for library, _, marker in marked
        if f"extra == '{extra}'" in marker.replace('"', "'")
    ]
