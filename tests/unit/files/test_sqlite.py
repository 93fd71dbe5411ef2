"""Databases of Trinity-RFT: which tables and columns count, and what is rejected."""

import json
import math
import os
import pickle
import shlex
import sqlite3
import struct
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from trinity_files import SCHEMA, database, frame, item, run, with_tokens

from prefpairs.errors import BadInput, InputChanged
from prefpairs.files.input_file import Input, Limits
from prefpairs.files.lines import Refused
from prefpairs.files.open_input import open_input
from prefpairs.files.sqlite_reader import sqlite_rows

RUNS = [run(0, 1.0, "4"), run(1, 0.0, "5")]


def _rows(path: Path, limits: Limits = Limits()) -> list[dict[str, Any]]:  # noqa: B008 - constant
    with open_input(Input(str(path), path.name, limits)) as opened:
        assert not opened.seekable
        assert opened.lines_from is None
        return [json.loads(record.complete()) for record in opened.records]


def _problem(path: Path) -> str:
    """The error of the one rejected row, or of the file."""
    source = Input(str(path), path.name)
    try:
        (refused,) = (row for row in sqlite_rows(source) if isinstance(row, Refused))
    except BadInput as error:
        return error.problem
    return refused.problem


def _execute(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement, values)
    return path


@pytest.fixture(name="db")
def _db(tmp_path: Path) -> Path:
    database(tmp_path / "x.db", RUNS)
    return tmp_path / "x.db"


def test_rows(db: Path) -> None:
    """The rows of the frames by ID; tasks are text, as in the column."""
    rows = _rows(db)
    assert [row["response_text"] for row in rows] == ["4", "5"]
    assert rows[0]["tokens"] == [1, 2, 3, 4]
    assert rows[0]["eid"] == {"batch": 5, "task": "0", "run": 0, "step": 0, "suffix": "000000"}


def test_ids_that_are_no_text(db: Path) -> None:
    """Two tasks that differ in an invalid byte stay two tasks."""
    for number, task in ((1, "ff31"), (2, "fe31")):
        task_id = f"CAST(x'{task}' AS TEXT)"
        _execute(db, f"UPDATE pipeline_input SET task_id = {task_id} WHERE id = {number}")  # noqa: S608
    tasks = [row["eid"]["task"] for row in _rows(db)]
    assert tasks == [{"raw_base64": "/zE="}, {"raw_base64": "/jE="}]


def test_columns_win(db: Path) -> None:
    """Changes by clients are only in the columns, so these take precedence."""
    _execute(
        db,
        "UPDATE pipeline_input SET task_id = 'mine', run_id = 'r-1', msg_id = 'm', "
        "model_version = 7, reward = 0.5 WHERE id = 2",
    )
    row = _rows(db)[1]
    assert row["eid"] == {"batch": 5, "task": "mine", "run": "r-1", "step": 0, "suffix": "m"}
    assert (row["reward"], row["info"]) == (0.5, {"model_version": 7})


def test_no_reward(db: Path) -> None:
    """NULL means NaN or a missing reward, whatever the frame has."""
    _execute(db, "UPDATE pipeline_input SET reward = NULL, task_id = NULL WHERE id = 1")
    _execute(db, "UPDATE pipeline_input SET reward = 9e999 WHERE id = 2")
    first, second = _rows(db)
    assert ("reward" in first, first["eid"]["task"]) == (False, 0)
    assert second["reward"] == math.inf


def test_a_row_without_its_frame(db: Path) -> None:
    """A row without its frame is read, so that it can be dropped with a reason."""
    _execute(db, "DELETE FROM pipeline_input_blob WHERE id = 1")
    first, second = _rows(db)
    assert first["eid"] == {"task": "0", "run": 0, "suffix": "000000"}
    assert (first["prompt_length"], second["response_text"]) == (None, "5")


def test_tables_by_rows(db: Path) -> None:
    """Tables of any name, several, empty and unrelated ones."""
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.executescript(SCHEMA.format("empty"))
    _execute(db, "CREATE TABLE task (id INTEGER PRIMARY KEY, raw_task JSON)")
    _execute(db, "INSERT INTO task VALUES (1, '{}')")
    database(db, [run(2, 0.5, "four")], "my_own_buffer")
    _execute(db, "CREATE TABLE old (id INTEGER PRIMARY KEY, reward FLOAT, experience_bytes BLOB)")
    _execute(db, "INSERT INTO old VALUES (1, 0.25, ?)", values=(frame([item()]),))
    _execute(db, 'CREATE TABLE "a""b_blob" (id INTEGER PRIMARY KEY, experience_bytes BLOB)')
    _execute(db, 'INSERT INTO "a""b_blob" VALUES (1, ?)', values=(frame([item(reward=0.75)]),))
    assert [row["reward"] for row in _rows(db)] == [0.75, 0.5, 0.25, 1.0, 0.0]


