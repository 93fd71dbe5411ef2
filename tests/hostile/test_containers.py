"""The memory that a small hostile Parquet file or SQLite database may take."""

# ruff: noqa: S608 - the statements are our own

import gzip
import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hostile_kit import run
from pyarrow.parquet import write_table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak of memory")

MEGABYTE = 1_000_000
PYARROW = 80
"""The memory of the program and pyarrow alone, in MB."""

HELD = 256
"""The memory that a container may take at once, whatever its size, in MB."""


def again(value: Any, count: int) -> Any:
    """A column that repeats one value many times, in hardly any bytes."""
    places = pa.repeat(pa.scalar(0, pa.int32()), count)
    return pa.DictionaryArray.from_arrays(places, pa.array([value]))


def lists(values: Any, *ends: int) -> Any:
    """A column of lists, from the position where each ends in the values."""
    return pa.ListArray.from_arrays(pa.array([0, *ends], pa.int32()), values)


def ones(count: int) -> Any:
    """A column of the number 1."""
    return pa.repeat(pa.scalar(1, pa.int32()), count)


def with_rows(count: int, **more: Any) -> dict[str, Any]:
    """This many rollouts, with extra columns."""
    answers = [f"A{number % 7}" for number in range(count)]
    return {"prompt": ["Q"] * count, "response": answers, "score": [1.0] * count, **more}


def a_text_in_each_row(size: int) -> dict[str, Any]:
    """A long text, repeated in many rows."""
    return with_rows(2000, x=again("A" * size, 2000))


def one_long_list() -> dict[str, Any]:
    """A list of millions of numbers in one of many rows."""
    long = 30 * MEGABYTE
    return with_rows(20_000, x=lists(ones(long), *[long] * 20_000))


def objects() -> dict[str, Any]:
    """A list of millions of objects."""
    members = pa.StructArray.from_arrays([ones(2 * MEGABYTE)] * 6, [*"abcdef"])
    return with_rows(1, x=lists(members, 2 * MEGABYTE))


REFUSED: dict[str, Callable[[], dict[str, Any]]] = {
    "a text of 50 MB in each row": lambda: a_text_in_each_row(50 * MEGABYTE),
    "a text of 10 MB in each row": lambda: a_text_in_each_row(10 * MEGABYTE),
    "a text a thousand times in a list": lambda: with_rows(
        1, x=lists(again("A" * MEGABYTE, 1000), 1000)
    ),
    "a list in one row": one_long_list,
    "objects": objects,
    "lists in lists": lambda: with_rows(
        1, x=lists(lists(ones(3 * MEGABYTE), *range(1, 3 * MEGABYTE + 1)), 3 * MEGABYTE)
    ),
}


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(True, id="with types of Arrow"),
        pytest.param(False, id="without", marks=pytest.mark.stress),
    ],
)
@pytest.mark.parametrize("kind", REFUSED)
def test_parquet_that_repeats_itself(kind: str, stored: bool, tmp_path: Path) -> None:
    """A few kilobytes that would take gigabytes."""
    table = pa.table(REFUSED[kind]())
    write_table(table, tmp_path / "in", compression="zstd", store_schema=stored)
    assert (tmp_path / "in").stat().st_size < 10_000
    code, said, peak = run("extract", tmp_path / "in", "-o", tmp_path / "out")
    assert (code, "Traceback" in said) == (1, False), said
    assert peak < PYARROW + HELD + 200, peak


@pytest.mark.parametrize(
    ("columns", "group", "code"),
    [
        (lambda: with_rows(2, x=["x" * 150 * MEGABYTE, "y"]), 151, 1),
        (lambda: with_rows(2000, x=["y" * 100_000] * 2000), 201, 0),
    ],
    ids=["a giant text", "many large texts"],
)
def test_parquet_of_large_pages(
    columns: Callable[[], dict[str, Any]], group: int, code: int, tmp_path: Path
) -> None:
    """Large pages take at most the memory of three row groups, beyond what any container takes."""
    table = pa.table(columns())
    write_table(table, tmp_path / "in", compression="zstd", use_dictionary=False)
    assert (tmp_path / "in").stat().st_size < 100_000
    found, said, peak = run("extract", tmp_path / "in", "-o", tmp_path / "out")
    assert (found, peak < PYARROW + HELD + 3 * group) == (code, True), (said, peak)


