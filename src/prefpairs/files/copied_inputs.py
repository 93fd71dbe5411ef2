"""Inputs that look like copies of other inputs."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from prefpairs.errors import FileError
from prefpairs.files.file_system import opened_if_regular
from prefpairs.files.input_file import STDIN, Input

_COMPARED = 1 << 16


def copies_among(inputs: Sequence[Input]) -> Iterator[tuple[Input, Input]]:
    """Inputs that are as long as an earlier one, and begin and end as it does; and that one."""
    by_size: dict[int, list[Input]] = {}
    for given in inputs:
        with suppress(OSError):
            if given.path != STDIN and (size := os.path.getsize(given.path)):
                by_size.setdefault(size, []).append(given)
    for alike in by_size.values():
        first: dict[bytes, Input] = {}
        for given in alike if len(alike) > 1 else ():
            with suppress(FileError):
                ends = _ends(given.path)
                if ends and first.setdefault(ends, given) is not given:
                    yield given, first[ends]


def _ends(path: str) -> bytes:
    """The beginning and the end of a file; empty if it is no regular file."""
    with opened_if_regular(path) as file:
        if file is None:
            return b""
        begin = file.read(_COMPARED)
        file.seek(max(0, os.fstat(file.fileno()).st_size - _COMPARED))
        return begin + file.read(_COMPARED)