def test_no_rows(tmp_path: Path) -> None:
    """An empty buffer is no error."""
    database(tmp_path / "x.db", [])
    assert _rows(tmp_path / "x.db") == []


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE other (id INTEGER PRIMARY KEY, text TEXT)",
        "CREATE TABLE no_key (id INTEGER, experience_bytes BLOB)",
        "CREATE TABLE text_key (id TEXT PRIMARY KEY, experience_bytes BLOB)",
        "CREATE VIEW seen AS SELECT 1 AS id, x'80' AS experience_bytes",
        "CREATE VIRTUAL TABLE words USING fts5(id, experience_bytes)",
    ],
)
def test_other_databases(tmp_path: Path, statement: str) -> None:
    """Unrelated databases give no rows; views and the like are not even opened."""
    assert "no table" in _problem(_execute(tmp_path / "x.db", statement))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pickle.dumps({"reward": 1}, 4), "byte 0: a pickle"),
        (b"", "byte 0: not a frame"),
        ("text", "byte 0: not a frame"),
        (7, "byte 0: not a frame"),
        (with_tokens(RUNS), "byte 0: not a frame (TRXP) of one experience"),
        (with_tokens(RUNS[:1]) * 2, "byte 0: not a frame (TRXP) of one experience"),
        (with_tokens(RUNS[:1])[:-1], "the frame ends too early"),
        (frame([item(info=print)]), "it names builtins.print"),
    ],
)
def test_refused(db: Path, data: Any, words: str) -> None:
    """Rejected with the table, the row and the byte."""
    _execute(db, "UPDATE pipeline_input_blob SET experience_bytes = ? WHERE id = 2", values=(data,))
    problem = _problem(db)
    assert problem.startswith("row 2 of pipeline_input: byte ")
    assert words in problem


def test_a_broken_database(db: Path) -> None:
    """The error has the library's message."""
    data = bytearray(db.read_bytes())
    data[100:5000] = b"\xff" * 4900
    db.write_bytes(data)
    assert "not a SQLite database that can be read" in _problem(db)


def test_a_large_frame(db: Path) -> None:
    """A frame longer than a line may be is not loaded."""
    _execute(db, "UPDATE pipeline_input_blob SET experience_bytes = zeroblob(70000000)")
    assert "too big" in _problem(db)


def test_more_than_is_taken_for_granted(tmp_path: Path) -> None:
    """Rows that unpack to more than the limit are rejected."""
    database(tmp_path / "x.db", [run(number, 1.0, "x" * 5000) for number in range(10)])
    with pytest.raises(BadInput, match="unpacks to more"):
        _rows(tmp_path / "x.db", Limits(unpacked=20_000))


def test_no_file_is_created_next_to_it(db: Path) -> None:
    """No file is created next to it, with any kind of journal."""
    _execute(db, "PRAGMA journal_mode = WAL")
    assert len(_rows(db)) == 2
    assert os.listdir(db.parent) == ["x.db"]


@pytest.mark.parametrize("name", ["x.db", "a b's.db"])
def test_open_write_ahead_log(db: Path, name: str) -> None:
    """An open write-ahead log is rejected, since no manifest lists it; the hint merges it."""
    db = db.rename(db.with_name(name))
    _execute(db, "PRAGMA journal_mode = WAL")
    with closing(sqlite3.connect(db, isolation_level=None)) as writer:
        writer.execute("UPDATE pipeline_input SET reward = 0.125 WHERE id = 2")
        before = sorted(os.listdir(db.parent))
        with pytest.raises(BadInput, match=f"{name}-wal holds newer changes") as caught:
            _rows(db)
        assert sorted(os.listdir(db.parent)) == before
        assert caught.value.hint is not None
        subprocess.run(shlex.split(caught.value.hint), check=True)
        assert [row["reward"] for row in _rows(db)] == [1.0, 0.125]


