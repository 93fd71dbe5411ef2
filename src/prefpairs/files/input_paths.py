"""The files that a command's arguments mean: files, directories and patterns (`runs/*/*.jsonl`).

Patterns mean what they do in Python's glob module, except that glob skips directories it may not
list. Here that is an error: otherwise files would be missed without a word.
"""

import errno
import fnmatch
import os
import re
import shlex
import stat
from collections.abc import Iterator, Sequence

from prefpairs.errors import BadInput, EmptyName, FileError, UsageError
from prefpairs.files.file_system import exists, is_folder
from prefpairs.files.input_file import STDIN, Input, Limits, labels, within_memory
from prefpairs.model.record_layout import RecordLayout, TableLayout

_SUFFIXES = (".jsonl", ".json", ".ndjson", ".parquet", ".trxp", ".eval", ".traj")
_DATABASES = (".db", ".sqlite", ".sqlite3")
_AROUND = ("manifest.json", "job.json", "dataset_info.json")
"""Files without rows in the directories we write."""
_COMPRESSIONS = (".gz", ".zst")
_URL = re.compile("([a-z][a-z0-9+.-]*)://")
_FETCHES = {
    "http": "curl -fsSL {url} > rollouts.jsonl",
    "https": "curl -fsSL {url} > rollouts.jsonl",
    "s3": "aws s3 cp {url} rollouts.jsonl",
    "gs": "gcloud storage cp {url} rollouts.jsonl",
}
"""The command that downloads a file, by the scheme of its URL."""
_TABLES = {".csv": (",", "CSV"), ".tsv": ("\\t", "TSV")}
_TO_JSON_LINES = (
    'python3 -c \'import csv, json, sys; sys.stdout.writelines(json.dumps(row) + "\\n" for row in '
    'csv.DictReader(sys.stdin, delimiter="{delimiter}"))\' < {path} > {lines}  '
    "# its values are text: add --cast-score"
)
_MAGIC = re.compile(r"[*?[]")
_ANY_DEPTH = "**"
ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""The errors of a path where nothing exists, or of a broken link."""


def find_inputs(
    words: Sequence[str],
    limits: Limits = Limits(),  # noqa: B008
    layouts: tuple[RecordLayout, ...] = (),
    rows: str | None = None,
    tables: tuple[TableLayout, ...] = (),
) -> list[Input]:
    """The inputs of a command, in order: files as given, patterns and directories sorted."""
    limits = within_memory(limits)
    paths = [path for word in words or [STDIN] for path in _paths_of(word, layouts)]
    seen: set[object] = set()
    for path in paths:
        if (identity := _identity(path)) in seen:
            raise UsageError(f"{path} is named twice", "name each input once")
        seen.add(identity)
    return [
        Input(path, label, limits, layouts, rows, tables, _beside(path, layouts))
        for path, label in zip(paths, labels(paths), strict=True)
    ]


def _beside(path: str, layouts: Sequence[RecordLayout]) -> tuple[str, str] | None:
    """The file that is part of the record in this file, and its key."""
    for layout in layouts:
        if _is_record(path, layout):
            for other in layout.beside:
                found = os.path.join(os.path.dirname(path), other)
                if exists(found):
                    return layout.key, found
    return None


def _is_record(path: str, layout: RecordLayout) -> bool:
    return path != STDIN and layout.records.search(os.path.abspath(path)) is not None


def _paths_of(word: str, layouts: Sequence[RecordLayout] = ()) -> list[str]:
    there = None if word == STDIN else _status_of(word)
    if word == STDIN or (there is not None and not stat.S_ISDIR(there.st_mode)):
        if not layouts:
            _refuse_table(word)
        return [word]
    if there is not None:
        found = _nearest_files(word, layouts)
        if not found:
            problem = "no .jsonl, .json, .parquet, .trxp, .eval or .traj file in this directory"
            if others := databases_in([word]):
                problem += f"; {others[0]} is read if it is named itself"
            raise FileError(word, problem)
        return found
    matches = paths_like(word) if is_pattern(word) else []
    if not matches:
        raise _absence(word)
    return [path for match in matches for path in _paths_of(match, layouts)]


def _nearest_files(folder: str, layouts: Sequence[RecordLayout]) -> list[str]:
    """The data files in a folder, or else in the nearest folders in it that have some.

    Where these are the records of a layout, its other files are left out.
    """
    folders, seen = [folder], set[object]()
    found: list[str] = []
    while folders:
        files = [path for folder in folders for path in _data_in(folder)]
        for layout in layouts:
            if records := [path for path in files if _is_record(path, layout)]:
                return records
        found = found or files
        names = {os.path.basename(path) for path in files}
        if found and not any(layout.marker in names for layout in layouts):
            break
        folders = [inner for folder in folders for inner in _folders_in(folder, seen)]
    return found


def _status_of(word: str) -> os.stat_result | None:
    """The status of a path, or None. A pattern may also be the name of a file."""
    try:
        return os.stat(word)
    except OSError as error:
        if is_pattern(word) and error.errno not in (*ABSENT, errno.ENAMETOOLONG):
            raise FileError.of(word, error) from None
        return None  # _absence says why, if nothing is found


def _refuse_table(path: str) -> None:
    """Raise for files whose name says that they are not JSON."""
    stem, ending = os.path.splitext(path)
    if ending.lower() in _TABLES:
        delimiter, name = _TABLES[ending.lower()]
        lines = shlex.quote(f"{os.path.basename(stem)}.jsonl")
        hint = _TO_JSON_LINES.format(delimiter=delimiter, path=shlex.quote(path), lines=lines)
        raise BadInput(path, f"{name} is not read; write it as JSON lines", hint)


def databases_in(words: Sequence[str]) -> list[str]:
    """The databases in directories: they often hold the same rows as the files next to them."""
    return [
        os.path.join(word, name)
        for word in words
        if is_folder(word)
        for name in sorted(_names_in(word))
        if name.endswith(_DATABASES) and not name.startswith(".")
    ]


def _absence(word: str) -> FileError | UsageError:
    """Why nothing was found: no such file, or a directory that may not be read."""
    if not word:
        return EmptyName("the name of an input")
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


def _folders_in(folder: str, seen: set[object]) -> Iterator[str]:
    """The folders in a folder that were not seen before: links may lead round in a circle."""
    for name in sorted(_names_in(folder)):
        path = os.path.join(folder, name)
        if name.startswith(".") or not is_folder(path):
            continue
        status = os.stat(path)
        if (place := (status.st_dev, status.st_ino)) not in seen:
            seen.add(place)
            yield path


def _names_in(folder: str) -> list[str]:
    try:
        return [entry.name for entry in folder_entries(folder)]
    except OSError as error:
        raise FileError.of(folder, error) from None


def _identity(path: str) -> object:
    """What two names of the same file have in common."""
    try:
        status = os.stat(0 if path == STDIN else path)
    except OSError:
        return path
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else path


def _is_data(name: str) -> bool:
    for compression in _COMPRESSIONS:
        name = name.removesuffix(compression)
    return name.endswith(_SUFFIXES) and not name.startswith(".") and name not in _AROUND


def is_pattern(word: str) -> bool:
    """Whether a word may match several paths."""
    return _MAGIC.search(word) is not None


def paths_like(pattern: str) -> list[str]:
    """The paths that match a pattern, sorted."""
    *parts, last = pattern.split("/")
    folders = ["/" if pattern.startswith("/") else ""]  # a name can be appended to each
    for part in filter(None, parts):
        folders = [found for folder in folders for found in _folders_like(folder, part)]
    return sorted({path for folder in folders for path in _paths_in(folder, last)} - {""})


def _folders_like(folder: str, part: str) -> Iterator[str]:
    """The folders that match a part in the middle of a pattern."""
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
    """The paths in a folder that match the last part of a pattern."""
    if part == _ANY_DEPTH:
        yield from _paths_in(folder, "")
        for inner in _folders_like(folder, part):
            yield from (f"{inner}{entry.name}" for entry in _visible(inner))
    elif is_pattern(part):
        fits = re.compile(fnmatch.translate(part)).match
        entries = _entries(folder) if part.startswith(".") else _visible(folder)
        yield from (f"{folder}{entry.name}" for entry in entries if fits(entry.name))
    elif _exists(folder + part):
        yield folder + part


def _visible(folder: str) -> "list[os.DirEntry[str]]":
    return [entry for entry in _entries(folder) if not entry.name.startswith(".")]


def _entries(folder: str) -> "list[os.DirEntry[str]]":
    try:
        return folder_entries(folder or ".")
    except OSError as error:
        _raise_error(folder, error)
    return []


def folder_entries(folder: str) -> "list[os.DirEntry[str]]":
    """The entries of a folder. If a signal interrupts, try again, as open() does."""
    while True:
        try:
            with os.scandir(folder) as entries:
                return [*entries]
        except InterruptedError:
            continue


def _exists(path: str) -> bool:
    try:
        os.lstat(path or ".")
    except OSError as error:
        _raise_error(path, error)
        return False
    return True


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        _raise_error(entry.path, error)
    return False


def _raise_error(path: str, error: OSError) -> None:
    """Raise an error that names the path, unless it is that nothing exists there."""
    if error.errno not in ABSENT:
        raise FileError.of(path.rstrip("/") or "the working directory", error) from None
