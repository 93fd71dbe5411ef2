"""Records that can be fetched again by where they stand."""

import os
import stat
import time
from pathlib import Path

import pytest

from prefpairs.errors import FileTrouble, InputChanged
from prefpairs.files.inputs import Input
from prefpairs.files.record_store import Shelf, Shelves, Spool


def _shelf(path: Path) -> Shelf:
    return Shelf(Input(str(path), path.name), path.stat())


def _shelves(path: Path, data: bytes = b"first\nsecond\n") -> Shelves:
    path.write_bytes(data)
    shelves = Shelves()
    shelves.add(_shelf(path))
    return shelves


def _held(path: Path, data: bytes = b"first\nsecond\n") -> Shelf:
    """A shelf whose content was read with it."""
    path.write_bytes(data)
    return Shelf(Input(str(path), path.name), path.stat(), data)


def _touch_later(path: Path) -> None:
    """Move the time of a change on, however coarse the clock of the disk is."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))


def test_fetch(tmp_path: Path) -> None:
    """The bytes that stand at a place."""
    shelves = _shelves(tmp_path / "r.jsonl")
    assert (shelves.fetch(0, 6, 7), shelves.fetch(0, 0, 6)) == (b"second\n", b"first\n")
    shelves.close()


def test_file_that_changed_before_the_first_fetch(tmp_path: Path) -> None:
    """Same size, other content."""
    shelves = _shelves(tmp_path / "r.jsonl")
    (tmp_path / "r.jsonl").write_bytes(b"other\nsecond\n")
    _touch_later(tmp_path / "r.jsonl")
    with pytest.raises(InputChanged) as caught:
        shelves.fetch(0, 0, 6)
    assert caught.value.path == "r.jsonl"


def test_file_that_was_replaced(tmp_path: Path) -> None:
    """Another file under the name, made at the same time and as long."""
    path = tmp_path / "r.jsonl"
    shelves = _shelves(path)
    status = path.stat()
    (tmp_path / "new").write_bytes(b"other\nsecond\n")
    os.replace(tmp_path / "new", path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(InputChanged):
        shelves.fetch(0, 0, 6)


def test_file_that_changed_after_the_last_fetch(tmp_path: Path) -> None:
    """A last look: what was written may rest on two versions."""
    path = tmp_path / "r.jsonl"
    shelves = _shelves(path)
    shelves.fetch(0, 0, 6)
    with path.open("ab") as file:
        file.write(b"third\n")
    with pytest.raises(InputChanged):
        shelves.check()
    shelves.close()


def test_file_that_became_shorter(tmp_path: Path) -> None:
    """Bytes that are gone are a change."""
    path = tmp_path / "r.jsonl"
    shelves = _shelves(path)
    shelves.fetch(0, 0, 6)
    os.truncate(path, 8)
    with pytest.raises(InputChanged):
        shelves.fetch(0, 6, 7)


def test_file_that_is_gone(tmp_path: Path) -> None:
    """The system's word for it."""
    shelves = _shelves(tmp_path / "r.jsonl")
    (tmp_path / "r.jsonl").unlink()
    with pytest.raises(FileTrouble) as caught:
        shelves.fetch(0, 0, 6)
    assert (caught.value.path, caught.value.problem) == ("r.jsonl", "No such file or directory")


def test_file_that_did_not_change(tmp_path: Path) -> None:
    """Reading it is no change."""
    shelves = _shelves(tmp_path / "r.jsonl")
    shelves.fetch(0, 0, 6)
    (tmp_path / "r.jsonl").read_bytes()
    shelves.check()
    shelves.close()


