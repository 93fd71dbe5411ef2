"""Standard input put aside, for those who must look at it twice."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from prefpairs.files.beside import BUFFER
from prefpairs.files.inputs import Input
from prefpairs.files.output import naming_trouble
from prefpairs.files.reading import OpenInput, open_input
from prefpairs.files.signals import held_signals

_STDIN, _NAME = 0, "stdin"


@contextmanager
def seekable_stdin(folder: str | None) -> Iterator[None]:
    """Let standard input be a regular file: a pipe is read to its end, and put into one."""
    if _is_file():
        yield
        return
    with held_signals():
        where = folder or tempfile.gettempdir()  # which tries it out with a file
    with naming_trouble(where), held_signals():
        aside = tempfile.TemporaryFile(dir=folder, prefix="prefpairs-")  # noqa: SIM115 - below
    with aside:
        with naming_trouble(_NAME), open(_STDIN, "rb", closefd=False) as pipe:
            while block := pipe.read(BUFFER):
                with naming_trouble(where):
                    aside.write(block)
        with naming_trouble(where):
            aside.seek(0)
        before = os.dup(_STDIN)
        os.dup2(aside.fileno(), _STDIN)
        try:
            yield
        finally:
            os.dup2(before, _STDIN)
            os.close(before)


@contextmanager
def peeked_input(source: Input) -> Iterator[OpenInput]:
    """The records of an input that will be read once more from where it begins."""
    start = os.lseek(_STDIN, 0, os.SEEK_CUR) if source.is_stdin else 0
    with open_input(source) as opened:
        yield opened
    if source.is_stdin:
        os.lseek(_STDIN, start, os.SEEK_SET)


def _is_file() -> bool:
    with naming_trouble(_NAME):
        return stat.S_ISREG(os.fstat(_STDIN).st_mode)
