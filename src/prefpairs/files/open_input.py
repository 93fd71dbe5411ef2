"""The records of an input. Its format is recognised by its first bytes, not by its name."""

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from prefpairs.errors import BadInput, FileError, InputChanged
from prefpairs.files.file_signatures import (
    BOM,
    COMPRESSED,
    CONTAINERS,
    HEAD,
    PARQUET,
    PICKLES,
    SQLITE,
    TRXP,
    ZIP,
    is_array,
    is_document,
)
from prefpairs.files.file_stamps import record_input
from prefpairs.files.input_file import Input
from prefpairs.files.lines import Record, Refused, lines_between, lines_in, lines_of, record_of
from prefpairs.files.nonblocking import CountBytes, CountingFile

if TYPE_CHECKING:
    from prefpairs.files.decompression import CountedStream

OLD_PICKLE = (
    "a pickle, as Trinity-RFT before 0.5.2 wrote experiences; it holds code, and is not read"
)
NEWER_FRAMES = "newer releases of Trinity-RFT write frames (TRXP), which hold none"

_WINDOW = "Frame requires too much memory"
_SMALLER_WINDOW = "`zstd -dc --long=31 FILE | zstd > NEW` compresses it again"
"""The error of zstd for a window of more than 128 MB, and what helps."""

_BUFFER = 1 << 18
_SMALL = 1 << 16
"""Smaller files are read at once: with thousands of them, most time is spent opening files."""

Fingerprint = tuple[int, int, int, int]


class OpenInput(NamedTuple):
    """An input that is being read; `seekable` if its records can be read again by offset.

    `lines_from` is where the first line of a regular file of lines begins. `content` is the whole
    of such a file if it is small.
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
        """The size of a regular file in bytes."""
        return self.seen.st_size


@contextmanager
def open_input(source: Input, count_bytes: CountBytes | None = None) -> Iterator[OpenInput]:
    """The records of one input. Errors name the file."""
    descriptor = -1
    try:
        with InputErrorsNamed(source):
            if not source.is_stdin:
                record_input(source.path)
            descriptor = input_descriptor(source)
            opened = _opened(source, descriptor, count_bytes)
        yield opened
        with InputErrorsNamed(source):
            status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and fingerprint(status) != fingerprint(opened.seen):
            raise InputChanged(source.label)
    finally:
        if descriptor >= 0 and not source.is_stdin:
            with suppress(OSError):  # everything was read, so closing can lose nothing
                os.close(descriptor)


def input_descriptor(source: Input) -> int:
    """A descriptor of an input, for reading."""
    return 0 if source.is_stdin else os.open(source.path, os.O_RDONLY)


def _opened(source: Input, descriptor: int, count_bytes: CountBytes | None) -> OpenInput:
    """What an open file contains, according to its first bytes and its status."""
    seen = os.fstat(descriptor)
    regular = stat.S_ISREG(seen.st_mode)
    if source.part is not None:
        return OpenInput(
            _records_of_part(source, descriptor, *source.part), descriptor, seen, False
        )
    start, content = 0, None
    if regular and not source.is_stdin and 0 < seen.st_size <= _SMALL:
        content = _all_of(descriptor, seen.st_size, count_bytes)
    if content is not None:
        bom = len(BOM) if content.startswith(BOM) else 0
        if not content.startswith(CONTAINERS) and _is_lines(content[bom:], source):
            records = lines_in(content, bom, source.limits.line)
            return OpenInput(records, descriptor, seen, True, lines_from=bom, content=content)
        stream: io.BufferedReader = io.BufferedReader(io.BytesIO(content), len(content))
    else:
        stream = io.BufferedReader(CountingFile(descriptor, count_bytes, closefd=False), _BUFFER)
        start = stream.tell() if regular else 0
        if not regular:
            from prefpairs.files.decompression import with_head

            stream = with_head(stream)
    head = stream.peek(len(PARQUET))
    other = source.rows or source.beside or _is_table(head, source)
    seekable = regular and not head.startswith(CONTAINERS) and not other
    bom = len(BOM) if head.startswith(BOM) else 0
    lines_from = start + bom if seekable and _is_lines(head[bom:HEAD], source) else None
    records = _records(stream, start, source)
    return OpenInput(records, descriptor, seen, seekable, head.startswith(PARQUET), lines_from)


def _all_of(descriptor: int, size: int, count_bytes: CountBytes | None) -> bytes | None:
    """All of a small file; None if less came, in which case it is read from its beginning."""
    content = os.read(descriptor, size)
    if len(content) < size:
        os.lseek(descriptor, 0, os.SEEK_SET)
        return None
    if count_bytes is not None:
        count_bytes(size)
    return content


def fingerprint(status: os.stat_result) -> Fingerprint:
    """What differs between two files, and before and after a file is written to."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _records(stream: io.BufferedReader, start: int, source: Input) -> Iterator[Record]:
    """The records of a stream. Errors name the file."""
    with InputErrorsNamed(source):
        yield from _unnamed_records(stream, start, source)


def _records_of_part(
    source: Input, descriptor: int, start: int, end: int, lines_before: int
) -> Iterator[Record]:
    """The lines of a range of a file, with their numbers in the file. Errors name the file."""
    with InputErrorsNamed(source):
        lines = lines_between(descriptor, start, end)
        for record in lines_of(lines, start, source.limits.line, blank=False):
            yield record._replace(number=lines_before + record.number)


