"""Several files in one folder that appear together."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from prefpairs.errors import FileError, UsageError
from prefpairs.files.folder_handle import FolderHandle
from prefpairs.files.input_file import Input
from prefpairs.files.output import open_output_folder

FAMILY = ("a", "b", "c")


def _write(
    folder: Path | str, names: Sequence[str] = ("a", "b"), content: bytes = b"new\n"
) -> None:
    with open_output_folder(str(folder), names, FAMILY) as files:
        for name in names:
            files[name].write(content)


def _fail(folder: Path, names: Sequence[str] = ("a", "b")) -> None:
    with open_output_folder(str(folder), names, FAMILY) as files:
        files["a"].write(b"new\n")
        raise KeyboardInterrupt


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _old(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes(b"old\n")
    return folder


@contextmanager
def _mask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_new_folder(tmp_path: Path) -> None:
    """A new folder appears with all its files, including empty ones."""
    with open_output_folder(str(tmp_path / "o"), ["a", "b"], FAMILY) as files:
        files["a"].write(b"one\n")
        files["a"].write(b"two\n")
        assert not (tmp_path / "o").exists()
    assert _content(tmp_path / "o") == {"a": b"one\ntwo\n", "b": b""}
    assert os.listdir(tmp_path) == ["o"]


@pytest.mark.parametrize("name", ["o/", "./o", "x/../o"])
def test_names_of_a_new_folder(tmp_path: Path, name: str) -> None:
    """The folder's name may be spelled in any way."""
    _write(f"{tmp_path}/{name}")
    assert _content(tmp_path / "o") == {"a": b"new\n", "b": b"new\n"}


def test_old_folder(tmp_path: Path) -> None:
    """Old files of the family are removed unless rewritten; all others stay."""
    folder = _old(tmp_path / "o", "a", "c", "mine")
    with open_output_folder(str(folder), ["a", "b"], FAMILY) as files:
        files["a"].write(b"new\n")
        assert (folder / "a").read_bytes() == b"old\n"
        assert not (folder / "b").exists()
    assert _content(folder) == {"a": b"new\n", "b": b"", "mine": b"old\n"}


@pytest.mark.parametrize("names", [("a", "b"), ("a",), ("a", "b", "c")])
def test_failure_leaves_everything_as_it_was(tmp_path: Path, names: Sequence[str]) -> None:
    """Nothing appears or disappears, in a new folder or in an old one."""
    folder = _old(tmp_path / "old", "a", "c", "mine")
    with pytest.raises(KeyboardInterrupt):
        _fail(folder, names)
    with pytest.raises(KeyboardInterrupt):
        _fail(tmp_path / "new", names)
    assert _content(folder) == {"a": b"old\n", "c": b"old\n", "mine": b"old\n"}
    assert os.listdir(tmp_path) == ["old"]


def test_link_to_a_folder(tmp_path: Path) -> None:
    """The link stays, whether its target exists or is created."""
    _old(tmp_path / "real", "a", "c")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "early").symlink_to("later")
    _write(tmp_path / "link")
    _write(tmp_path / "early")
    assert [os.readlink(tmp_path / name) for name in ("link", "early")] == ["real", "later"]
    assert _content(tmp_path / "real") == _content(tmp_path / "later")
    assert sorted(os.listdir(tmp_path)) == ["early", "later", "link", "real"]


@pytest.mark.parametrize("special", [False, True])
def test_file_of_that_name(tmp_path: Path, special: bool) -> None:
    """A file with the folder's name is not touched."""
    path = tmp_path / "o"
    if special:
        os.mkfifo(path)
    else:
        path.write_bytes(b"old\n")
    with pytest.raises(FileError) as caught:
        _write(path)
    assert (caught.value.path, caught.value.problem) == (str(path), "is a file, not a directory")
    assert os.listdir(tmp_path) == ["o"]


def test_folder_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """Only the last folder is created, since a longer path may be a typo."""
    with pytest.raises(FileError) as caught:
        _write(f"{tmp_path}/x/o/")
    assert caught.value.problem == f"there is no directory {tmp_path}/x"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a", "c"])
def test_input_in_the_folder(tmp_path: Path, name: str) -> None:
    """An input is neither overwritten nor removed, also under another name."""
    folder = _old(tmp_path / "o", "a", "c")
    (tmp_path / "link").symlink_to(f"o/{name}")
    with (
        pytest.raises(UsageError, match="is both input and output"),
        open_output_folder(str(folder), ["a"], FAMILY, [Input(str(tmp_path / "link"), "link")]),
    ):
        pass
    assert _content(folder) == {"a": b"old\n", "c": b"old\n"}


