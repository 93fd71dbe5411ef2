"""Reads records again by offset and length."""

import os
import stat
import time
from pathlib import Path

import pytest

from prefpairs.errors import FileError, InputChanged
from prefpairs.files.fetch_records import RecordFile, RecordFiles, Spool
from prefpairs.files.input_file import Input


def _record_file(path: Path) -> RecordFile:
    return RecordFile(Input(str(path), path.name), path.stat())


def _files(path: Path, data: bytes = b"first\nsecond\n") -> RecordFiles:
    path.write_bytes(data)
    files = RecordFiles()
    files.add(_record_file(path))
    return files


def _held(path: Path, data: bytes = b"first\nsecond\n") -> RecordFile:
    """A record file whose content is held in memory."""
    path.write_bytes(data)
    return RecordFile(Input(str(path), path.name), path.stat(), data)


def _touch_later(path: Path) -> None:
    """Advance the file's time enough for any clock resolution."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))


def test_fetch(tmp_path: Path) -> None:
    """The bytes of a record."""
    files = _files(tmp_path / "r.jsonl")
    assert (files.read(0, 6, 7), files.read(0, 0, 6)) == (b"second\n", b"first\n")
    files.close()


def test_file_that_changed_before_the_first_fetch(tmp_path: Path) -> None:
    """A change of the same size is found."""
    files = _files(tmp_path / "r.jsonl")
    (tmp_path / "r.jsonl").write_bytes(b"other\nsecond\n")
    _touch_later(tmp_path / "r.jsonl")
    with pytest.raises(InputChanged) as caught:
        files.read(0, 0, 6)
    assert caught.value.path == "r.jsonl"


def test_file_that_was_replaced(tmp_path: Path) -> None:
    """Another file under the name, with the same time and size, is found."""
    path = tmp_path / "r.jsonl"
    files = _files(path)
    status = path.stat()
    (tmp_path / "new").write_bytes(b"other\nsecond\n")
    os.replace(tmp_path / "new", path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(InputChanged):
        files.read(0, 0, 6)


def test_file_that_changed_after_the_last_fetch(tmp_path: Path) -> None:
    """The final check finds a change, since results may mix two versions."""
    path = tmp_path / "r.jsonl"
    files = _files(path)
    files.read(0, 0, 6)
    with path.open("ab") as file:
        file.write(b"third\n")
    with pytest.raises(InputChanged):
        files.check()
    files.close()


def test_file_that_became_shorter(tmp_path: Path) -> None:
    """Missing bytes are a change."""
    path = tmp_path / "r.jsonl"
    files = _files(path)
    files.read(0, 0, 6)
    os.truncate(path, 8)
    with pytest.raises(InputChanged):
        files.read(0, 6, 7)


def test_file_that_is_gone(tmp_path: Path) -> None:
    """A deleted file gives the system's message."""
    files = _files(tmp_path / "r.jsonl")
    (tmp_path / "r.jsonl").unlink()
    with pytest.raises(FileError) as caught:
        files.read(0, 0, 6)
    assert (caught.value.path, caught.value.problem) == ("r.jsonl", "No such file or directory")


def test_file_that_did_not_change(tmp_path: Path) -> None:
    """Reading a file is no change."""
    files = _files(tmp_path / "r.jsonl")
    files.read(0, 0, 6)
    (tmp_path / "r.jsonl").read_bytes()
    files.check()
    files.close()


