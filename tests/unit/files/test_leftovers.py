"""Temporary files next to a target, and those that dead processes left there."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prefpairs.errors import FileError
from prefpairs.files.file_system import exists, is_file, is_folder
from prefpairs.files.folder_handle import FolderHandle

_DIES = """
import os, signal, sys
from prefpairs.files.folder_handle import FolderHandle
place = FolderHandle(os.path.dirname(sys.argv[1]))
make = place.create_temporary_folder if sys.argv[2] == "folder" else place.create_temporary_file
made = make(os.path.basename(sys.argv[1]))
os.kill(os.getpid(), signal.SIGKILL)
"""


def _left_by_a_dead_process(target: Path, kind: str) -> Path:
    done = subprocess.run([sys.executable, "-c", _DIES, str(target), kind], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = target.parent.glob(f".{target.name}.*")
    return left


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_leftovers_of_a_dead_process_are_removed(tmp_path: Path, kind: str) -> None:
    """A leftover is removed when the same target is written again, and only then."""
    left = _left_by_a_dead_process(tmp_path / "o.jsonl", kind)
    if kind == "folder":
        (left / "part").write_bytes(b"x")
    place = FolderHandle(str(tmp_path))
    other, _ = place.create_temporary_file("other.jsonl")
    assert left.exists()
    place.unlink(other)
    mine, _ = place.create_temporary_file("o.jsonl")
    assert os.listdir(tmp_path) == [mine]


def test_what_a_living_process_makes_stays(tmp_path: Path) -> None:
    """Temporary files of running processes stay, since two runs may write the same target."""
    place = FolderHandle(str(tmp_path))
    first, _ = place.create_temporary_file("o.jsonl")
    second, _ = place.create_temporary_file("o.jsonl")
    folder, _ = place.create_temporary_folder("o.jsonl")
    place.remove_leftovers("o.jsonl")
    assert {*os.listdir(tmp_path)} == {first, second, folder}


@pytest.mark.parametrize(
    "name",
    [
        ".o.jsonl.abcdefgh.tmp",
        ".o.jsonl.prefpairs-abc.tmp",
        "o.jsonl.prefpairs-abcdefgh.tmp",
        ".oxjsonl.prefpairs-abcdefgh.tmp",
        ".o.jsonl.prefpairs-abcdefgh.tmp.bak",
    ],
)
def test_files_of_others_stay(tmp_path: Path, name: str) -> None:
    """Files with other names stay."""
    (tmp_path / name).write_bytes(b"theirs")
    FolderHandle(str(tmp_path)).remove_leftovers("o.jsonl")
    assert os.listdir(tmp_path) == [name]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Neither a link nor its target is removed."""
    kept = tmp_path / "kept"
    kept.write_bytes(b"kept")
    (tmp_path / ".o.jsonl.prefpairs-abcdefgh.tmp").symlink_to(kept)
    FolderHandle(str(tmp_path)).remove_leftovers("o.jsonl")
    assert sorted(os.listdir(tmp_path)) == [".o.jsonl.prefpairs-abcdefgh.tmp", "kept"]


def test_removed_before_it_was_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a new file is removed before it is locked, another one is created."""
    lock = fcntl.flock
    taken: list[str] = []

    def late(descriptor: int, how: int) -> None:
        if not taken:
            (name,) = os.listdir(tmp_path)
            taken.append(name)
            os.unlink(tmp_path / name)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    name, _ = FolderHandle(str(tmp_path)).create_temporary_file("o.jsonl")
    assert name not in taken
    assert os.listdir(tmp_path) == [name]


def test_while_another_process_holds_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process holds the lock, another file is created."""
    lock = fcntl.flock
    refused: list[int] = []

    def held(descriptor: int, how: int) -> None:
        if not refused:
            refused.append(descriptor)
            raise BlockingIOError
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", held)
    name, _ = FolderHandle(str(tmp_path)).create_temporary_file("o.jsonl")
    assert len(os.listdir(tmp_path)) == 2
    assert (tmp_path / name).exists()


def test_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are created, and none is removed."""

    def none(_descriptor: int, _how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", none)
    place = FolderHandle(str(tmp_path))
    name, _ = place.create_temporary_file("o.jsonl")
    place.remove_leftovers("o.jsonl")
    assert os.listdir(tmp_path) == [name]


def test_a_pipe_with_such_a_name(tmp_path: Path) -> None:
    """A pipe with such a name stays and does not block."""
    os.mkfifo(tmp_path / ".o.jsonl.prefpairs-abcdefgh.tmp")
    FolderHandle(str(tmp_path)).remove_leftovers("o.jsonl")
    assert os.listdir(tmp_path) == [".o.jsonl.prefpairs-abcdefgh.tmp"]


def test_names_of_long_characters(tmp_path: Path) -> None:
    """The longest possible name of a target leaves room for its temporary file."""
    target = tmp_path / ("\N{GRINNING FACE}" * 62)
    left = _left_by_a_dead_process_of(target)
    place = FolderHandle(str(tmp_path))
    name, _ = place.create_temporary_file(target.name)
    assert not left.exists()
    place.move(name, place, target.name)
    assert os.listdir(tmp_path) == [target.name]


def _left_by_a_dead_process_of(target: Path) -> Path:
    subprocess.run([sys.executable, "-c", _DIES, str(target), "file"], check=False)
    (left,) = target.parent.iterdir()
    return left


def test_folder_removed_before_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a new folder is removed before it is opened, another one is created."""
    place, opening = FolderHandle(str(tmp_path)), os.open
    taken: list[str] = []

    def late(path: str, *rest: int, **more: Any) -> int:
        if not taken:
            taken.append(path)
            os.rmdir(tmp_path / path)
        return opening(path, *rest, **more)

    monkeypatch.setattr(os, "open", late)
    name, _ = place.create_temporary_folder("o")
    assert os.listdir(tmp_path) == [name]
    assert taken != [name]


@pytest.mark.parametrize("ask", [exists, is_file, is_folder])
def test_trouble_is_no_answer(tmp_path: Path, ask: Callable[[str], bool]) -> None:
    """An error other than a missing file is raised."""
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="symbolic links"):
        ask(str(tmp_path / "round"))
    assert not ask(str(tmp_path / "nothing"))
    assert not ask(str(tmp_path / "file" / "x"))
    assert ask(str(tmp_path)) == (ask is not is_file)
    assert ask(str(tmp_path / "file")) == (ask is not is_folder)
