"""The rows of a Parquet file, as lines of JSON. Needs the extra `parquet`."""

import decimal
from collections.abc import Iterator
from datetime import date, time, timedelta
from typing import Any, BinaryIO

from prefpairs.errors import BadInput, UsageError
from prefpairs.records.wire import encode

_BATCH = 1024


def parquet_rows(file: BinaryIO, label: str) -> Iterator[bytes]:
    """Each row as JSON. Only a batch of rows is in memory at a time."""
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise UsageError(
            "reading .parquet needs a library that is not installed",
            "pip install 'prefpairs[parquet]'",
        ) from None
    try:
        table = ParquetFile(file)
        for batch in table.iter_batches(batch_size=_BATCH):
            for row in batch.to_pylist():
                yield encode(_plain(row))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadInput(label, f"not a Parquet file that can be read ({error})") from None


def _plain(value: Any) -> Any:
    """The value with what JSON has no form for written as text or number."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (date, time, timedelta)):
        return str(value)
    return value