def _unnamed_records(stream: io.BufferedReader, start: int, source: Input) -> Iterator[Record]:
    head = stream.peek(len(PARQUET))
    compressed = None
    if head.startswith(COMPRESSED):
        from prefpairs.files.decompression import CountedStream, decompressed

        compressed = CountedStream(stream)
        stream = decompressed(compressed, head, source)
    begin = stream.peek(len(PARQUET))[:HEAD]  # as much of a pipe as can be peeked at
    if source.rows and begin.startswith(CONTAINERS):
        raise BadInput(source.label, f"--rows {source.rows} is for files of one JSON document")
    if begin.startswith(ZIP):
        from prefpairs.files.zip_reader import zip_records

        yield from zip_records(cast("IO[bytes]", stream), source)
    elif (rows := _rows_of_container(stream, begin, source, compressed)) is not None:
        for number, row in enumerate(rows, 1):
            if isinstance(row, Refused):
                yield Record(number, 0, b"", refused=row.problem)
            else:
                yield record_of(number, 0, row, source.limits.line)
    else:
        bom = stream.read(len(BOM)) if begin.startswith(BOM) else b""
        yield from _records_of_text(stream, start + len(bom), begin[len(bom) :], source)


def _records_of_text(
    stream: io.BufferedReader, start: int, begin: bytes, source: Input
) -> Iterator[Record]:
    """The records of a file of JSON: of a document, an array or lines."""
    if source.rows:
        from prefpairs.files.document_reader import rows_of_document

        yield from rows_of_document(stream, source, source.rows)
    elif source.beside:
        yield _with_file_beside(stream, source, *source.beside)
    elif _is_table(begin, source):
        from prefpairs.files.delimited_reader import delimited_records

        yield from delimited_records(stream, start, source)
    elif is_array(begin):
        from prefpairs.files.json_array import array_elements

        elements = array_elements(stream, start, source)
        for number, (offset, element) in enumerate(elements, 1):
            yield record_of(number, offset, element, source.limits.line)
    elif source.layouts and is_document(begin):
        from prefpairs.files.document_reader import document_records

        yield from document_records(stream, start, source)
    else:
        yield from lines_of(stream, start, source.limits.line, blank=False)


def _with_file_beside(stream: io.BufferedReader, source: Input, key: str, path: str) -> Record:
    """The one record of a file, to which the content of another file is added."""
    from prefpairs.files.document_reader import whole
    from prefpairs.model.record_layout import joined

    record = whole(stream, source)
    other = source._replace(path=path, label=path, rows=None, beside=None)
    with InputErrorsNamed(other):
        record_input(path)
        with io.BufferedReader(CountingFile(path, None)) as file:
            seen = os.fstat(file.fileno())
            content = whole(file, other)
            if fingerprint(os.fstat(file.fileno())) != fingerprint(seen):
                raise InputChanged(path)
    return record_of(1, 0, joined(record, key, content), 2 * source.limits.line)


def _rows_of_container(
    stream: io.BufferedReader, begin: bytes, source: Input, compressed: "CountedStream | None"
) -> Iterator[bytes | Refused] | None:
    """The rows, as JSON, of a file that is neither lines nor an array; else None."""
    bytes_read = None if compressed is None else compressed.bytes_read
    if begin.startswith(PARQUET):
        from prefpairs.files.parquet_reader import parquet_rows
        from prefpairs.files.rows_together import rows_together

        return rows_together(parquet_rows(stream, source, bytes_read), source)
    if begin.startswith(TRXP):
        from prefpairs.files.trxp_reader import trxp_rows

        return trxp_rows(stream, source, bytes_read)
    if begin.startswith(SQLITE):
        from prefpairs.files.sqlite_reader import sqlite_rows

        return sqlite_rows(source, packed=compressed is not None)
    if begin.startswith(PICKLES):
        raise BadInput(source.label, f"byte 0: {OLD_PICKLE}", NEWER_FRAMES)
    return None


def _is_lines(begin: bytes, source: Input) -> bool:
    """Whether a file consists of lines, each of them a row."""
    document = source.rows or source.beside or (source.layouts and is_document(begin))
    return not document and not is_array(begin) and not _is_table(begin, source)


def _is_table(begin: bytes, source: Input) -> bool:
    """Whether a file is a table by its name, and by its first bytes no JSON."""
    return source.delimiter is not None and not begin.removeprefix(BOM).lstrip().startswith(
        (b"{", b"[")
    )


class InputErrorsNamed:
    """Raises the errors of the file system and of decompressors with the name of the input."""

    def __init__(self, source: Input) -> None:
        self._label = source.label

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Raise the error with the name of the input."""
        if error is None:
            return
        import gzip
        import zlib

        is_decompression = isinstance(error, (EOFError, zlib.error, gzip.BadGzipFile))
        if is_decompression or type(error).__name__ == "ZstdError":  # not always installed
            hint = _SMALLER_WINDOW if _WINDOW in str(error) else None
            raise BadInput(self._label, _decompression_problem(error), hint) from None
        if isinstance(error, OSError):
            raise FileError.of(self._label, error) from None


def _decompression_problem(error: BaseException) -> str:
    if isinstance(error, EOFError):
        return "the compressed file ends too early: it was cut off or is still being written"
    return f"the compressed file cannot be unpacked ({error})"
