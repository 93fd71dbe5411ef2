"""Where results go: standard output as they come, a file complete or not at all."""

import gzip
import io
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, Protocol, TextIO, cast

from prefpairs.errors import BadRecords, FileTrouble, UsageError
from prefpairs.files.inputs import Input
from prefpairs.files.joint_commit import Together, joining
from prefpairs.files.nonblocking import WaitingWriter, write_all
from prefpairs.files.shared_terminal import make_room
from prefpairs.files.staging import BUFFER, naming_trouble, status_of
from prefpairs.optional_libraries import missing_library

STDOUT = "-"
STEERING = "\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""What a terminal obeys besides the first 32 characters."""

_STEERING = re.compile(f"[\0-\x08\x0b-\x1f{STEERING}]")
_UNWRITTEN = (".parquet", ".json", ".bz2", ".xz", ".lz4", ".zip")
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/([0-9]+)")


class ClosedPipe(Exception):
    """Whoever read standard output went away, as `head` does."""


class Output(Protocol):
    """Something that takes lines."""

    def write(self, line: bytes, /) -> object:
        """Take one line, newline included."""
        ...


@contextmanager
def open_output(
    path: str,
    inputs: Sequence[Input] = (),
    *,
    keep_if_same: bool = False,
    styled: bool = False,
    together: Together | None = None,
) -> Iterator[Output]:
    """An output. A file appears when the block ends well; else the old one stays.

    With `keep_if_same` the old one stays, with its time, if the new one has the same bytes.
    Where the files of a run stand `together`, it appears when the others do.
    `styled` text has colours, and whoever made it saw to it that nothing else steers a terminal.
    """
    refuse_same_file(path, inputs)
    if path == STDOUT:
        stdout = _Stdout(styled=styled)
        try:
            yield stdout
        except BadRecords as error:
            error.partly_written = stdout.begun
            raise
        stdout.flush()
        return
    if path.endswith(_UNWRITTEN):
        raise UsageError(
            f"cannot write {os.path.splitext(path)[1]} files",
            "name the output .jsonl, .jsonl.gz or .jsonl.zst",
        )
    with (
        naming_trouble(path),
        replaced_file(path, keep_if_same=keep_if_same, together=together) as file,
        _packed(file, path) as packed,
    ):
        yield packed


def write_file(path: str, content: bytes, together: Together | None = None) -> None:
    """Write a small file, complete or not at all."""
    with naming_trouble(path), replaced_file(path, together=together) as file:
        file.write(content)


@contextmanager
def until_closed() -> Iterator[None]:
    """Let what libraries print, such as help, end quietly where the reader went away."""
    stdout = sys.stdout
    if stdout is None:  # closed before we began
        yield
        return
    sys.stdout = cast("TextIO", _UntilClosed(stdout))
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout = stdout


class _UntilClosed:
    """A text stream whose closed pipe is told apart from other trouble, which has its name."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        with _telling_trouble():
            return self._stream.write(text)

    def flush(self) -> None:
        with _telling_trouble():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _telling_trouble() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # What is left in the buffer must find a place when the interpreter flushes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            raise ClosedPipe from None
        raise FileTrouble.of("standard output", error) from None


class _Stdout:
    """Standard output, written whole or with an error; a closed pipe is told apart."""

    def __init__(self, *, styled: bool) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self.begun = False
        self._terminal = os.isatty(1) and not styled
        self._seen = not _is_kept(1)

    def write(self, line: bytes, /) -> object:
        self._lines.append(line)
        self._size += len(line)
        if self._size >= BUFFER:
            self.flush()
        return None

    def flush(self) -> None:
        lines = b"".join(self._lines)
        data = _harmless(lines) if self._terminal else lines
        self._lines, self._size = [], 0
        self.begun = self.begun or bool(data)
        if data and self._seen:
            make_room()
        try:
            write_all(1, data)
        except BrokenPipeError:
            raise ClosedPipe from None
        except OSError as error:
            raise FileTrouble.of("standard output", error) from None


def _is_kept(descriptor: int) -> bool:
    """Whether what is written there goes into a file, or nowhere: nobody sees it on a terminal."""
    with suppress(OSError):
        mode = os.fstat(descriptor).st_mode
        return stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(descriptor))
    return True


def _harmless(lines: bytes) -> bytes:
    r"""Lines as a terminal may see them: JSON of the same values, with escapes for what steers it.

    JSON itself escapes no more than the first 32 characters; lines for people not even those.

    >>> _harmless('"\x9b31m\u202e"'.encode())
    b'"\\u009b31m\\u202e"'
    """
    text = lines.decode("utf-8", "backslashreplace")
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def refuse_same_file(path: str, inputs: Sequence[Input]) -> None:
    """Raise if a file that will be written is an input, also through links or a shell's `>>`."""
    try:
        written = os.stat(1 if path == STDOUT else path)
    except OSError:
        return
    if not stat.S_ISREG(written.st_mode):
        return
    name = "standard output" if path == STDOUT else path
    for source in inputs:
        with suppress(OSError):
            if os.path.samestat(written, os.stat(0 if source.is_stdin else source.path)):
                raise UsageError(f"{name} is both input and output", "name another output")