def test_a_log_beside_the_file_that_a_link_leads_to(db: Path, tmp_path: Path) -> None:
    """The log is found next to the target of a link."""
    link = tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(db)
    _execute(db, "PRAGMA journal_mode = WAL")
    with closing(sqlite3.connect(db, isolation_level=None)) as writer:
        writer.execute("UPDATE pipeline_input SET reward = 0.125 WHERE id = 2")
        with pytest.raises(BadInput, match=r"x\.db-wal holds newer changes"):
            _rows(link)


def test_no_log_is_created(db: Path) -> None:
    """Next to an empty log, no file is created."""
    _execute(db, "PRAGMA journal_mode = WAL")
    db.with_name("x.db-wal").touch()
    before = sorted(os.listdir(db.parent))
    rows = open_input(Input(str(db), "x.db"))
    with rows as opened:
        next(opened.records)
        assert sorted(os.listdir(db.parent)) == before
    assert sorted(os.listdir(db.parent)) == before


def test_a_database_that_changes(db: Path) -> None:
    """A change is noticed, as for any other input."""
    reading = open_input(Input(str(db), "x.db"))
    next(reading.__enter__().records)
    os.utime(db, ns=(1, 1))
    with pytest.raises(InputChanged):
        reading.__exit__(None, None, None)


def test_a_strange_name(db: Path) -> None:
    """The name is not interpreted by the library."""
    other = db.with_name("a?mode=rwc&b#%20 .db")
    db.rename(other)
    assert len(_rows(other)) == 2
    assert os.listdir(other.parent) == [other.name]


def _interior(child: int, size: int = 512, cells: int = 70) -> bytes:
    """An interior page whose cells all point to the same child."""
    first = size - 5 * cells
    starts = struct.pack(f">{cells}H", *range(size - 5, first - 1, -5))
    cell = [struct.pack(">IB", child, number) for number in range(cells, 0, -1)]
    begin = struct.pack(">BHHHBI", 5, 0, cells, first, 0, child)
    return (begin + starts).ljust(first, b"\0") + b"".join(cell)


def test_pages_that_lead_to_one_child(tmp_path: Path) -> None:
    """Rejects a file of four kilobytes that would have 71**7 rows."""
    path = _execute(
        tmp_path / "x.db",
        "PRAGMA page_size = 512",
        "CREATE TABLE exp (id INTEGER PRIMARY KEY, reward FLOAT, experience_bytes BLOB)",
        "INSERT INTO exp VALUES (1, 1.0, 'x')",
    )
    data = bytearray(path.read_bytes())
    count = len(data) // 512
    leaf = data[-512:]  # the table has one page, the last
    data[-512:] = _interior(count + 1)
    for number in range(6):
        data += _interior(count + 2 + number)
    data += leaf
    data[28:32] = struct.pack(">I", len(data) // 512)
    path.write_bytes(data)
    with pytest.raises(BadInput, match="its pages refer to each other"):
        for _ in sqlite_rows(Input(str(path), "x.db")):
            pass


@pytest.mark.parametrize("kind", ["BLOB", "TEXT"])
@pytest.mark.parametrize("column", ["task_id", "other", "experience_bytes"])
def test_rows_that_share_their_bytes(kind: str, column: str, tmp_path: Path) -> None:
    """Rejects a file of 30 KB with seven rows of 30 KB, each read repeatedly.

    The same if a column is skipped instead of read.
    """
    path = _execute(
        tmp_path / "x.db",
        "PRAGMA page_size = 512",
        "CREATE TABLE exp (id INTEGER PRIMARY KEY, other, task_id, experience_bytes)",
    )
    whole, here = 39 + 508 * 59, 39  # a row continues on 59 more pages
    value = f"CAST(zeroblob({whole - 7}) AS {kind})"  # after the types of four columns
    for _ in range(7):
        _execute(path, f"INSERT INTO exp ({column}) VALUES ({value})")  # noqa: S608 - our own
    data = bytearray(path.read_bytes()[: 512 * (2 + 59)])
    data[28:32] = struct.pack(">I", len(data) // 512)
    cells = struct.unpack_from(">7H", data, 512 + 8)
    for cell in cells:
        begin = 512 + cell + 4 + here  # after its length and its number
        data[begin : begin + 4] = struct.pack(">I", 3)
    path.write_bytes(data)
    with pytest.raises(BadInput, match="its pages refer to each other"):
        list(sqlite_rows(Input(str(path), "x.db")))
