"""The records of a file, whatever it is packed in: told by its first bytes, not by its name."""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from prefpairs.errors import BadInput, FileTrouble, InputChanged, NotJson
from prefpairs.files.array import array_elements
from prefpairs.files.inputs import Input
from prefpairs.files.lines import Record, Refused, lines_of, record_of
from prefpairs.files.noted import note
from prefpairs.files.unpacking import HEAD, PACKED, Counted, unpacked, with_head
from prefpairs.files.watched import Passed, WatchedFile
from prefpairs.records.wire import decode

OLD_PICKLE = (
    "a pickle, as Trinity-RFT before 0.5.2 wrote experiences; it holds code, and is not read"
)
NEWER_FRAMES = "newer releases of Trinity-RFT write frames (TRXP), which hold none"

_PARQUET, _TRXP, _SQLITE, _BOM = b"PAR1", b"TRXP", b"SQLite format 3\0", b"\xef\xbb\xbf"
PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
"""How pickles of the last twenty years begin."""
CONTAINERS = (*PACKED, _PARQUET, _TRXP, _SQLITE, *PICKLES)
"""How files begin that are no lines."""
_BUFFER = 1 << 18


@dataclass(frozen=True, slots=True)
class OpenInput:
    """An input that is being read; `seekable` if its records can be fetched again from it.

    `lines_from` is where the first line of a regular file of lines begins.
    """

    records: Iterator[Record]
    descriptor: int
    seekable: bool
    parquet: bool = False
    lines_from: int | None = None


@contextmanager
def open_input(source: Input, passed: Passed | None = None) -> Iterator[OpenInput]:
    """The records of one input; trouble with the file becomes an error that names it."""
    with ExitStack() as stack:
        with naming_trouble_of(source):
            file = _open_binary(source, passed)
            stack.callback(_close, file)
            descriptor = file.fileno()
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            start = file.tell() if regular else 0
            stream = file if regular else with_head(file)
            head = stream.peek(len(_PARQUET))
            before = fingerprint(os.fstat(descriptor))
        packed = head.startswith(CONTAINERS)
        records = _named(_records(stream, start, source), source)
        parquet = head.startswith(_PARQUET)
        seekable = regular and not packed
        bom = len(_BOM) if head.startswith(_BOM) else 0
        lines = seekable and not _is_array(head[bom:HEAD])
        yield OpenInput(records, descriptor, seekable, parquet, start + bom if lines else None)
        with naming_trouble_of(source):
            after = fingerprint(os.fstat(descriptor))
        if regular and after != before:
            raise InputChanged(source.label)


def _close(file: io.BufferedReader) -> None:
    """Close a file that was read: all of it is there, so that a close can lose nothing."""
    with suppress(OSError):
        file.close()


Fingerprint = tuple[int, int, int, int]


def fingerprint(status: os.stat_result) -> Fingerprint:
    """What tells a file from another one, and from what it was before somebody wrote to it."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _open_binary(source: Input, passed: Passed | None) -> io.BufferedReader:
    if source.is_stdin:
        return io.BufferedReader(WatchedFile(0, passed, closefd=False), _BUFFER)
    note(source.path)
    return io.BufferedReader(WatchedFile(source.path, passed), _BUFFER)


def _records(stream: io.BufferedReader, start: int, source: Input) -> Iterator[Record]:
    head = stream.peek(len(_PARQUET))
    packed = None
    if head.startswith(PACKED):
        packed = Counted(stream)
        stream = unpacked(packed, head, source)
    begin = stream.peek(len(_PARQUET))[:HEAD]  # as much as is seen of a pipe
    if (rows := _rows_of_container(stream, begin, source, packed=packed)) is not None:
        for number, row in enumerate(rows, 1):
            if isinstance(row, Refused):
                yield Record(number, 0, b"", refused=row.problem)
            else:
                yield record_of(number, 0, row, source.limits.line)
        return
    if begin.startswith(_BOM):
        start += len(stream.read(len(_BOM)))
        begin = begin[len(_BOM) :]
    if _is_array(begin):
        elements = array_elements(stream, start, source)
        for number, (offset, element) in enumerate(elements, 1):
            yield record_of(number, offset, element, source.limits.line)
    else:
        yield from lines_of(stream, start, source.limits.line, blank=False)


def _rows_of_container(
    stream: io.BufferedReader, begin: bytes, source: Input, *, packed: Counted | None
) -> Iterator[bytes | Refused] | None:
    """The rows of what is neither lines nor an array, as JSON."""
    if begin.startswith(_PARQUET):
        from prefpairs.files.parquet import parquet_rows

        return parquet_rows(stream, source)
    if begin.startswith(_TRXP):
        from prefpairs.files.trxp import trxp_rows

        return trxp_rows(stream, source, None if packed is None else packed.passed)
    if begin.startswith(_SQLITE):
        from prefpairs.files.sqlite import sqlite_rows

        return sqlite_rows(source, packed=packed is not None)
    if begin.startswith(PICKLES):
        raise BadInput(source.label, f"byte 0: {OLD_PICKLE}", NEWER_FRAMES)
    return None


def _is_array(begin: bytes) -> bool:
    """Whether a file is one array, rather than lines of which the first happens to be one."""
    if not begin.lstrip().startswith(b"["):
        return False
    first, _, rest = begin.lstrip().partition(b"\n")
    if not rest.strip():
        return True
    try:
        decode(first)
    except NotJson:
        return True
    return False


def _named(records: Iterator[Record], source: Input) -> Iterator[Record]:
    """The same records; what goes wrong while they are read gets the file's name."""
    with naming_trouble_of(source):
        yield from records


@contextmanager
def naming_trouble_of(source: Input) -> Iterator[None]:
    """Give what the file system or a decompressor says the name of the file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(source.label, _packing_problem(error)) from None
    except OSError as error:
        raise FileTrouble.of(source.label, error) from None
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # a type that may not be installed
            raise
        raise BadInput(source.label, _packing_problem(error)) from None


def _packing_problem(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "the compressed file ends too early: it was cut off or is still being written"
    return f"the compressed file cannot be unpacked ({error})"
