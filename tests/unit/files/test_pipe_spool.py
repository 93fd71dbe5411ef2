"""Standard input copied to a temporary file."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prefpairs.errors import FileError
from prefpairs.files.input_paths import find_inputs
from prefpairs.files.pipe_spool import peeked_input, seekable_stdin


@contextmanager
def stdin_of(descriptor: int) -> Iterator[None]:
    """Replace standard input during a block."""
    before = os.dup(0)
    os.dup2(descriptor, 0)
    os.close(descriptor)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


def piped(data: bytes) -> int:
    """The reading end of a pipe that contains these bytes."""
    ours, theirs = os.pipe()
    os.write(theirs, data)
    os.close(theirs)
    return ours


def test_a_pipe_becomes_a_file_for_a_while(tmp_path: Path) -> None:
    """The spooled pipe can be read twice and has no name; the pipe is restored at the end."""
    with stdin_of(piped(b"abc\n")):
        with seekable_stdin(str(tmp_path)):
            assert os.read(0, 10) == b"abc\n"
            assert os.lseek(0, 0, os.SEEK_SET) == 0
            assert os.read(0, 10) == b"abc\n"
            assert list(tmp_path.iterdir()) == []
        assert stat.S_ISFIFO(os.fstat(0).st_mode)


def test_a_file_stays_what_it_is(tmp_path: Path) -> None:
    """A file is not copied, but read from its current position."""
    path = tmp_path / "rows"
    path.write_bytes(b"head\nabc\n")
    descriptor = os.open(path, os.O_RDONLY)
    os.lseek(descriptor, 5, os.SEEK_SET)
    with stdin_of(descriptor), seekable_stdin("no/such/folder"):
        assert os.fstat(0).st_ino == path.stat().st_ino
        assert os.read(0, 10) == b"abc\n"


def test_trouble_with_the_folder_names_it() -> None:
    """An error of the folder names it."""
    with (
        stdin_of(piped(b"abc\n")),
        pytest.raises(FileError, match="no/such/folder"),
        seekable_stdin("no/such/folder"),
    ):
        pass


def test_a_peek_moves_nothing(tmp_path: Path) -> None:
    """A peek does not move the position of standard input."""
    path = tmp_path / "rows"
    path.write_bytes(b'head\n{"a": 1}\n{"b": 2}\n')
    descriptor = os.open(path, os.O_RDONLY)
    os.lseek(descriptor, 5, os.SEEK_SET)
    with stdin_of(descriptor):
        with peeked_input(find_inputs([])[0]) as opened:
            assert next(opened.records).data == b'{"a": 1}\n'
        assert os.lseek(0, 0, os.SEEK_CUR) == 5
