"""Only files/ opens, creates, lists or removes files; the exceptions are listed here."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import prefpairs

SOURCE = Path(prefpairs.__file__).parent

ALLOWED = {
    ("cli/main.py", "os.open"): "/dev/null, in place of standard streams that are closed",
    ("model/memory_guard.py", "open"): "/proc/self/statm: how much memory is in use",
    ("engine/rehearse.py", "tempfile.TemporaryDirectory"): "a cache folder for trl's libraries",
    ("render/page/document.py", "read_text"): "the page's own script and style, in the package",
}

FUNCTIONS = {
    "open",
    *(f"io.{name}" for name in ("FileIO", "open", "open_code")),
    *(
        f"os.{name}"
        for name in (
            "fdopen",
            "fwalk",
            "link",
            "listdir",
            "makedirs",
            "mkdir",
            "mkfifo",
            "open",
            "remove",
            "rename",
            "renames",
            "replace",
            "rmdir",
            "scandir",
            "symlink",
            "truncate",
            "unlink",
            "walk",
        )
    ),
}
MODULES = {"bz2", "glob", "gzip", "lzma", "pathlib", "shelve", "sqlite3", "tempfile", "zipfile"}
"""Modules whose functions or objects open files."""
METHODS = {"read_bytes", "read_text", "write_bytes", "write_text"}


def openings(code: str) -> Iterator[str]:
    """What a module uses to open files, by the names in its calls and imports.

    >>> [*openings("import os, gzip\\nwith open('f') as f: os.replace('f', 'g')")]
    ['gzip', 'open', 'os.replace']
    >>> [*openings("from os import open\\nfrom pathlib import Path\\nPath('f').read_bytes()")]
    ['os.open', 'pathlib.Path', 'read_bytes']
    """
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name in MODULES - {"tempfile"})
            case ast.ImportFrom(module=str(module), names=names):
                used = {f"{module}.{name.name}" for name in names}
                yield from sorted(used & FUNCTIONS if module not in MODULES else used)
            case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if (
                f"{owner}.{name}" in FUNCTIONS or owner == "tempfile"
            ):
                yield f"{owner}.{name}"
            case ast.Call(func=ast.Attribute(attr=name)) if name in METHODS:
                yield name


@pytest.mark.full
def test_only_files_opens_files() -> None:
    """Only the exceptions open files outside files/, and every exception is needed."""
    found = {
        (str(path.relative_to(SOURCE)), opening)
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "files"
        for opening in openings(path.read_text())
    }
    assert found == ALLOWED.keys()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("open('f')", ["open"]),
        ("import os\nos.open('f', 0)", ["os.open"]),
        ("from os import open as o", ["os.open"]),
        ("import sqlite3", ["sqlite3"]),
        ("import tempfile\ntempfile.mkstemp()", ["tempfile.mkstemp"]),
        ("file.write_bytes(b'')", ["write_bytes"]),
        ("import os\nos.stat('f')\nreader.open('f')\nread_text(1, 'prompt')", []),
    ],
)
def test_what_counts_as_opening(code: str, expected: list[str]) -> None:
    """The check finds calls and imports, and ignores other methods of these names."""
    assert [*openings(code)] == expected
