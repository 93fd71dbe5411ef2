"""Which generation of a trainer a release belongs to."""

import re
from collections.abc import Sequence

from prefpairs.errors import UsageError

_NUMBERS = re.compile(r"[^0-9]*([0-9]+)(?:\.([0-9]+))?.*")


def release_of(word: str | None, releases: Sequence[str]) -> str:
    """The generation of a release: the last one that is not newer, by default the newest.

    >>> release_of("v0.5.1", ["0.1", "0.4", "0.6"]), release_of(None, ["0.1", "0.6"])
    ('0.4', '0.6')
    """
    if not releases:
        return ""
    if word is None:
        return releases[-1]
    wanted = _version(word)
    if wanted is None:
        raise UsageError(f"--release {word}: expected a version", f"such as {releases[-1]}")
    older = [name for name in releases if (_version(name) or ()) <= wanted]
    if not older:
        raise UsageError(f"--release {word} cannot read this", f"{releases[0]} is the first")
    return older[-1]


def _version(word: str) -> tuple[int, int] | None:
    found = _NUMBERS.fullmatch(word)
    return None if found is None else (int(found[1]), int(found[2] or 0))
