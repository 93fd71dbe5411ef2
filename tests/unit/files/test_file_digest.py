"""The digest of a file for a manifest."""

import hashlib
import os
from pathlib import Path

import pytest

from prefpairs.errors import FileError, InputChanged
from prefpairs.files.file_stamps import digest_file, stamp_of
from prefpairs.files.staged_file import FileDigest


def test_digest_of_a_file(tmp_path: Path) -> None:
    """The size and SHA-256, as sha256sum prints it."""
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert digest_file(str(path)) == FileDigest(
        size=3, sha256="ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_digest_of_nothing(tmp_path: Path) -> None:
    """An empty file has a digest, too."""
    (tmp_path / "a").touch()
    assert digest_file(str(tmp_path / "a")) == FileDigest(
        size=0, sha256="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


def test_digest_of_much(tmp_path: Path) -> None:
    """The whole file counts, to its last byte."""
    content = bytes(range(256)) * 20_000
    digests = set()
    for last in (b"a", b"b"):
        (tmp_path / "a").write_bytes(content + last)
        size, sha256 = digest_file(str(tmp_path / "a"))
        assert (size, sha256) == (5_120_001, hashlib.sha256(content + last).hexdigest())
        digests.add(sha256)
    assert len(digests) == 2


def test_digest_through_a_link(tmp_path: Path) -> None:
    """The file's content counts, not its name."""
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").symlink_to("a")
    assert digest_file(str(tmp_path / "b")) == digest_file(str(tmp_path / "a"))


@pytest.mark.parametrize(
    ("name", "problem"), [("none", "No such file or directory"), (".", "Is a directory")]
)
def test_no_file(tmp_path: Path, name: str, problem: str) -> None:
    """The error has the system's message and the file."""
    path = str(tmp_path / name)
    with pytest.raises(FileError) as caught:
        digest_file(path)
    assert (caught.value.path, caught.value.problem) == (path, problem)


def test_stamp_of_a_file_that_stays(tmp_path: Path) -> None:
    """An unchanged file can be digested repeatedly."""
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    stamp = stamp_of(str(path))
    assert stamp is not None
    assert digest_file(str(path), stamp) == digest_file(str(path))
    assert stamp_of(str(path)) == stamp


def test_stamp_of_a_file_that_changes(tmp_path: Path) -> None:
    """Other bytes, even of the same size, or a replaced file are a change."""
    path, other = tmp_path / "a", tmp_path / "b"
    for content in (b"abcd", b"xyz"):
        path.write_bytes(b"abc")
        os.utime(path, (1, 1))
        stamp = stamp_of(str(path))
        other.write_bytes(content)
        other.replace(path)
        with pytest.raises(InputChanged) as caught:
            digest_file(str(path), stamp)
        assert caught.value.path == str(path)


def test_stamp_of_what_is_read_once(tmp_path: Path) -> None:
    """Pipes and devices have no stamp and do not block; a missing file is an error."""
    os.mkfifo(tmp_path / "pipe")
    assert stamp_of(str(tmp_path / "pipe")) is None
    assert stamp_of(os.devnull) is None
    with pytest.raises(FileError) as caught:
        stamp_of(str(tmp_path / "none"))
    assert caught.value.problem == "No such file or directory"


@pytest.mark.skipif(not os.path.exists("/proc/self/pagemap"), reason="no such file here")
def test_digest_of_a_file_that_has_no_end() -> None:
    """Although the file system gives size 0, bytes are read, so it does not count as empty."""
    size, _ = digest_file("/proc/self/pagemap")
    assert 0 < size <= 1 << 18