def test_many_rows_in_a_group_of_parquet(tmp_path: Path) -> None:
    """A row group with millions of rows in a few kilobytes is read a few rows at a time."""
    count = 10 * MEGABYTE
    columns = {"prompt": again("Q", count), "response": again("A", count), "score": ones(count)}
    write_table(pa.table(columns), tmp_path / "in", row_group_size=count)
    code, _, peak = run("extract", tmp_path / "in", "--limit", "3000", "-o", tmp_path / "out")
    assert (code, peak < PYARROW + 40) == (0, True), peak


def footer(columns: int, groups: int, size: bytes = b"\0") -> bytes:
    """A Parquet file with only a footer, which lists groups of empty columns.

    In Thrift's compact form, a byte gives the next field and its type, and 0 ends a struct.
    """

    def listed(count: int, one: bytes) -> bytes:
        return b"\xfc" + number(count) + one * count

    def number(value: int) -> bytes:
        high, low = divmod(value, 128)
        return bytes([low | 128]) + number(high) if high else bytes([low])

    root = b"\x48\x01r\x15" + number(2 * columns) + b"\0"
    leaf = b"\x15\x02\x25\x00\x18\x01x\0"
    group = b"\x19" + listed(columns, b"\x26\x08\0") + b"\x16" + size + b"\x16\x00\0"
    schema = b"\xfc" + number(1 + columns) + root + leaf * columns
    found = b"\x15\x02\x19" + schema + b"\x16\x00\x19" + listed(groups, group) + b"\0"
    return b"PAR1" + found + len(found).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize("packed", [False, True])
def test_a_footer_of_parquet(packed: bool, tmp_path: Path) -> None:
    """Rejects a footer of 3 MB, or 4 KB compressed, that lists a million empty columns."""
    path = tmp_path / "x.parquet"
    data = footer(1000, 1000)
    path.write_bytes(gzip.compress(data) if packed else data)
    code, said, peak = run("pair", path)
    assert (code, "more than a file of rows should" in said) == (1, True), said
    assert peak < PYARROW + 1.2 * max(HELD, 0 if packed else 100 * len(data) / MEGABYTE)


def test_a_group_of_parquet_below_zero(tmp_path: Path) -> None:
    """Rejects a row group with a negative size, which would offset the size of a huge one."""
    (tmp_path / "x.parquet").write_bytes(footer(1, 1, b"\x01"))
    code, said, _ = run("pair", tmp_path / "x.parquet")
    assert (code, "sizes below zero" in said) == (1, True), said


@pytest.mark.parametrize("value", ["A", ["A"]], ids=["text", "list"])
def test_a_column_of_parquet_that_ends_pyarrow(value: object, tmp_path: Path) -> None:
    """Level counts that contradict a column's type are an error; pyarrow would crash on them."""
    path = tmp_path / "x.parquet"
    write_table(pa.table({**with_rows(4), "x": [value] * 4}), path, row_group_size=2)
    optional, required = b"\x02\x18\x01x", b"\x00\x18\x01x"
    path.write_bytes(path.read_bytes().replace(optional, required))
    code, said, _ = run("pair", path, "-o", tmp_path / "out")
    assert (code, "histogram size mismatch" in said) == (1, True), said
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("memory", [100, 117, 132, 149, 200, 288, 301, 400, 600])
def test_parquet_under_a_limit_on_memory(memory: int, tmp_path: Path) -> None:
    """Under a memory limit, the error is about memory and does not call the file damaged."""
    for columns in (with_rows(1000), with_rows(2, x=["x" * 60 * MEGABYTE] * 2)):
        write_table(pa.table(columns), tmp_path / "in", use_dictionary=False)
        words: list[str | Path] = ["extract", tmp_path / "in", "-o", tmp_path / "out"]
        code, said, _ = run(*words, memory=memory * MEGABYTE)
        ran_out = "out of memory" in said
        too_long = "the line is longer than --max-line allows, or than the limit" in said
        assert (code, ran_out, too_long) in {
            (0, False, False), (5, True, False), (1, False, True)
        }, said  # fmt: skip


