"""What comes through a pipe put aside, for those who must look at it twice."""

import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO

from prefpairs.files.file_system import BUFFER, errors_named, exists, is_file, temporary_folder
from prefpairs.files.held_signals import held_signals
from prefpairs.files.inputs import Input
from prefpairs.files.open_input import OpenInput, open_input
from prefpairs.files.read_counter import WatchedFile

_STDIN, _NAME = 0, "stdin"


@contextmanager
def seekable_inputs(inputs: Sequence[Input], folder: str | None) -> Iterator[list[Input]]:
    """The inputs, each of which can be read twice."""
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
            aside = tempfile.NamedTemporaryFile(dir=folder, prefix="prefpairs-")  # noqa: SIM115
        with aside:
            with errors_named(source.label):
                pipe = WatchedFile(source.path, None)
            with pipe:
                _put_aside(pipe, source.label, aside.file, where)
            yield source._replace(path=aside.name)


@contextmanager
def seekable_stdin(folder: str | None) -> Iterator[None]:
    """Let standard input be a regular file: a pipe is read to its end, and put into one."""
    if _is_file():
        yield
        return
    with held_signals():
        where = folder or temporary_folder()  # which tries it out with a file
    with errors_named(where), held_signals():
        aside = tempfile.TemporaryFile(dir=folder, prefix="prefpairs-")  # noqa: SIM115 - below
    with aside:
        with WatchedFile(_STDIN, None, closefd=False) as pipe:
            _put_aside(pipe, _NAME, aside, where)
        before = os.dup(_STDIN)
        os.dup2(aside.fileno(), _STDIN)
        try:
            yield
        finally:
            os.dup2(before, _STDIN)
            os.close(before)


def _put_aside(pipe: WatchedFile, name: str, aside: IO[bytes], where: str) -> None:
    """Read a pipe to its end into a file, which is then read from its beginning."""
    with errors_named(name):
        while block := pipe.read(BUFFER):
            with errors_named(where):
                aside.write(block)
    with errors_named(where):
        aside.seek(0)


@contextmanager
def peeked_input(source: Input) -> Iterator[OpenInput]:
    """The records of an input that will be read once more from where it begins."""
    start = os.lseek(_STDIN, 0, os.SEEK_CUR) if source.is_stdin else 0
    with open_input(source) as opened:
        yield opened
    if source.is_stdin:
        os.lseek(_STDIN, start, os.SEEK_SET)


def _is_file() -> bool:
    with errors_named(_NAME):
        return stat.S_ISREG(os.fstat(_STDIN).st_mode)