@contextmanager
def replaced_file(
    path: str, *, keep_if_same: bool = False, together: Together | None = None
) -> Iterator[IO[bytes]]:
    """A new file beside the target, which takes its place when all of it is on the disk.

    A device, a named pipe and a descriptor that is already open (/dev/stdout, /dev/fd/3) are
    written to as they are.
    """
    if (special := _open_special(path)) is not None:
        try:
            with special:
                yield special
        except BrokenPipeError:
            raise ClosedPipe from None
        return
    with joining(together) as files:
        staged = files.stage(path, keep_if_same=keep_if_same)
        yield staged.file
        staged.complete()


def _open_special(path: str) -> IO[bytes] | None:
    """What is no regular file of its own, opened so that nothing in it is lost."""
    if (number := _descriptor_of(path)) is not None:
        return _harmless_on_terminals(os.dup(number))
    if is_special(path):
        return _harmless_on_terminals(os.open(path, os.O_WRONLY))
    return None


def _descriptor_of(path: str) -> int | None:
    """The number of the open descriptor that a path stands for."""
    found = _DESCRIPTOR.fullmatch(path)
    if found is None:
        return None
    name = found[1] or found[2]
    return {"stdout": 1, "stderr": 2}.get(name) or int(name)


def is_stdout(path: str) -> bool:
    """Whether a path is a name of standard output, or leads to the file or pipe that it is."""
    if path == STDOUT or _descriptor_of(path) == 1:
        return True
    with suppress(OSError):
        there, ours = os.stat(path), os.fstat(1)
        return os.path.samestat(there, ours) and not stat.S_ISCHR(ours.st_mode)
    return False


def refuse_stdout(option: str, path: str | None, *, is_for: str = "data") -> None:
    """Raise if what an option writes would be mixed into what standard output is for."""
    if path is not None and is_stdout(path):
        raise UsageError(f"{option} {path}: standard output is for {is_for}", "name a file")


def _harmless_on_terminals(descriptor: int) -> IO[bytes]:
    file = io.BufferedWriter(WaitingWriter(descriptor), BUFFER)
    return cast("IO[bytes]", _Terminal(file)) if os.isatty(descriptor) else file


class _Terminal(io.BufferedIOBase):
    """A terminal that lines are written to."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, lines: Any, /) -> int:
        make_room()
        self._file.write(_harmless(bytes(lines)))
        return len(lines)

    def flush(self) -> None:
        if not self._file.closed:
            self._file.flush()

    def close(self) -> None:
        self._file.close()


def is_special(path: str) -> bool:
    """Whether a path stands for a device, a pipe or an open descriptor: nothing to come back to."""
    if _descriptor_of(path) is not None:
        return True
    with naming_trouble(path):
        status = status_of(path)
    return status is not None and not stat.S_ISREG(status.st_mode)


@contextmanager
def _packed(file: IO[bytes], path: str) -> Iterator[Output]:
    """The file, or what compresses into it; compressed bytes hold no name and no time."""
    if path.endswith(".gz"):
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            yield packed
    elif path.endswith(".zst"):
        with _zstd_writer(file) as packed:
            yield packed
    else:
        yield file


def _zstd_writer(file: IO[bytes]) -> IO[bytes]:
    try:
        from backports import zstd
    except ImportError:
        raise missing_library("writing .zst", "zstd") from None
    return cast("IO[bytes]", zstd.ZstdFile(file, "wb"))
