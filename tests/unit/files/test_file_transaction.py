"""The files of a run appear together or not at all, with the bytes that were written."""

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.errors import FileError
from prefpairs.files import folder_handle
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.folder_handle import FolderHandle
from prefpairs.files.output import open_output, open_output_folder, write_file
from prefpairs.files.parquet_writer import open_table


def _content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _write_all(folder: Path, transaction: FileTransaction, new: bytes = b"new\n") -> None:
    with (
        open_output_folder(
            str(folder / "d"), ["a", "s/b"], ["a", "s/b", "c"], transaction=transaction
        ) as files,
        open_output(str(folder / "o.jsonl"), transaction=transaction) as output,
    ):
        for file in (*files.values(), output):
            file.write(new)
    write_file(str(folder / "s.json"), new, transaction)
    write_file(str(folder / "d" / "manifest.json"), new, transaction)


OLD = {
    "d/a": b"old\n",
    "d/c": b"old\n",
    "d/manifest.json": b"old\n",
    "o.jsonl": b"old\n",
    "s.json": b"old\n",
}
NEW = dict.fromkeys(["d/a", "d/manifest.json", "d/s/b", "o.jsonl", "s.json"], b"new\n")


def _old(folder: Path) -> None:
    (folder / "d").mkdir()
    for name, content in OLD.items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("there", [True, False])
def test_all_appear(tmp_path: Path, there: bool) -> None:
    """A folder, a file, and files next to and inside it appear, none before the end."""
    if there:
        _old(tmp_path)
    with FileTransaction() as transaction:
        _write_all(tmp_path, transaction)
        before = {name: text for name, text in _content(tmp_path).items() if "tmp" not in name}
        assert before == (OLD if there else {})
    assert _content(tmp_path) == NEW


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("fails", range(1, 12))
def test_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int, there: bool
) -> None:
    """Whichever rename fails, everything is restored."""
    if there:
        _old(tmp_path)
    calls = iter(range(1, 100))
    move = FolderHandle.move

    def failing(place: FolderHandle, name: str, to: FolderHandle, new: str) -> None:
        if next(calls) == fails:
            raise OSError(5, "Input/output error")
        move(place, name, to, new)

    if fails > (8 if there else 3):
        return
    monkeypatch.setattr(FolderHandle, "move", failing)
    with pytest.raises(FileError, match="Input/output error"), FileTransaction() as transaction:
        _write_all(tmp_path, transaction)
    assert _content(tmp_path) == (OLD if there else {})


def test_a_file_system_without_second_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without hard links, files still appear."""
    _old(tmp_path)

    def none(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(FolderHandle, "link", none)
    with FileTransaction() as transaction:
        _write_all(tmp_path, transaction)
    assert _content(tmp_path) == NEW


# Reported and written bytes are the same --------------------------------------------------


@examples(50)
@given(st.lists(st.binary(max_size=400_000), max_size=5), st.sampled_from(["", ".gz", ".zst"]))
def test_digest_of_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], ending: str
) -> None:
    """The digest is that of the file, compressed or not, written in any pieces."""
    folder = tmp_path_factory.mktemp("here")
    path = str(folder / f"o.jsonl{ending}")
    with FileTransaction(hashed=True) as transaction:
        with (
            open_output(path, transaction=transaction) as output,
            open_output_folder(str(folder / "d"), ["a"], ["a"], transaction=transaction) as files,
        ):
            for part in parts:
                output.write(part)
                files["a"].write(part)
        written = [transaction.digest_of(path), transaction.digest_of(str(folder / "d" / "a"))]
    for found, name in zip(written, (path, str(folder / "d" / "a")), strict=True):
        content = Path(name).read_bytes()
        assert found == (len(content), hashlib.sha256(content).hexdigest())


def test_digest_of_a_table(tmp_path: Path) -> None:
    """The same for Parquet."""
    path = str(tmp_path / "o.parquet")
    with FileTransaction(hashed=True) as transaction:
        with open_table(path, transaction=transaction) as table:
            table.begin({"a": "string"})
            for number in range(3000):
                table.write(b'{"a": "%d"}\n' % number)
        written = transaction.digest_of(path)
    content = Path(path).read_bytes()
    assert written == (len(content), hashlib.sha256(content).hexdigest())


@contextmanager
def _interfering(
    monkeypatch: pytest.MonkeyPatch, name: str, doing: Callable[[], Any]
) -> Iterator[None]:
    """Another program acts just after a file got its name."""
    move = FolderHandle.move

    def moving(place: FolderHandle, old: str, to: FolderHandle, new: str) -> None:
        move(place, old, to, new)
        if new == name:
            doing()

    with monkeypatch.context() as patched:
        patched.setattr(FolderHandle, "move", moving)
        yield


@pytest.mark.parametrize("how", ["replaced", "longer", "gone"])
@pytest.mark.parametrize("name", ["o.jsonl", "d/a"])
def test_the_final_file_is_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, how: str
) -> None:
    """A file that was changed by others is an error; their file stays, nothing else is left."""
    path, theirs = tmp_path / name, tmp_path / "theirs"
    _old(tmp_path)
    theirs.write_bytes(b"theirs\n")

    def interfere() -> None:
        if how == "replaced":
            theirs.replace(path)
        elif how == "longer":
            with path.open("ab") as file:
                file.write(b"more\n")
        else:
            path.unlink()

    with (
        _interfering(monkeypatch, path.name, interfere),
        pytest.raises(FileError, match="another program changed it") as caught,
        FileTransaction() as transaction,
    ):
        _write_all(tmp_path, transaction)
    assert caught.value.path == str(path)
    found = _content(tmp_path)
    found.pop("theirs", None)
    aside = [found.pop(kept) for kept in [*found] if "/.old." in kept]
    now = {"replaced": b"theirs\n", "longer": b"new\nmore\n", "gone": found.get(name)}
    assert {**found, name: now[how]} == {**OLD, name: found.get(name)}
    assert aside == ([b"old\n"] if name == "d/a" and how != "gone" else [])


# Two runs ---------------------------------------------------------------------------------


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Another run holds the lock of the folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


def test_a_run_waits_for_another_one(tmp_path: Path) -> None:
    """A run waits until the other one is done."""
    _old(tmp_path)
    done = []

    def write() -> None:
        with FileTransaction() as transaction:
            _write_all(tmp_path, transaction)
        done.append(time.monotonic())

    thread = threading.Thread(target=write)
    with _held(tmp_path / "d"):
        thread.start()
        time.sleep(0.3)
        found = {name: text for name, text in _content(tmp_path).items() if "tmp" not in name}
        assert (found, done) == (OLD, [])
    thread.join()
    assert _content(tmp_path) == NEW


@pytest.mark.parametrize("held", ["", "d"])
def test_a_run_does_not_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    """After a while it exits 5 with the cause, and nothing is changed."""
    _old(tmp_path)
    monkeypatch.setattr(folder_handle, "LONGEST_WAIT", 0.1)
    with (
        _held(tmp_path / held),
        pytest.raises(FileError, match="another run has kept the folder locked"),
        FileTransaction() as transaction,
    ):
        _write_all(tmp_path, transaction)
    assert _content(tmp_path) == OLD


_DIES = """
import os, signal, sys, time
from prefpairs.files.folder_handle import FolderHandle
place = FolderHandle(sys.argv[1])
place.lock(time.monotonic())
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_lock_is_left(tmp_path: Path) -> None:
    """No lock file is left, and no lock of a killed process."""
    (tmp_path / "d").mkdir()
    for folder in (tmp_path, tmp_path / "d"):
        done = subprocess.run([sys.executable, "-c", _DIES, str(folder)], check=False)
        assert done.returncode == -signal.SIGKILL
    start = time.monotonic()
    with FileTransaction() as transaction:
        _write_all(tmp_path, transaction)
    assert time.monotonic() - start < 5
    assert _content(tmp_path) == NEW


