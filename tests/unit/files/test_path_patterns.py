"""Patterns have the meaning of Python's glob module, but no folder is skipped."""

import glob
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefpairs.errors import FileError
from prefpairs.files.input_paths import find_inputs, is_pattern, paths_like

NAMES = ("a", "b", "a.d", ".h", "[x]", "r.jsonl")
PARTS = (
    "*",
    "**",
    "?",
    "a",
    "a*",
    "*.d",
    ".*",
    "[ab]",
    "[[]x]",
    "[",
    "r.jsonl",
    "*.jsonl",
    ".",
    "",
)
NOBODY = 65534


@contextmanager
def within(folder: str) -> Iterator[None]:
    """Work in a folder during a block."""
    before = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    try:
        yield
    finally:
        os.fchdir(before)
        os.close(before)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Run a block with permissions that apply, even if tests run as root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


@given(
    st.lists(st.tuples(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), st.booleans())),
    st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4), min_size=1, max_size=20),
)
def test_patterns_mean_what_they_do_in_python(
    made: list[tuple[list[str], bool]], patterns: list[list[str]]
) -> None:
    """The same matches as Python's glob, if all folders are readable."""
    with TemporaryDirectory() as folder, within(folder):
        for parts, is_folder in made:
            path = Path(*parts)
            if not any(part.is_file() for part in (path, *path.parents)):
                (path if is_folder else path.parent).mkdir(parents=True, exist_ok=True)
                if not path.exists():
                    path.touch()
        for pattern in map("/".join, patterns):
            if is_pattern(pattern) and not pattern.startswith("/"):
                found = set(glob.glob(pattern, recursive=True))
                there = {re.sub("/+", "/", path) for path in found if os.path.lexists(path)}
                assert paths_like(pattern) == sorted(there)


def test_links() -> None:
    """Links are followed; broken and cyclic ones are ignored."""
    with TemporaryDirectory() as folder, within(folder):
        os.makedirs("there/deep")
        Path("there/deep/r.jsonl").touch()
        os.symlink("there", "link")
        os.symlink("nowhere", "lost")
        os.symlink("round", "round")
        assert paths_like("*/deep/r.jsonl") == ["link/deep/r.jsonl", "there/deep/r.jsonl"]
        assert paths_like("**/r.jsonl") == ["link/deep/r.jsonl", "there/deep/r.jsonl"]


HIDDEN = ("runs/*/r.jsonl", "runs/**/r.jsonl", "runs/*/*/r")
"""Patterns that need a folder's contents, not only names."""


@pytest.mark.parametrize(
    ("mode", "word"),
    [(0o000, word) for word in (*HIDDEN, "runs/*/*.jsonl", "runs/*", "runs")]
    + [(0o444, word) for word in HIDDEN],
)
def test_no_folder_is_passed_over(tmp_path: Path, mode: int, word: str) -> None:
    """An unreadable folder among others is an error, since its files would be lost."""
    for name in ("a", "shut", "z"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "r.jsonl").touch()
    tmp_path.chmod(0o755)
    (tmp_path / "runs" / "shut").chmod(mode)
    try:
        with within(str(tmp_path)), as_nobody(), pytest.raises(FileError) as caught:
            find_inputs([word])
    finally:
        (tmp_path / "runs" / "shut").chmod(0o755)
    assert caught.value.problem == "Permission denied"
    assert caught.value.path.startswith("runs/shut")
