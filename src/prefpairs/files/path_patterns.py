"""Which paths a pattern such as `runs/*/rollouts.jsonl` means.

It means what it does in Python's glob module, which passes over folders that it may not list. Here
they are errors: files that nobody looked at would be lost without a word.
"""

import errno
import fnmatch
import os
import re
from collections.abc import Iterator

from prefpairs.errors import FileError

_MAGIC = re.compile(r"[*?[]")
_ANY_DEPTH = "**"
ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""What the system says where nothing is there, or a link that leads nowhere."""


def is_pattern(word: str) -> bool:
    """Whether a word may mean several paths."""
    return _MAGIC.search(word) is not None


def paths_like(pattern: str) -> list[str]:
    """The paths that a pattern means, sorted."""
    *parts, last = pattern.split("/")
    folders = ["/" if pattern.startswith("/") else ""]  # a name may follow each of them
    for part in filter(None, parts):
        folders = [found for folder in folders for found in _folders_like(folder, part)]
    return sorted({path for folder in folders for path in _paths_in(folder, last)} - {""})


def _folders_like(folder: str, part: str) -> Iterator[str]:
    """What a part in the middle of a pattern adds to a folder."""
    if part == _ANY_DEPTH:
        yield folder
        for entry in _visible(folder):
            if _is_folder(entry):
                yield from _folders_like(f"{folder}{entry.name}/", part)
    elif is_pattern(part):
        yield from (f"{path}/" for path in _paths_in(folder, part))
    else:
        yield f"{folder}{part}/"


def _paths_in(folder: str, part: str) -> Iterator[str]:
    """What the last part of a pattern means in a folder."""
    if part == _ANY_DEPTH:
        yield from _paths_in(folder, "")
        for inner in _folders_like(folder, part):
            yield from (f"{inner}{entry.name}" for entry in _visible(inner))
    elif is_pattern(part):
        fits = re.compile(fnmatch.translate(part)).match
        entries = _entries(folder) if part.startswith(".") else _visible(folder)
        yield from (f"{folder}{entry.name}" for entry in entries if fits(entry.name))
    elif _is_there(folder + part):
        yield folder + part


def _visible(folder: str) -> "list[os.DirEntry[str]]":
    return [entry for entry in _entries(folder) if not entry.name.startswith(".")]


def _entries(folder: str) -> "list[os.DirEntry[str]]":
    try:
        return listed(folder or ".")
    except OSError as error:
        _raise_trouble(folder, error)
    return []


def listed(folder: str) -> "list[os.DirEntry[str]]":
    """What is in a folder. If a signal comes between, it is asked again, as with open()."""
    while True:
        try:
            with os.scandir(folder) as entries:
                return [*entries]
        except InterruptedError:
            continue


def _is_there(path: str) -> bool:
    try:
        os.lstat(path or ".")
    except OSError as error:
        _raise_trouble(path, error)
        return False
    return True


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        _raise_trouble(entry.path, error)
    return False


def _raise_trouble(path: str, error: OSError) -> None:
    """Raise what the system says, with the name; that nothing is there is no trouble."""
    if error.errno not in ABSENT:
        raise FileError.of(path.rstrip("/") or "the working directory", error) from None