TABLE = "CREATE TABLE exp (id INTEGER PRIMARY KEY, reward REAL, experience_bytes BLOB, {});"
ROWS = "INSERT INTO exp (id, reward) VALUES " + ",".join(f"({n}, 1.0)" for n in range(200)) + ";"
GENERATED = "{} TEXT GENERATED ALWAYS AS (hex(zeroblob(30000000))) VIRTUAL"
DATABASES = {
    "a blob of 300 MB": TABLE.format("run_id TEXT")
    + "INSERT INTO exp (id, experience_bytes) VALUES (1, zeroblob(300000000));",
    "blobs of 60 MB": TABLE.format("run_id TEXT")
    + "INSERT INTO exp (id, experience_bytes) VALUES (1, zeroblob(60000000));"
    + "INSERT INTO exp (id, experience_bytes) VALUES (2, zeroblob(60000000));",
    "texts of 60 MB": TABLE.format("task_id TEXT, run_id TEXT, msg_id TEXT")
    + "INSERT INTO exp (id, run_id) VALUES (1, hex(zeroblob(30000000)));",
    "generated texts": TABLE.format(
        ", ".join(GENERATED.format(name) for name in ("task_id", "run_id", "msg_id"))
    )
    + ROWS,
    "a generated frame": "CREATE TABLE exp (id INTEGER PRIMARY KEY, reward REAL, experience_bytes "
    "BLOB GENERATED ALWAYS AS (zeroblob(60000000)) VIRTUAL);" + ROWS,
    "a view without end": "CREATE VIEW exp AS WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT "
    "id + 1 FROM c) SELECT id, 1.0 reward, zeroblob(60000000) experience_bytes FROM c;",
    "many columns": TABLE.format(", ".join(f"c{n}" for n in range(1990))) + ROWS,
    "many tables": "BEGIN;"
    + "".join(f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY);" for n in range(5000))
    + TABLE.format("run_id TEXT")
    + "COMMIT;",
    "a giant name": f'CREATE TABLE "{"n" * 20 * MEGABYTE}" (id INTEGER PRIMARY KEY, a);',
}


@pytest.mark.parametrize("kind", DATABASES)
def test_databases_that_grow(kind: str, tmp_path: Path) -> None:
    """Hostile rows, tables and views take no more memory than one row of the maximum length."""
    with closing(sqlite3.connect(tmp_path / "in.db")) as database:
        database.executescript(DATABASES[kind])
    code, said, peak = run("extract", tmp_path / "in.db", "-o", tmp_path / "out")
    assert (code in (1, 3), "Traceback" in said) == (True, False), said
    assert peak < 40 + HELD, peak


def test_rows_that_are_honest_are_read(tmp_path: Path) -> None:
    """Reads answers of a few kilobytes, and a system prompt of 200 KB repeated in each row."""
    texts = [json.dumps({"turns": [f"{n} and so on"] * 300}) for n in range(1000)]
    columns = with_rows(1000, x=again("S" * 200_000, 1000), y=texts)
    write_table(pa.table(columns), tmp_path / "in", compression="zstd")
    code, said, _ = run("extract", tmp_path / "in", "-o", tmp_path / "out")
    assert (code, "1,000 read = 1,000 used" in said) == (0, True), said
