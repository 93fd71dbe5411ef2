"""Where results go: standard output as they come, files complete or not at all."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Protocol, cast

from prefpairs.errors import BadRecords, UsageError
from prefpairs.files.file_system import errors_named, status_of
from prefpairs.files.file_transaction import FileTransaction, joined
from prefpairs.files.input_file import Input
from prefpairs.files.standard_output import (
    STDOUT,
    ClosedPipe,
    StandardOutput,
    descriptor_of,
    open_descriptor,
)
from prefpairs.optional_libraries import missing_library

_UNSUPPORTED = (".parquet", ".json", ".bz2", ".xz", ".lz4", ".zip")


class Output(Protocol):
    """Something that takes lines."""

    def write(self, lines: bytes, /) -> object:
        """Take one line or several, newlines included."""
        ...


@contextmanager
def open_output(
    path: str,
    inputs: Sequence[Input] = (),
    *,
    keep_if_same: bool = False,
    styled: bool = False,
    transaction: FileTransaction | None = None,
) -> Iterator[Output]:
    """An output. A file appears when the block succeeds; otherwise the old one remains.

    With `keep_if_same`, an old file with the same bytes remains, and keeps its time. In a
    `transaction`, the file appears when the others do. `styled` text has colours; its author made
    sure that nothing else in it controls a terminal.
    """
    refuse_same_file(path, inputs)
    if path == STDOUT:
        stdout = StandardOutput(styled=styled)
        try:
            yield stdout
        except BadRecords as error:
            error.partly_written = stdout.has_begun
            raise
        stdout.flush()
        return
    if path.endswith(_UNSUPPORTED):
        raise UsageError(
            f"cannot write {os.path.splitext(path)[1]} files",
            "name the output .jsonl, .jsonl.gz or .jsonl.zst",
        )
    with (
        errors_named(path),
        replaced_file(path, keep_if_same=keep_if_same, transaction=transaction) as file,
        _compressed(file, path) as compressed,
    ):
        yield compressed


@contextmanager
def open_binary(
    path: str,
    inputs: Sequence[Input] = (),
    *,
    keep_if_same: bool = False,
    transaction: FileTransaction | None = None,
) -> Iterator[IO[bytes]]:
    """A file of a binary format, which appears when the block succeeds."""
    refuse_same_file(path, inputs)
    with (
        errors_named(path),
        replaced_file(path, keep_if_same=keep_if_same, transaction=transaction) as file,
    ):
        yield file


@contextmanager
def open_output_folder(  # noqa: PLR0913 - what is written, and how it appears
    path: str,
    names: Sequence[str],
    our_names: Sequence[str],
    inputs: Sequence[Input] = (),
    *,
    keep_if_same: bool = False,
    transaction: FileTransaction | None = None,
) -> Iterator[dict[str, Output]]:
    """An output for each of the names; the files appear in the folder when the block succeeds.

    Other files of `our_names` are from an earlier run, and are removed. A new folder appears as a
    whole. In an existing one, all old files are removed before the first new one appears, so old
    and new files are never mixed. With `keep_if_same`, files with the same bytes remain as they
    are. In a `transaction`, the files appear when the others do.
    """
    for name in our_names:
        refuse_same_file(os.path.join(path, name), inputs)
    with joined(transaction) as files:
        staged = files.stage_folder(path, names, our_names, keep_if_same=keep_if_same)
        with errors_named(path):
            yield {name: given.file for name, given in staged.items()}
            for given in staged.values():
                given.finish()


def write_file(path: str, content: bytes, transaction: FileTransaction | None = None) -> None:
    """Write a small file, complete or not at all."""
    with errors_named(path), replaced_file(path, transaction=transaction) as file:
        file.write(content)


def refuse_same_file(path: str, inputs: Sequence[Input]) -> None:
    """Raise if an output is also an input, even through links or a shell's `>>`."""
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
    path: str, *, keep_if_same: bool = False, transaction: FileTransaction | None = None
) -> Iterator[IO[bytes]]:
    """A new file, which replaces the one at `path` when all of it is on the disk.

    Devices, named pipes and open descriptors (/dev/stdout, /dev/fd/3) are written to directly.
    """
    if (special := _open_special(path)) is not None:
        try:
            with special:
                yield special
        except BrokenPipeError:
            raise ClosedPipe from None
        return
    with joined(transaction) as files:
        staged = files.stage(path, keep_if_same=keep_if_same)
        yield staged.file
        staged.finish()


def is_special(path: str) -> bool:
    """Whether a path is a device, a pipe or an open descriptor, so that nothing can be replaced."""
    if descriptor_of(path) is not None:
        return True
    with errors_named(path):
        status = status_of(path)
    return status is not None and not stat.S_ISREG(status.st_mode)


def _open_special(path: str) -> IO[bytes] | None:
    if (number := descriptor_of(path)) is not None:
        return open_descriptor(os.dup(number))
    if is_special(path):
        return open_descriptor(os.open(path, os.O_WRONLY))
    return None


@contextmanager
def _compressed(file: IO[bytes], path: str) -> Iterator[Output]:
    """The file, or a compressor that writes to it. Its header has no name and no time."""
    if path.endswith(".gz"):
        import gzip

        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressed:
            yield compressed
    elif path.endswith(".zst"):
        with _zstd_writer(file) as compressed:
            yield compressed
    else:
        yield file


def _zstd_writer(file: IO[bytes]) -> IO[bytes]:
    try:
        from backports import zstd
    except ImportError:
        raise missing_library("writing .zst", "zstd") from None
    return cast("IO[bytes]", zstd.ZstdFile(file, "wb"))
