"""Pipes copied to temporary files, so that they can be read twice."""

import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO

from prefpairs.files.file_system import (
    BUFFER,
    errors_named,
    exists,
    held_signals,
    is_file,
    temporary_folder,
)
from prefpairs.files.input_file import Input
from prefpairs.files.nonblocking import CountingFile
from prefpairs.files.open_input import OpenInput, open_input

_STDIN, _NAME = 0, "stdin"


@contextmanager
def seekable_inputs(inputs: Sequence[Input], folder: str | None) -> Iterator[list[Input]]:
    """The inputs, all of which can be read twice."""
    with ExitStack() as stack:
        yield [stack.enter_context(_seekable(source, folder)) for source in inputs]


@contextmanager
def _seekable(source: Input, folder: str | None) -> Iterator[Input]:
    if source.is_stdin:
        with seekable_stdin(folder):
            yield source
    elif not exists(source.path) or is_file(source.path):
        yield source
    else:
        where = folder or temporary_folder()
        with held_signals(), errors_named(where):
            copy = tempfile.NamedTemporaryFile(dir=folder, prefix="prefpairs-")  # noqa: SIM115
        with copy:
            with errors_named(source.label):
                pipe = CountingFile(source.path, None)
            with pipe:
                _copy(pipe, source.label, copy.file, where)
            yield source._replace(path=copy.name)


@contextmanager
def seekable_stdin(folder: str | None) -> Iterator[None]:
    """Make standard input a regular file: a pipe is read to its end and copied to one."""
    if _stdin_is_file():
        yield
        return
    with held_signals():
        where = folder or temporary_folder()  # which may create a file to try it out
    with errors_named(where), held_signals():
        copy = tempfile.TemporaryFile(dir=folder, prefix="prefpairs-")  # noqa: SIM115 - below
    with copy:
        with CountingFile(_STDIN, None, closefd=False) as pipe:
            _copy(pipe, _NAME, copy, where)
        before = os.dup(_STDIN)
        os.dup2(copy.fileno(), _STDIN)
        try:
            yield
        finally:
            os.dup2(before, _STDIN)
            os.close(before)


def _copy(pipe: CountingFile, name: str, copy: IO[bytes], where: str) -> None:
    """Copy a pipe to a file, up to its end, and rewind the file."""
    with errors_named(name):
        while block := pipe.read(BUFFER):
            with errors_named(where):
                copy.write(block)
    with errors_named(where):
        copy.seek(0)


@contextmanager
def peeked_input(source: Input) -> Iterator[OpenInput]:
    """The records of an input that will be read again from its beginning."""
    start = os.lseek(_STDIN, 0, os.SEEK_CUR) if source.is_stdin else 0
    with open_input(source) as opened:
        yield opened
    if source.is_stdin:
        os.lseek(_STDIN, start, os.SEEK_SET)


def _stdin_is_file() -> bool:
    with errors_named(_NAME):
        return stat.S_ISREG(os.fstat(_STDIN).st_mode)
