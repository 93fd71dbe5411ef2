"""The rows of a Parquet file, as lines of JSON. Needs the extra `parquet`."""

import json
import os
import resource
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import IO, Any

from prefpairs.errors import BadInput
from prefpairs.files.arrow_values import (
    is_out_of_memory,
    require_room_for_pyarrow,
    rows_of,
    without_nanoseconds,
)
from prefpairs.files.input_file import Input, too_much
from prefpairs.files.lines import json_line
from prefpairs.model.memory_guard import LIMITED, memory_taken
from prefpairs.optional_libraries import missing_library

_BATCH, _BATCH_BYTES, _BATCH_VALUES = 128, 1 << 24, 1 << 20
_AT_ONCE = 16
_BYTES_A_VALUE = 8
"""A repeated value takes almost nothing in the file, but forty bytes in memory."""

_TIMES_A_GROUP = 3
"""The memory of a batch, as a multiple of the largest row group, above that of any container."""


def parquet_rows(
    file: IO[bytes], source: Input, packed: Callable[[], int] | None = None
) -> Iterator[bytes]:
    """Each row as JSON. Only one batch of rows is in memory at a time.

    If the file is compressed, `packed` returns how many compressed bytes were read.
    """
    require_room_for_pyarrow()
    try:
        import pyarrow.parquet
    except ImportError:
        if LIMITED and find_spec("pyarrow") is not None:  # there is not enough memory to import it
            raise MemoryError from None
        raise missing_library("reading .parquet", "parquet") from None
    if not file.seekable():  # Parquet is read from its end
        with tempfile.TemporaryFile() as spool:
            shutil.copyfileobj(file, spool)
            size = spool.tell() if packed is None else packed()
            yield from _rows(spool, source, size, pyarrow.ArrowException)
    else:
        yield from _rows(file, source, file.seek(0, os.SEEK_END), pyarrow.ArrowException)


def _rows(
    file: IO[bytes], source: Input, packed: int, arrow_error: type[Exception]
) -> Iterator[bytes]:
    """The rows of a seekable file, which came from this many compressed bytes."""
    room = source.limits.held_from(packed)
    try:
        left = source.limits.unpacked_from(packed)
        with _within(room, source):
            parts, chats, largest = _opened(file, source, left)
        while lines := _lines_of(parts, chats, room + _TIMES_A_GROUP * largest, source):
            yield from lines
            left -= sum(map(len, lines))
            if left < 0:  # rows of nulls take no space in the file
                raise too_much(source)
    except (arrow_error, OSError, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an error of the disk, not of the content
        if is_out_of_memory(error):
            raise MemoryError from None
        raise BadInput(source.label, f"not a Parquet file that can be read ({error})") from None


def _opened(file: IO[bytes], source: Input, most: int) -> tuple[Iterator[Any], list[str], int]:
    """The rows of a file in parts, the columns with JSON, and the size of the largest row group."""
    from pyarrow.parquet import ParquetFile

    parquet = ParquetFile(file, page_checksum_verification=True)
    sizes = [group.total_byte_size for group in _groups(parquet.metadata)]
    if min(sizes, default=0) < 0:
        raise BadInput(source.label, "not a Parquet file that can be read (sizes below zero)")
    if sum(sizes) > most:
        raise too_much(source)
    for name, count in Counter(parquet.schema_arrow.names).most_common(1):
        if count > 1:
            problem = f'{count} of its columns are called "{name[:60]}"'
            raise BadInput(source.label, problem, "give each a name of its own")
    values = _values_a_row(parquet)
    if values > source.limits.item // _BYTES_A_VALUE:
        problem = f"its rows hold {values:,.0f} values in one column, which no row does"
        raise BadInput(source.label, problem)
    chats = [field.name for field in parquet.schema_arrow if _holds_json(field.type)]
    at_once = max(1, int(_BATCH_VALUES / max(1, values)))
    batches = parquet.iter_batches(
        batch_size=min(at_once, _batch_of(parquet.metadata.num_rows, sum(sizes))),
        use_threads=False,
    )
    return _parts_of(batches), chats, max(sizes, default=0)


def _parts_of(batches: Iterator[Any]) -> Iterator[Any]:
    """A few rows at a time: Python values take more memory than a batch."""
    for batch in batches:
        fine = without_nanoseconds(batch)
        for start in range(0, fine.num_rows, _AT_ONCE):
            yield fine.slice(start, _AT_ONCE)


def _lines_of(parts: Iterator[Any], chats: list[str], room: int, source: Input) -> list[bytes]:
    """The next few rows as JSON; empty at the end."""
    with _within(room, source):
        for part in parts:
            rows = rows_of(part)
            for row in rows:
                for name in chats:
                    row[name] = _unpacked(row[name])
            # not by orjson, which crashes if a limit leaves it no memory: there is one now
            return [json_line(row) for row in rows]
    return []


@contextmanager
def _within(room: int, source: Input) -> Iterator[None]:
    """Limit the additional memory of a block; BadInput if it needs more.

    A few bytes of the file may repeat a large string thousands of times, which its sizes do not
    show.
    """
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = memory_taken() + room
    ours = soft == resource.RLIM_INFINITY or most < soft
    if ours:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    except Exception as error:
        if ours and is_out_of_memory(error):
            raise too_much(source) from None
        raise
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _groups(metadata: Any) -> Iterator[Any]:
    return map(metadata.row_group, range(metadata.num_row_groups))


def _values_a_row(parquet: Any) -> float:
    """How many values a row has on average, in the column and row group with the most.

    A row is read before the metadata of a column is used: if it is damaged, reading raises an
    exception, but accessing the metadata would crash the process.
    """
    columns = [parquet.schema.column(place) for place in range(len(parquet.schema.names))]
    lists = {place: one.path for place, one in enumerate(columns) if one.max_repetition_level}
    most = 0.0
    for number, group in enumerate(_groups(parquet.metadata) if lists else ()):
        next(parquet.iter_batches(1, [number], list(lists.values()), use_threads=False), None)
        for place in lists:
            most = max(most, group.column(place).num_values / max(1, group.num_rows))
    return most


def _batch_of(rows: int, size: int) -> int:
    """How many rows are read at a time: fewer if they are large."""
    return max(1, min(_BATCH, _BATCH_BYTES * rows // max(1, size)))


def _holds_json(kind: Any) -> bool:
    """Whether values are JSON text, or lists of it, as datasets on the Hub store chats."""
    inner = getattr(kind, "value_type", kind)
    return getattr(inner, "extension_name", "") == "arrow.json"


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    return json.loads(value) if isinstance(value, str) else value
