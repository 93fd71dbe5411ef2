"""Which files the words on the command line mean, and what to call them."""

import errno
import os
import re
import resource
import shlex
import stat
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from prefpairs.errors import BadInput, FileError, UsageError
from prefpairs.files.file_system import exists, is_folder
from prefpairs.files.path_patterns import ABSENT, is_pattern, listed, paths_like
from prefpairs.limited_process import memory_taken

STDIN = "-"
_UNPACKED, _MOST_TIMES = 1_000_000_000, 200
_HELD, _HELD_TIMES = 256_000_000, 100
_TIMES_A_LINE = 32
_STDIN_LABEL = "stdin"
_SUFFIXES = (".jsonl", ".json", ".ndjson", ".parquet", ".trxp")
_DATABASES = (".db", ".sqlite", ".sqlite3")
_AROUND = ("manifest.json", "job.json", "dataset_info.json")
"""What stands beside the data in folders that we write, and holds no rows."""
_COMPRESSIONS = (".gz", ".zst")
_URL = re.compile("([a-z][a-z0-9+.-]*)://")
_FETCHES = {
    "http": "curl -fsSL {url} > rollouts.jsonl",
    "https": "curl -fsSL {url} > rollouts.jsonl",
    "s3": "aws s3 cp {url} rollouts.jsonl",
    "gs": "gcloud storage cp {url} rollouts.jsonl",
}
"""What brings a file here, by the scheme of its URL."""
_TABLES = {".csv": (",", "CSV"), ".tsv": ("\\t", "TSV")}
_TO_JSON_LINES = (
    'python3 -c \'import csv, json, sys; sys.stdout.writelines(json.dumps(row) + "\\n" for row in '
    'csv.DictReader(sys.stdin, delimiter="{delimiter}"))\' < {path} > {lines}  '
    "# its values are text: add --cast-score"
)


