"""Standard output and terminals: written as data comes; closed pipes are not like other errors.

Anything drawn on the terminal, such as a progress bar, is cleared before data appears there.
"""

import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, TextIO, cast

from prefpairs.errors import FileError, UsageError
from prefpairs.files.file_system import BUFFER
from prefpairs.files.nonblocking import WaitingWriter, write_all

STDOUT = "-"
STEERING = "\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""The characters that control a terminal, in addition to the first 32."""

_STEERING = re.compile(f"[\0-\x08\x0b-\x1f{STEERING}]")
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/([0-9]+)")

_clear_drawings: list[Callable[[], None]] = []


class ClosedPipe(Exception):
    """The program that read standard output has ended, as `head` does."""


class StandardOutput:
    """Standard output, written completely or with an error."""

    def __init__(self, *, styled: bool) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self.has_begun = False
        self._escapes = os.isatty(1) and not styled
        self._is_visible = not _is_file_or_device(1)

    def write(self, line: bytes, /) -> object:
        """Take a line; large blocks are written at once."""
        self._lines.append(line)
        self._size += len(line)
        if self._size >= BUFFER:
            self.flush()
        return None

    def flush(self) -> None:
        """Write what has been taken so far."""
        lines = b"".join(self._lines)
        data = _escaped(lines) if self._escapes else lines
        self._lines, self._size = [], 0
        self.has_begun = self.has_begun or bool(data)
        if data and self._is_visible:
            clear_drawings()
        try:
            write_all(1, data)
        except BrokenPipeError:
            raise ClosedPipe from None
        except OSError as error:
            raise FileError.of("standard output", error) from None


def open_descriptor(descriptor: int) -> IO[bytes]:
    """A file that writes to a descriptor; on a terminal, control characters are escaped."""
    file = io.BufferedWriter(WaitingWriter(descriptor), BUFFER)
    return cast("IO[bytes]", _Terminal(file)) if os.isatty(descriptor) else file


class _Terminal(io.BufferedIOBase):
    """A terminal that lines are written to."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, lines: Any, /) -> int:
        clear_drawings()
        self._file.write(_escaped(bytes(lines)))
        return len(lines)

    def flush(self) -> None:
        if not self._file.closed:
            self._file.flush()

    def close(self) -> None:
        self._file.close()


def _escaped(lines: bytes) -> bytes:
    r"""Lines that cannot control a terminal: JSON of the same values, with escapes.

    JSON itself only escapes the first 32 characters; plain text escapes none.

    >>> _escaped('"\x9b31m\u202e"'.encode())
    b'"\\u009b31m\\u202e"'
    """
    text = lines.decode("utf-8", "backslashreplace")
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def descriptor_of(path: str) -> int | None:
    """The number of the open descriptor that a path such as /dev/fd/3 names."""
    found = _DESCRIPTOR.fullmatch(path)
    if found is None:
        return None
    name = found[1] or found[2]
    return {"stdout": 1, "stderr": 2}.get(name) or int(name)


def is_stdout(path: str) -> bool:
    """Whether a path names standard output, or leads to the same file or pipe."""
    if path == STDOUT or descriptor_of(path) == 1:
        return True
    with suppress(OSError):
        there, ours = os.stat(path), os.fstat(1)
        return os.path.samestat(there, ours) and not stat.S_ISCHR(ours.st_mode)
    return False


def refuse_stdout(option: str, path: str | None, *, is_for: str = "data") -> None:
    """Raise if the output of an option would be mixed into standard output."""
    if path is not None and is_stdout(path):
        raise UsageError(f"{option} {path}: standard output is for {is_for}", "name a file")


def _is_file_or_device(descriptor: int) -> bool:
    """Whether output goes to a file or a device such as /dev/null, and not to a reader."""
    with suppress(OSError):
        mode = os.fstat(descriptor).st_mode
        return stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(descriptor))
    return True


@contextmanager
def drawing(clear: Callable[[], None]) -> Iterator[None]:
    """Something is drawn on the terminal during the block; `clear` is called before data comes."""
    _clear_drawings.append(clear)
    try:
        yield
    finally:
        _clear_drawings.remove(clear)


def clear_drawings() -> None:
    """Clear everything that is drawn, because data is about to appear."""
    for clear in _clear_drawings:
        clear()


@contextmanager
def guarded_stdout() -> Iterator[None]:
    """Give what libraries print, such as help, the same errors as our own output."""
    stdout = sys.stdout
    if stdout is None:  # closed before we started
        yield
        return
    sys.stdout = cast("TextIO", _GuardedText(stdout))
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout = stdout


class _GuardedText:
    """A text stream that tells a closed pipe from other errors."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        with _stdout_errors():
            return self._stream.write(text)

    def flush(self) -> None:
        with _stdout_errors():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _stdout_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # The interpreter flushes what is left in the buffer at exit: give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            raise ClosedPipe from None
        raise FileError.of("standard output", error) from None


@contextmanager
def discarded(descriptor: int) -> Iterator[None]:
    """Discard what libraries write to standard output (1) or error (2) during the block."""
    stream = sys.stdout if descriptor == 1 else sys.stderr
    kept, nowhere = os.dup(descriptor), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    try:
        yield
    finally:
        if stream is not None:
            stream.flush()
        os.dup2(kept, descriptor)
        os.close(kept)
        os.close(nowhere)