def test_standard_input(tmp_path: Path) -> None:
    """Redirected standard input is read by its descriptor."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"first\nsecond\n")
    before = os.dup(0)
    with path.open("rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        files = RecordFiles()
        files.add(RecordFile(Input("-", "stdin"), path.stat()))
        assert files.read(0, 6, 7) == b"second\n"
        files.close()
    finally:
        os.dup2(before, 0)
        os.close(before)


def test_number_of_open_files_is_bounded(tmp_path: Path) -> None:
    """Of 200 files, at most 64 are open at a time; all give their lines."""
    files = RecordFiles()
    for number in range(200):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"%03d\n" % number)
        assert files.add(_record_file(path)) == number
    before = len(os.listdir("/dev/fd"))
    lines = [files.read(number, 0, 4) for number in [*range(200), *range(200)]]
    assert lines == [b"%03d\n" % number for number in range(200)] * 2
    assert len(os.listdir("/dev/fd")) - before <= 64
    files.close()
    assert len(os.listdir("/dev/fd")) == before


def test_change_is_seen_when_a_file_is_put_away(tmp_path: Path) -> None:
    """A file that was closed to make room is still checked."""
    files = RecordFiles()
    for number in range(65):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"%03d\n" % number)
        files.add(_record_file(path))
    files.read(0, 0, 4)
    _touch_later(tmp_path / "0.jsonl")
    with pytest.raises(InputChanged) as caught:
        [files.read(number, 0, 4) for number in range(65)]
    assert caught.value.path == "0.jsonl"


def test_what_is_held_is_not_opened_again(tmp_path: Path) -> None:
    """Held content is read from memory, and a change to the file is still found."""
    files = RecordFiles()
    files.add(_held(tmp_path / "r.jsonl"))
    before = len(os.listdir("/dev/fd"))
    assert (files.read(0, 6, 7), files.read(0, 0, 6)) == (b"second\n", b"first\n")
    assert len(os.listdir("/dev/fd")) == before
    files.check()
    _touch_later(tmp_path / "r.jsonl")
    with pytest.raises(InputChanged) as caught:
        files.check()
    assert caught.value.path == "r.jsonl"


@pytest.mark.parametrize("seconds", [0, 0.05])
def test_change_behind_the_clocks_back_to_what_is_held(tmp_path: Path, seconds: float) -> None:
    """A change of the same size and time is found; a new hard link is no change."""
    path, files = tmp_path / "r.jsonl", RecordFiles()
    path.write_bytes(b"first\nsecond\n")
    time.sleep(seconds)
    files.add(RecordFile(Input(str(path), path.name), path.stat(), path.read_bytes()))
    files.read(0, 0, 6)
    os.link(path, tmp_path / "other name")
    files.check()
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"FIRST")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(InputChanged):
        files.check()


def test_file_whose_content_is_held_is_gone(tmp_path: Path) -> None:
    """A deleted file gives the system's message."""
    files = RecordFiles()
    files.add(_held(tmp_path / "r.jsonl"))
    files.read(0, 0, 6)
    (tmp_path / "r.jsonl").unlink()
    with pytest.raises(FileError) as caught:
        files.check()
    assert (caught.value.path, caught.value.problem) == ("r.jsonl", "No such file or directory")


def test_no_more_is_held_than_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Content beyond the limit is read from its file; smaller content may still fit."""
    monkeypatch.setattr("prefpairs.files.fetch_records._MOST_HELD", 13)
    files = RecordFiles()
    for name, data in (("a", b"first\n"), ("b", b"too long\n"), ("c", b"second\n")):
        files.add(_held(tmp_path / name, data))
    before = len(os.listdir("/dev/fd"))
    assert (files.read(0, 0, 6), files.read(2, 0, 7)) == (b"first\n", b"second\n")
    assert len(os.listdir("/dev/fd")) == before
    assert files.read(1, 0, 9) == b"too long\n"
    assert len(os.listdir("/dev/fd")) == before + 1
    files.close()


def test_spool() -> None:
    """Lines are read back from the spool."""
    spool, files = Spool(None), RecordFiles()
    files.add(spool)
    offsets = [spool.append(line) for line in (b"first\n", b"second\n", b"x" * 100_000)]
    assert offsets == [0, 6, 13]
    assert files.read(0, 6, 7) == b"second\n"
    assert files.read(0, 13, 100_000) == b"x" * 100_000
    files.close()


def test_spool_has_no_name_and_one_reader(tmp_path: Path) -> None:
    """The spool is in the given folder, unlinked, and readable only by its owner."""
    spool, files = Spool(str(tmp_path)), RecordFiles()
    files.add(spool)
    descriptor = spool.open()
    status = os.fstat(descriptor)
    os.close(descriptor)
    assert (os.listdir(tmp_path), status.st_nlink, stat.S_IMODE(status.st_mode)) == ([], 0, 0o600)
    assert status.st_dev == tmp_path.stat().st_dev
    files.close()


def test_closing_closes_the_spool() -> None:
    """Closing the spool frees its disk space."""
    before = len(os.listdir("/dev/fd"))
    spool, files = Spool(None), RecordFiles()
    files.add(spool)
    assert files.read(0, spool.append(b"first\n"), 6) == b"first\n"
    files.close()
    assert len(os.listdir("/dev/fd")) == before


def test_spool_in_a_missing_folder(tmp_path: Path) -> None:
    """The error names the folder."""
    with pytest.raises(FileError) as caught:
        Spool(str(tmp_path / "nowhere"))
    assert (caught.value.path, caught.value.problem) == (
        str(tmp_path / "nowhere"),
        "No such file or directory",
    )