def test_two_runs_make_one_new_folder(tmp_path: Path) -> None:
    """The run that ends second finds the folder and adds its files."""
    with FileTransaction() as first:
        _write_all(tmp_path, first, b"first\n")
        with FileTransaction() as second:
            _write_all(tmp_path, second, b"second\n")
        assert set(_content(tmp_path / "d").values()) == {b"second\n"}
    assert set(_content(tmp_path).values()) == {b"first\n"}
    assert sorted(os.listdir(tmp_path)) == ["d", "o.jsonl", "s.json"]


# Folders that move ------------------------------------------------------------------------


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("moved", ["d", "."])
def test_a_folder_that_is_moved_during_a_run(tmp_path: Path, moved: str, replaced: bool) -> None:
    """Nothing of the run stays in it, and the error says what happened."""
    here = tmp_path / "here"
    here.mkdir()
    _old(here)
    folder, elsewhere = (here / moved).resolve(), tmp_path / "elsewhere"

    def write_and_move() -> None:
        with FileTransaction() as transaction:
            _write_all(here, transaction)
            folder.rename(elsewhere)
            if replaced:
                folder.mkdir()

    with pytest.raises(FileError, match="the folder was moved or replaced during the run"):
        write_and_move()
    old = {name.removeprefix("d/"): text for name, text in OLD.items() if name.startswith("d/")}
    assert _content(elsewhere) == (old if moved == "d" else OLD)


def test_the_folder_of_a_new_one_is_moved(tmp_path: Path) -> None:
    """The same for a parent folder whose output folder was still missing."""
    here = tmp_path / "here"
    here.mkdir()

    def write_and_move() -> None:
        with open_output_folder(str(here / "d"), ["a"], ["a"]) as files:
            files["a"].write(b"new\n")
            here.rename(tmp_path / "elsewhere")

    with pytest.raises(FileError, match="the folder was moved or replaced during the run"):
        write_and_move()
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_that_may_be_written_to_but_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    """A write-only folder cannot be opened or locked; files still appear in it."""
    if there:
        _old(tmp_path)
    real = os.open

    def refusing(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & os.O_DIRECTORY and str(path) in (str(tmp_path), str(tmp_path / "d")):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refusing)
        with FileTransaction() as transaction:
            _write_all(tmp_path, transaction)
    assert _content(tmp_path) == NEW
    assert sorted(os.listdir(tmp_path)) == ["d", "o.jsonl", "s.json"]


@pytest.mark.parametrize("dataset", [False, True])
def test_a_link_that_is_switched(tmp_path: Path, *, dataset: bool) -> None:
    """The run fails instead of writing to two folders, and both stay as they were."""
    for name in "ab":
        (tmp_path / name / "d").mkdir(parents=True)
        (tmp_path / name / "d" / "o").write_bytes(name.encode())
    before = _content(tmp_path)
    link = tmp_path / "link"
    link.symlink_to("a")
    folder = str(link / "d")

    def run(transaction: FileTransaction) -> None:
        if dataset:
            with open_output_folder(folder, ["o"], ["o"], transaction=transaction) as files:
                files["o"].write(b"new")
        else:
            write_file(f"{folder}/o", b"new", transaction)
        link.unlink()
        link.symlink_to("b")
        transaction.digest_of(f"{folder}/o")
        write_file(f"{folder}/s.json", b"new", transaction)

    with (
        pytest.raises(FileError, match="a link in this path was changed during the run"),
        FileTransaction(hashed=True) as transaction,
    ):
        run(transaction)
    link.unlink()
    assert _content(tmp_path) == before