def test_input_in_the_output_folder(tmp_path: Path) -> None:
    """A folder may contain its own input."""
    folder = _old(tmp_path / "o", "mine")
    with open_output_folder(str(folder), ["a"], FAMILY, [Input(str(folder / "mine"), "mine")]):
        pass
    assert _content(folder) == {"a": b"", "mine": b"old\n"}


@pytest.mark.parametrize(
    ("mask", "of_folder", "of_file"), [(0o022, 0o755, 0o644), (0o077, 0o700, 0o600)]
)
def test_modes_are_the_users(tmp_path: Path, mask: int, of_folder: int, of_file: int) -> None:
    """Modes follow the umask, which is unchanged afterwards."""
    with _mask(mask):
        _write(tmp_path / "o")
        assert os.umask(mask) == mask
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "o", tmp_path / "o" / "a")]
    assert modes == [of_folder, of_file]


def test_mode_of_an_old_file_is_kept(tmp_path: Path) -> None:
    """A replaced file keeps its mode."""
    folder = _old(tmp_path / "o", "a")
    (folder / "a").chmod(0o640)
    _write(folder)
    assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o640


def test_files_that_would_not_change(tmp_path: Path) -> None:
    """With keep_if_same they keep their time; changed and extra files are replaced or removed."""
    folder = _old(tmp_path / "o", "a", "b", "c")
    os.utime(folder / "a", ns=(5, 5))
    with open_output_folder(str(folder), ["a", "b"], FAMILY, keep_if_same=True) as files:
        files["a"].write(b"old\n")
        files["b"].write(b"new\n")
    assert (folder / "a").stat().st_mtime_ns == 5
    assert _content(folder) == {"a": b"old\n", "b": b"new\n"}
    with open_output_folder(str(folder), ["a"], FAMILY) as files:
        files["a"].write(b"old\n")
    assert (folder / "a").stat().st_mtime_ns > 5
    assert _content(folder) == {"a": b"old\n"}


def test_long_name(tmp_path: Path) -> None:
    """With long names, temporary files are still possible, and none is left."""
    folder = _old(tmp_path / "o")
    name = "x" * 240
    with open_output_folder(str(folder), [name], [name]) as files:
        files[name].write(b"new\n")
    assert _content(folder) == {name: b"new\n"}


@pytest.mark.parametrize("fails", range(1, 6))
def test_file_that_cannot_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int) -> None:
    """Whichever rename fails, the old files are restored."""
    folder = _old(tmp_path / "o", "a", "b", "c")
    calls = iter(range(1, 100))
    move = FolderHandle.move

    def failing(place: FolderHandle, name: str, to: FolderHandle, new: str) -> None:
        if next(calls) == fails:
            raise OSError(5, "Input/output error")
        move(place, name, to, new)

    monkeypatch.setattr(FolderHandle, "move", failing)
    with pytest.raises(FileError):
        _write(folder)
    assert _content(folder) == dict.fromkeys("abc", b"old\n")


def test_what_dead_processes_left(tmp_path: Path) -> None:
    """The next run removes leftovers of dead processes, whatever it writes."""
    folder = _old(tmp_path / "o", "a")
    for name in ("a", "c", "old"):
        (folder / f".{name}.prefpairs-abcdefgh.tmp").write_bytes(b"half")
    (tmp_path / ".o.prefpairs-abcdefgh.tmp").mkdir()
    _write(folder, ["a"])
    assert _content(folder) == {"a": b"new\n"}
    assert os.listdir(tmp_path) == ["o"]


def test_old_files_of_a_dead_process_stay_until_new_ones_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it was killed between the two renames, they exist nowhere else."""
    folder = _old(tmp_path / "o")
    aside = folder / ".old.prefpairs-abcdefgh.tmp"
    aside.mkdir()
    (aside / "0").write_bytes(b"old\n")

    def failing(_place: FolderHandle, _name: str, _to: FolderHandle, _new: str) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(FolderHandle, "move", failing)
        with pytest.raises(FileError):
            _write(folder)
    assert (aside / "0").read_bytes() == b"old\n"
    _write(folder)
    assert _content(folder) == {"a": b"new\n", "b": b"new\n"}


def test_neither_new_nor_old_files_can_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that cannot be moved back stay in the temporary folder."""
    folder = _old(tmp_path / "o", "a", "b")
    move = FolderHandle.move

    def failing(place: FolderHandle, name: str, to: FolderHandle, new: str) -> None:
        if new == "a":
            raise OSError(5, "Input/output error")
        move(place, name, to, new)

    monkeypatch.setattr(FolderHandle, "move", failing)
    with pytest.raises(FileError):
        _write(folder)
    names = [path for path in folder.rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in names] == [b"old\n", b"old\n"]
    assert (folder / "b").read_bytes() == b"old\n"
