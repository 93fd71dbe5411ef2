"""Experiences of Trinity-RFT as a SQLite buffer: lines of JSON in, the database out at the end.

The tables are those that Trinity 0.6 creates, named after the file. The database is in memory until
it is written, so that no other file is created, and equal rows give equal bytes.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import IO, Any

from prefpairs.files.input_file import Input
from prefpairs.files.output import Output, open_binary
from prefpairs.files.trxp_writer import FrameItems
from prefpairs.model.json_codec import decode, encode

_COUNTERS = ((24, 1), (92, 1), (96, 3_040_000))
"""Where a database counts its changes and names the SQLite that wrote it, and what we put there."""

_PAIRS = {"chosen_message_list": "JSON", "rejected_message_list": "JSON"}
_ANSWERS = {
    "timestamp": "DATETIME DEFAULT CURRENT_TIMESTAMP",
    "task_id": "VARCHAR(64)",
    "run_id": "INTEGER",
    "msg_id": "VARCHAR(64)",
    "model_version": "INTEGER",
    "reward": "FLOAT",
    "consumed": "INTEGER",
}
_INDEXED = ("task_id", "run_id", "msg_id", "model_version", "reward", "consumed")
_TIME = "2026-01-01 00:00:00"
"""The time of every row: a real one would give other bytes in every run."""


class _Database:
    """Takes lines of JSON. The first one tells which tables there are."""

    def __init__(self, file: IO[bytes], database: sqlite3.Connection, name: str) -> None:
        self._file = file
        self._database = database
        self._name = name
        self._rows = 0

    def write(self, lines: bytes, /) -> None:
        """Take one line."""
        row = decode(lines)
        own = _of_pair(row) if "chosen" in row else _of_answer(row)
        if not self._rows:
            self._create(_PAIRS if "chosen" in row else _ANSWERS)
        self._rows += 1
        items = FrameItems()
        items.add(row)
        self._insert(self._name, [self._rows, *own])
        self._insert(f"{self._name}_blob", [self._rows, items.frame()])

    def _create(self, columns: dict[str, str]) -> None:
        self._database.execute("PRAGMA page_size = 4096")
        blob = {"experience_bytes": "BLOB NOT NULL"}
        for name, kinds in ((self._name, columns), (f"{self._name}_blob", blob)):
            listed = ", ".join(f"{column} {kind}" for column, kind in kinds.items())
            table = _quoted(name)
            self._database.execute(
                f"CREATE TABLE {table} (id INTEGER NOT NULL, {listed}, PRIMARY KEY (id))"
            )
        for column in _INDEXED:
            if column in columns:
                index = _quoted(f"ix_{self._name}_{column}")
                self._database.execute(f"CREATE INDEX {index} ON {_quoted(self._name)} ({column})")

    def _insert(self, table: str, values: Sequence[Any]) -> None:
        places = ", ".join("?" * len(values))
        self._database.execute(f"INSERT INTO {_quoted(table)} VALUES ({places})", values)  # noqa: S608 - the name is quoted

    def end(self) -> None:
        """Write the database."""
        if not self._rows:
            self._create(_PAIRS)
        self._database.commit()
        data = bytearray(self._database.serialize())
        for place, value in _COUNTERS:
            data[place : place + 4] = value.to_bytes(4, "big")
        self._file.write(bytes(data))


def _of_pair(row: dict[str, Any]) -> list[Any]:
    return [encode(row[f"{side}_messages"]).decode() for side in ("chosen", "rejected")]


def _of_answer(row: dict[str, Any]) -> list[Any]:
    eid = row["eid"]
    return [_TIME, str(eid["task"]), eid["run"], eid["suffix"], None, row.get("reward"), 0]


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


@contextmanager
def open_database(path: str, inputs: Sequence[Input] = (), **how: Any) -> Iterator[Output]:
    """A database, which appears when the block succeeds."""
    name = os.path.splitext(os.path.basename(path))[0]
    with (
        open_binary(path, inputs, **how) as file,
        closing(sqlite3.connect(":memory:")) as database,
    ):
        made = _Database(file, database, name)
        yield made
        made.end()