def test_standard_input(tmp_path: Path) -> None:
    """A redirected file is fetched from without its name."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"first\nsecond\n")
    before = os.dup(0)
    with path.open("rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        shelves = Shelves()
        shelves.add(Shelf(Input("-", "stdin"), path.stat()))
        assert shelves.fetch(0, 6, 7) == b"second\n"
        shelves.close()
    finally:
        os.dup2(before, 0)
        os.close(before)


def test_number_of_open_files_is_bounded(tmp_path: Path) -> None:
    """Of 200 files no more than 64 are open at a time; all give their lines."""
    shelves = Shelves()
    for number in range(200):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"%03d\n" % number)
        assert shelves.add(_shelf(path)) == number
    before = len(os.listdir("/dev/fd"))
    lines = [shelves.fetch(number, 0, 4) for number in [*range(200), *range(200)]]
    assert lines == [b"%03d\n" % number for number in range(200)] * 2
    assert len(os.listdir("/dev/fd")) - before <= 64
    shelves.close()
    assert len(os.listdir("/dev/fd")) == before


def test_change_is_seen_when_a_file_is_put_away(tmp_path: Path) -> None:
    """A file that was closed to make room is not forgotten."""
    shelves = Shelves()
    for number in range(65):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"%03d\n" % number)
        shelves.add(_shelf(path))
    shelves.fetch(0, 0, 4)
    _touch_later(tmp_path / "0.jsonl")
    with pytest.raises(InputChanged) as caught:
        [shelves.fetch(number, 0, 4) for number in range(65)]
    assert caught.value.path == "0.jsonl"


def test_what_is_held_is_not_opened_again(tmp_path: Path) -> None:
    """It comes from memory, and a change to the file is found all the same."""
    shelves = Shelves()
    shelves.add(_held(tmp_path / "r.jsonl"))
    before = len(os.listdir("/dev/fd"))
    assert (shelves.fetch(0, 6, 7), shelves.fetch(0, 0, 6)) == (b"second\n", b"first\n")
    assert len(os.listdir("/dev/fd")) == before
    shelves.check()
    _touch_later(tmp_path / "r.jsonl")
    with pytest.raises(InputChanged) as caught:
        shelves.check()
    assert caught.value.path == "r.jsonl"


@pytest.mark.parametrize("seconds", [0, 0.05])
def test_change_behind_the_clocks_back_to_what_is_held(tmp_path: Path, seconds: float) -> None:
    """Of the same size and time, also right after the file was made; a new link is no change."""
    path, shelves = tmp_path / "r.jsonl", Shelves()
    path.write_bytes(b"first\nsecond\n")
    time.sleep(seconds)
    shelves.add(Shelf(Input(str(path), path.name), path.stat(), path.read_bytes()))
    shelves.fetch(0, 0, 6)
    os.link(path, tmp_path / "other name")
    shelves.check()
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"FIRST")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(InputChanged):
        shelves.check()


def test_file_whose_content_is_held_is_gone(tmp_path: Path) -> None:
    """The system's word for it."""
    shelves = Shelves()
    shelves.add(_held(tmp_path / "r.jsonl"))
    shelves.fetch(0, 0, 6)
    (tmp_path / "r.jsonl").unlink()
    with pytest.raises(FileTrouble) as caught:
        shelves.check()
    assert (caught.value.path, caught.value.problem) == ("r.jsonl", "No such file or directory")


def test_no_more_is_held_than_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit is opened again; smaller ones may still fit."""
    monkeypatch.setattr("prefpairs.files.record_store._MOST_HELD", 13)
    shelves = Shelves()
    for name, data in (("a", b"first\n"), ("b", b"too long\n"), ("c", b"second\n")):
        shelves.add(_held(tmp_path / name, data))
    before = len(os.listdir("/dev/fd"))
    assert (shelves.fetch(0, 0, 6), shelves.fetch(2, 0, 7)) == (b"first\n", b"second\n")
    assert len(os.listdir("/dev/fd")) == before
    assert shelves.fetch(1, 0, 9) == b"too long\n"
    assert len(os.listdir("/dev/fd")) == before + 1
    shelves.close()


def test_spool() -> None:
    """Lines come back from where they were put."""
    spool, shelves = Spool(None), Shelves()
    shelves.add(spool)
    offsets = [spool.append(line) for line in (b"first\n", b"second\n", b"x" * 100_000)]
    assert offsets == [0, 6, 13]
    assert shelves.fetch(0, 6, 7) == b"second\n"
    assert shelves.fetch(0, 13, 100_000) == b"x" * 100_000
    shelves.close()


def test_spool_has_no_name_and_one_reader(tmp_path: Path) -> None:
    """It stands in the folder that was asked for, unlinked, for its owner alone."""
    spool, shelves = Spool(str(tmp_path)), Shelves()
    shelves.add(spool)
    descriptor = spool.open()
    status = os.fstat(descriptor)
    os.close(descriptor)
    assert (os.listdir(tmp_path), status.st_nlink, stat.S_IMODE(status.st_mode)) == ([], 0, 0o600)
    assert status.st_dev == tmp_path.stat().st_dev
    shelves.close()


def test_closing_closes_the_spool() -> None:
    """Its room on the disk is free again when the run is over."""
    before = len(os.listdir("/dev/fd"))
    spool, shelves = Spool(None), Shelves()
    shelves.add(spool)
    assert shelves.fetch(0, spool.append(b"first\n"), 6) == b"first\n"
    shelves.close()
    assert len(os.listdir("/dev/fd")) == before


def test_spool_in_a_missing_folder(tmp_path: Path) -> None:
    """The folder is named."""
    with pytest.raises(FileTrouble) as caught:
        Spool(str(tmp_path / "nowhere"))
    assert (caught.value.path, caught.value.problem) == (
        str(tmp_path / "nowhere"),
        "No such file or directory",
    )
