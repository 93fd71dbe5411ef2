"""One input of a command: its path, its name in messages, and how much of it may be read."""

import os
import re
import resource
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from prefpairs.errors import BadInput
from prefpairs.files.file_system import exists
from prefpairs.model.memory_guard import memory_taken
from prefpairs.model.record_layout import RecordLayout, TableLayout

STDIN = "-"
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_TABLE = re.compile(r"\.(csv|tsv)(?:\.gz|\.zst)?\Z")
_UNPACKED, _MOST_TIMES = 1_000_000_000, 200
_HELD, _HELD_TIMES = 256_000_000, 100
_TIMES_A_LINE = 32
_STDIN_LABEL = "stdin"
_SIDES = {
    "train": "train",
    "training": "train",
    "val": "val",
    "validation": "val",
    "valid": "val",
    "dev": "val",
    "eval": "val",
    "test": "test",
}
"""What file names call the sides of a split."""


class Limits(NamedTuple):
    """How much of an input may be read."""

    line: int = 64_000_000
    """The longest line, in bytes."""
    unpacked: int | None = None
    """What a compressed file may unpack to; by default 1 GB or 200 times its size."""

    def unpacked_from(self, packed: int) -> int:
        """What this number of compressed bytes may unpack to."""
        return self.unpacked or max(_UNPACKED, packed * _MOST_TIMES)

    def held_from(self, packed: int) -> int:
        """How much memory may be used for what must be held at once, for this number of bytes."""
        most = max(self.unpacked or 0, _HELD, packed * _HELD_TIMES)
        left = _memory_left()
        return most if left is None else min(most, left * 9 // 10)

    @property
    def item(self) -> int:
        """The largest row of a container: at least what a line has by default."""
        return max(self.line, within_memory(Limits()).line)


def within_memory(limits: Limits) -> Limits:
    """The limits, with a longest line that fits into the memory that `ulimit -v` allows.

    orjson reserves eight bytes for each character, doubles its buffer until they fit, and crashes
    if it gets no memory, so it must never see a row that is too large to write.
    """
    left = _memory_left()
    return limits if left is None else limits._replace(line=min(limits.line, left // _TIMES_A_LINE))


@cache
def _memory_left() -> int | None:
    """The memory left under a limit, if there is one."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or not exists("/proc/self/statm"):
        return None
    return max(0, most - memory_taken())


class Input(NamedTuple):
    """One input: its path, its short name in messages, and how much of it may be read.

    Inputs of rollouts have the known layouts; then an object over several lines is a record, too.
    Datasets are read as their loaders read them, which is line by line.
    """

    path: str
    label: str
    limits: Limits = Limits()
    layouts: tuple[RecordLayout, ...] = ()
    rows: str | None = None
    """Where a document holds the list of its rows."""
    tables: tuple[TableLayout, ...] = ()
    """The tables in which several rows are one record."""
    beside: tuple[str, str] | None = None
    """The key under which another file is added to the record, and the path of that file."""
    part: tuple[int, int, int] | None = None
    """The range of its lines, if only that is read, and how many lines come before it."""
    named: frozenset[str] = frozenset()
    """The fields that options name: large ones are read only if they are wanted."""

    @property
    def delimiter(self) -> str | None:
        """What stands between the cells of a row, if the name says that this is a table."""
        found = _TABLE.search(self.path.lower())
        return None if found is None else _DELIMITERS[found[1]]

    @property
    def is_stdin(self) -> bool:
        """Whether this is standard input."""
        return self.path == STDIN


def too_much(source: Input) -> BadInput:
    """The error of a compressed file that unpacks to more than the limit."""
    problem = "it unpacks to more than a file of rows should, as decompression bombs do"
    return BadInput(source.label, problem, "--max-unpacked SIZE allows more")


def labels(paths: Sequence[str]) -> list[str]:
    """The shortest endings of paths that differ from each other.

    >>> labels(["runs/a/rollouts.jsonl", "runs/b/rollouts.jsonl", "old.jsonl"])
    ['a/rollouts.jsonl', 'b/rollouts.jsonl', 'old.jsonl']
    """
    parts = [_parts_of(path) for path in paths]
    lengths = [1] * len(paths)
    while True:
        endings = ["/".join(part[-size:]) for part, size in zip(parts, lengths, strict=True)]
        shared = {ending for ending, count in Counter(endings).items() if count > 1}
        longer = [
            size + (ending in shared and size < len(part))
            for ending, size, part in zip(endings, lengths, parts, strict=True)
        ]
        if longer == lengths:
            return [
                _STDIN_LABEL if path == STDIN else _as_text(ending)
                for path, ending in zip(paths, endings, strict=True)
            ]
        lengths = longer


def _parts_of(path: str) -> list[str]:
    """The parts of a path, as pathlib gives them, five times faster: there may be many files."""
    root = ["/"] if path.startswith("/") else []
    return [*root, *(part for part in path.split("/") if part not in ("", "."))] or [path]


def _as_text(name: str) -> str:
    """A file name as text, with bytes that are not UTF-8 escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def side_in_name(path: str) -> str | None:
    """The side of a split that the name of a file or of its folder contains, if any.

    >>> side_in_name("data/val.jsonl"), side_in_name("validation/1.jsonl"), side_in_name("a.jsonl")
    ('val', 'val', None)
    """
    folder, name = os.path.split(path.lower())
    words = [*re.split(r"[^a-z]+", name), os.path.basename(folder)]
    return next((_SIDES[word] for word in words if word in _SIDES), None)


def side_of(path: str) -> str:
    """The same, and `train` for every other file."""
    return side_in_name(path) or "train"
