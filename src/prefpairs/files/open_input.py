"""The records of a file, whatever it is packed in: told by its first bytes, not by its name."""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from prefpairs.errors import BadInput, FileError, InputChanged, NotJson
from prefpairs.files.decompression import HEAD, PACKED, Counted, unpacked, with_head
from prefpairs.files.input_stamps import note
from prefpairs.files.inputs import Input
from prefpairs.files.json_array import array_elements
from prefpairs.files.lines import Record, Refused, lines_in, lines_of, record_of
from prefpairs.files.read_counter import Passed, WatchedFile
from prefpairs.model.json_codec import decode

OLD_PICKLE = (
    "a pickle, as Trinity-RFT before 0.5.2 wrote experiences; it holds code, and is not read"
)
NEWER_FRAMES = "newer releases of Trinity-RFT write frames (TRXP), which hold none"

_PARQUET, _TRXP, _SQLITE, _BOM = b"PAR1", b"TRXP", b"SQLite format 3\0", b"\xef\xbb\xbf"
PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
"""How pickles of the last twenty years begin."""
CONTAINERS = (*PACKED, _PARQUET, _TRXP, _SQLITE, *PICKLES)
"""How files begin that are no lines."""
_WINDOW = "Frame requires too much memory"
_SMALLER_WINDOW = "`zstd -dc --long=31 FILE | zstd > NEW` packs it anew"
"""What zstd says of a window of more than 128 MB, and what helps."""

_BUFFER = 1 << 18
_SMALL = 1 << 16
"""Smaller files are read at once: of thousands, most of the time went into opening them."""

Fingerprint = tuple[int, int, int, int]


class OpenInput(NamedTuple):
    """An input that is being read; `seekable` if its records can be fetched again from it.

    `lines_from` is where the first line of a regular file of lines begins. `content` is all of
    such a file if it is small.
    """

    records: Iterator[Record]
    descriptor: int
    seen: os.stat_result
    seekable: bool
    parquet: bool = False
    lines_from: int | None = None
    content: bytes | None = None

    @property
    def size(self) -> int:
        """How many bytes a regular file has."""
        return self.seen.st_size


@contextmanager
def open_input(source: Input, passed: Passed | None = None) -> Iterator[OpenInput]:
    """The records of one input; trouble with the file becomes an error that names it."""
    descriptor = -1
    try:
        with NamingTrouble(source):
            descriptor = _open(source)
            opened = _opened(source, descriptor, passed)
        yield opened
        with NamingTrouble(source):
            status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and fingerprint(status) != fingerprint(opened.seen):
            raise InputChanged(source.label)
    finally:
        if descriptor >= 0 and not source.is_stdin:
            with suppress(OSError):  # all of it was read, so that a close can lose nothing
                os.close(descriptor)


def _open(source: Input) -> int:
    if source.is_stdin:
        return 0
    note(source.path)
    return os.open(source.path, os.O_RDONLY)


def _opened(source: Input, descriptor: int, passed: Passed | None) -> OpenInput:
    """What an open file holds, as its first bytes and the system tell it."""
    seen = os.fstat(descriptor)
    regular = stat.S_ISREG(seen.st_mode)
    start, content = 0, None
    if regular and not source.is_stdin and 0 < seen.st_size <= _SMALL:
        content = _all_of(descriptor, seen.st_size, passed)
    if content is not None:
        bom = len(_BOM) if content.startswith(_BOM) else 0
        if not content.startswith(CONTAINERS) and not _is_array(content[bom:]):
            records = lines_in(content, bom, source.limits.line)
            return OpenInput(records, descriptor, seen, True, lines_from=bom, content=content)
        stream: io.BufferedReader = io.BufferedReader(io.BytesIO(content), len(content))
    else:
        stream = io.BufferedReader(WatchedFile(descriptor, passed, closefd=False), _BUFFER)
        start = stream.tell() if regular else 0
        stream = stream if regular else with_head(stream)
    head = stream.peek(len(_PARQUET))
    seekable = regular and not head.startswith(CONTAINERS)
    bom = len(_BOM) if head.startswith(_BOM) else 0
    lines_from = start + bom if seekable and not _is_array(head[bom:HEAD]) else None
    records = _records(stream, start, source)
    return OpenInput(records, descriptor, seen, seekable, head.startswith(_PARQUET), lines_from)


def _all_of(descriptor: int, size: int, passed: Passed | None) -> bytes | None:
    """All of a small file; nothing if it gives less, and then it is read from its beginning."""
    content = os.read(descriptor, size)
    if len(content) < size:
        os.lseek(descriptor, 0, os.SEEK_SET)
        return None
    if passed is not None:
        passed(size)
    return content


def fingerprint(status: os.stat_result) -> Fingerprint:
    """What tells a file from another one, and from what it was before somebody wrote to it."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _records(stream: io.BufferedReader, start: int, source: Input) -> Iterator[Record]:
    """The records of a stream; what goes wrong while they are read gets the file's name."""
    with NamingTrouble(source):
        yield from _unnamed_records(stream, start, source)


def _unnamed_records(stream: io.BufferedReader, start: int, source: Input) -> Iterator[Record]:
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
    passed = None if packed is None else packed.passed
    if begin.startswith(_PARQUET):
        from prefpairs.files.parquet_reader import parquet_rows

        return parquet_rows(stream, source, passed)
    if begin.startswith(_TRXP):
        from prefpairs.files.trxp_reader import trxp_rows

        return trxp_rows(stream, source, passed)
    if begin.startswith(_SQLITE):
        from prefpairs.files.sqlite_reader import sqlite_rows

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


class NamingTrouble:
    """Gives what the file system or a decompressor says in a block the name of the file."""

    def __init__(self, source: Input) -> None:
        self._label = source.label

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Raise the error with the name."""
        if error is None:
            return
        packed = isinstance(error, (EOFError, zlib.error, gzip.BadGzipFile))
        if packed or type(error).__name__ == "ZstdError":  # a type that may not be installed
            hint = _SMALLER_WINDOW if _WINDOW in str(error) else None
            raise BadInput(self._label, _packing_problem(error), hint) from None
        if isinstance(error, OSError):
            raise FileError.of(self._label, error) from None


def _packing_problem(error: BaseException) -> str:
    if isinstance(error, EOFError):
        return "the compressed file ends too early: it was cut off or is still being written"
    return f"the compressed file cannot be unpacked ({error})"