class Limits(NamedTuple):
    """How much of an input is taken for granted."""

    line: int = 64_000_000
    """The longest line, in bytes."""
    unpacked: int | None = None
    """What a packed file may unpack to; unless somebody says, 1 GB or 200 times its size."""

    def unpacked_from(self, packed: int) -> int:
        """What so many packed bytes may unpack to."""
        return self.unpacked or max(_UNPACKED, packed * _MOST_TIMES)

    def held_from(self, packed: int) -> int:
        """How much memory may be taken for what has to be held at once, out of so many bytes."""
        most = max(self.unpacked or 0, _HELD, packed * _HELD_TIMES)
        left = _memory_left()
        return most if left is None else min(most, left * 9 // 10)

    @property
    def item(self) -> int:
        """The largest row of a container: at least what a line has by default."""
        return max(self.line, within_memory(Limits()).line)


def within_memory(limits: Limits) -> Limits:
    """The limits, with a line that fits into what `ulimit -v` leaves of memory.

    orjson reserves eight bytes for each character, doubles its buffer until they fit, and crashes
    where it gets none: what it could not write must not come to it.
    """
    left = _memory_left()
    return limits if left is None else limits._replace(line=min(limits.line, left // _TIMES_A_LINE))


@cache
def _memory_left() -> int | None:
    """What a limit on memory leaves us, if there is one."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or not exists("/proc/self/statm"):
        return None
    return max(0, most - memory_taken())


class Input(NamedTuple):
    """One input: where it is, the short name it has in messages, and how much of it is taken."""

    path: str
    label: str
    limits: Limits = Limits()

    @property
    def is_stdin(self) -> bool:
        """Whether this is standard input."""
        return self.path == STDIN


def too_much(source: Input) -> BadInput:
    """The error of a packed file that holds more than is taken for granted."""
    problem = "it unpacks to more than a file of rows should, as decompression bombs do"
    return BadInput(source.label, problem, "--max-unpacked SIZE allows more")


def find_inputs(words: Sequence[str], limits: Limits = Limits()) -> list[Input]:  # noqa: B008
    """The inputs of a command, in order: files as given, globs and directories sorted."""
    limits = within_memory(limits)
    paths = [path for word in words or [STDIN] for path in _paths_of(word)]
    seen: set[object] = set()
    for path in paths:
        if (identity := _identity(path)) in seen:
            raise UsageError(f"{path} is named twice", "name each input once")
        seen.add(identity)
    return [Input(path, label, limits) for path, label in zip(paths, labels(paths), strict=True)]


def labels(paths: Sequence[str]) -> list[str]:
    """The shortest endings of paths that tell them apart.

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
    """The names in a path, as pathlib has them, in a fifth of its time: there may be many files."""
    root = ["/"] if path.startswith("/") else []
    return [*root, *(part for part in path.split("/") if part not in ("", "."))] or [path]


def _as_text(name: str) -> str:
    """A file name as it can be written, with bytes that are no UTF-8 spelt out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _paths_of(word: str) -> list[str]:
    there = None if word == STDIN else _status_of(word)
    if word == STDIN or (there is not None and not stat.S_ISDIR(there.st_mode)):
        _refuse_table(word)
        return [word]
    if there is not None:
        found = _data_in(word) or [
            path
            for name in sorted(_names_in(word))
            if not name.startswith(".") and is_folder(os.path.join(word, name))
            for path in _data_in(os.path.join(word, name))
        ]
        if not found:
            problem = "no .jsonl, .json, .parquet or .trxp file in this directory"
            if others := databases_in([word]):
                problem += f"; {others[0]} is read if it is named itself"
            raise FileError(word, problem)
        return found
    matches = paths_like(word) if is_pattern(word) else []
    if not matches:
        raise _absence(word)
    return [path for match in matches for path in _paths_of(match)]


def _status_of(word: str) -> os.stat_result | None:
    """What stands under a word, if anything does; a pattern may be the name of a file, too."""
    try:
        return os.stat(word)
    except OSError as error:
        if is_pattern(word) and error.errno not in (*ABSENT, errno.ENAMETOOLONG):
            raise FileError.of(word, error) from None
        return None  # if there is nothing to read, _absence says why


def _refuse_table(path: str) -> None:
    """Raise for files of which the name says that they are no JSON."""
    stem, ending = os.path.splitext(path)
    if ending.lower() in _TABLES:
        delimiter, name = _TABLES[ending.lower()]
        lines = shlex.quote(f"{os.path.basename(stem)}.jsonl")
        hint = _TO_JSON_LINES.format(delimiter=delimiter, path=shlex.quote(path), lines=lines)
        raise BadInput(path, f"{name} is not read; write it as JSON lines", hint)


def databases_in(words: Sequence[str]) -> list[str]:
    """The databases in folders that are named: what is in them often stands in lines, too."""
    return [
        os.path.join(word, name)
        for word in words
        if is_folder(word)
        for name in sorted(_names_in(word))
        if name.endswith(_DATABASES) and not name.startswith(".")
    ]


def _absence(word: str) -> FileError | UsageError:
    """Why there is nothing under a name: no such file, or a folder that may not be looked into."""
    if not word:
        return UsageError("an input has no name", "is a variable of your shell empty?")
    if scheme := _URL.match(word):
        fetch = _FETCHES.get(scheme[1], "download it, and name the file here")
        return UsageError(
            f"{word} is a URL, and prefpairs reads files and standard input",
            fetch.format(url=shlex.quote(word)),
        )
    try:
        os.stat(word)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            return FileError.of(word, error)
    return FileError(word, "no such file", missing=True)


def _data_in(folder: str) -> list[str]:
    return sorted(os.path.join(folder, name) for name in _names_in(folder) if _is_data(name))


def _names_in(folder: str) -> list[str]:
    try:
        return [entry.name for entry in listed(folder)]
    except OSError as error:
        raise FileError.of(folder, error) from None


def _identity(path: str) -> object:
    """What two names of one file share."""
    try:
        status = os.stat(0 if path == STDIN else path)
    except OSError:
        return path
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else path


def _is_data(name: str) -> bool:
    for compression in _COMPRESSIONS:
        name = name.removesuffix(compression)
    return name.endswith(_SUFFIXES) and not name.startswith(".") and name not in _AROUND
