"""The seeds of fuzzing: the sample data, and the inputs of all golden cases."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from prefpairs.sources import SOURCES, TABLES
from prefpairs.sources.detect import source_of

ROOT = Path(__file__).parents[2]
_LONGEST = 20_000


@cache
def files() -> dict[str, bytes]:
    """All our inputs that are not too long, by path."""
    paths = [*(ROOT / "sample_data").iterdir(), *(ROOT / "tests" / "cases").rglob("*")]
    found = {}
    for path in sorted(path for path in paths if path.is_file()):
        name, data = str(path.relative_to(ROOT)), path.read_bytes()
        if path.name not in ("code", "err", "cmd") and 0 < len(data) <= _LONGEST:
            found[name] = data
    return found


@cache
def tables(target: str) -> tuple[tuple[bytes, ...], ...]:
    """The rows of each file; for a target that reads rollouts or pairs, only of such files."""
    of_rollouts = dict.fromkeys(("rollouts", "shards", "index", "engines"), _OF_ROLLOUTS)
    of_pairs = dict.fromkeys(("ready-pairs", "engines-of-pairs"), _OF_PAIRS)
    ours = {**of_rollouts, **of_pairs}.get(target, ("",))
    found = (_rows_of(data) for name, data in files().items() if name.startswith(ours))
    return tuple(rows for rows in found if rows)


_OF_ROLLOUTS = ("sample_data/", "tests/cases/pair/", "tests/cases/extract/")
_OF_PAIRS = tuple(f"tests/cases/{name}/" for name in ("dedupe", "export", "filter", "validate"))


def _rows_of(data: bytes) -> tuple[bytes, ...]:
    """The objects of a file, which may hold lines, an array or one object."""
    found = [line for line in data.splitlines() if line[:1] + line[-1:] == b"{}"]
    with suppress(ValueError):
        items = json.loads(data)
        listed = items if isinstance(items, list) else [items]
        found += [json.dumps(item).encode() for item in listed if isinstance(item, dict)]
    return tuple(found)


@cache
def rows(target: str = "") -> tuple[bytes, ...]:
    """The rows of all files, or of one source only."""
    if target in SOURCES:
        return tuple(row for row in rows() if source_of(row) == target)
    return tuple(sorted({row for table in tables("") for row in table}))


@cache
def seeds(target: str) -> tuple[bytes, ...]:
    """The seeds of a target."""
    return tuple(sorted(set(_seeds(target))))


def _seeds(target: str) -> Iterator[bytes]:
    if target == "parquet":
        yield from _tables()
    elif target == "archive":
        yield from (data for data in files().values() if data.startswith(b"PK"))
    elif target == "document":
        yield from (data[1:] for data in files().values() if data.startswith(b"{\n"))
    elif target in ("frames", "database"):
        yield from _of_trinity(target)
    elif target == "words":
        yield from _words()
    elif target in ("tokenizer", "template"):
        yield from (data for name, data in files().items() if target in name)
    elif target == "manifest":
        yield from (data for data in files().values() if b'"manifest"' in data)
    elif target == "recipe":
        yield from (data for name, data in files().items() if name.endswith(".toml"))
    elif target in (
        "lines",
        "delimited",
        "packed",
        "elements",
        "rollouts",
        "ready-pairs",
        "index",
        "engines",
        "engines-of-pairs",
        "surroundings",
        "shards",
    ):
        yield from (data for name, data in files().items() if not name.endswith(".toml"))
    else:
        yield from rows(target)


def _of_trinity(target: str) -> Iterator[bytes]:
    """The frames of Trinity-RFT and their bare pickles, or its databases."""
    magic = b"TRXP" if target == "frames" else b"SQLite"
    for data in (data for data in files().values() if data.startswith(magic)):
        yield data
        if target == "frames":
            yield data[21 : 21 + int.from_bytes(data[5:13], "little")]


def _tables() -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    for column in ([1, None], ["a", "b"], [{"a": [1.5]}], [[{"role": "user", "content": "Q"}]]):
        fields = {"prompt": pa.array(column), "score": pa.array([0.5] * len(column))}
        groups = dict.fromkeys(TABLES[0].columns, pa.array(column)) | {
            TABLES[0].by: [0] * len(column)
        }
        for table in (pa.table(fields), pa.table(groups)):
            yield from _packed(table, write_table)


def _packed(table: Any, write_table: Callable[..., None]) -> Iterator[bytes]:
    for compression in ("none", "snappy", "gzip"):
        file = io.BytesIO()
        write_table(table, file, compression=compression)
        yield file.getvalue()


def _words() -> Iterator[bytes]:
    yield b"pairs>=1\nscore:0.5\nid,a.0.b\na,score\nprompt\nresponse\n0.2"
    yield b"rows.dropped.no_score==0\nscore\nprompt\nid\nprompt\nresponse\n-1e9"
    yield b"candidates.kept>0\nscore:-1\nfile\na.0\na.0.b\nid\nnan"
    yield b"gap.mean>=.5\na\nauto\na.0.b,id\nid\na.0.b\ninf"
