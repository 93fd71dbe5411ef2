"""Experiences in the SQLite buffers of Trinity-RFT, as lines of JSON.

Each row of a table is an experience: a frame (TRXP) with all of it, since 0.6.0 in a separate
table, and other columns. Values of the columns are newer than the frame, and take precedence. The
database is opened read-only; nothing in it is executed, and no file is created next to it.
"""

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from prefpairs.errors import BadInput
from prefpairs.files.file_signatures import PICKLES
from prefpairs.files.file_system import exists, is_file
from prefpairs.files.input_file import Input, Limits, too_much
from prefpairs.files.lines import Refused
from prefpairs.files.open_input import NEWER_FRAMES, OLD_PICKLE
from prefpairs.files.pickle_values import Damaged
from prefpairs.files.trxp_reader import item_line

_BLOB = "_blob"
_FRAME = "experience_bytes"
_OF_IDENTITY = {"task_id": "task", "run_id": "run", "msg_id": "suffix"}
_COLUMNS = (*_OF_IDENTITY, "model_version", "reward")
_VIRTUAL = "CREATE VIRTUAL"
_CHECKPOINT = (
    "python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1])"
    '.execute("PRAGMA wal_checkpoint(TRUNCATE)")\''
)
"""The command that moves the changes in a log into the database."""

_NOT_STORED = 2
"""SQLite's code for columns that are generated when they are read."""

_SMALLEST_ROW = 6
"""A row takes four bytes in its page, and two for the pointer to it."""


_LENGTH = (
    "CASE typeof({0}) WHEN 'blob' THEN length({0}) WHEN 'text' THEN length(CAST({0} AS BLOB)) END"
)


class _Table(NamedTuple):
    """A table of experiences: the columns that are read, and the table of the frames."""

    name: str
    columns: list[str]
    frames: str | None
    skipped: list[str]
    """Columns that are not read, but are stored before one that is: SQLite must skip them."""

    def query(self) -> str:
        """The query for all rows in the order of their ids, which is the table's own order."""
        given = ", ".join(
            [f"one.{column}" for column in ("id", *self.columns)]
            + [_LENGTH.format(column) for column in self.skipped]
        )
        table = f"{_quoted(self.name)} one NOT INDEXED"
        if self.frames is None:
            return f"SELECT {given}, one.{_FRAME} FROM {table}"  # noqa: S608 - names are quoted
        frames = f"{_quoted(self.frames)} two ON two.id = one.id"
        return f"SELECT {given}, two.{_FRAME} FROM {table} LEFT JOIN {frames}"  # noqa: S608 - so too


def sqlite_rows(source: Input, *, packed: bool = False) -> Iterator[bytes | Refused]:
    """Each experience as JSON. Only one is in memory at a time."""
    if packed or source.is_stdin or not is_file(source.path):
        problem = "a SQLite database cannot be read from a pipe or from a compressed file"
        raise BadInput(source.label, problem, "name the database itself")
    _refuse_log(source)
    written, most = 0, source.limits.unpacked_from(os.path.getsize(source.path))
    try:
        with closing(_connected(source.path, source.limits)) as database:
            for row in _rows(database, source):
                yield row
                written += 1 if isinstance(row, Refused) else len(row)
                if written > most:
                    raise too_much(source)
    except MemoryError:  # a damaged page has huge lengths; no memory was used
        problem = "not a SQLite database that can be read (its sizes exceed the memory)"
        raise BadInput(source.label, problem) from None
    except (
        sqlite3.Error,
        UnicodeDecodeError,
    ) as error:  # its message contains names that are not text
        raise BadInput(source.label, f"not a SQLite database that can be read ({error})") from None


def _refuse_log(source: Input) -> None:
    """Raise if the write-ahead log has rows: a manifest would not include that file.

    To read them, SQLite would also have to create a file.
    """
    path = os.path.realpath(source.path)
    log = f"{path}-wal"
    if exists(log) and os.path.getsize(log):
        raise BadInput(
            source.label,
            f"not all of it is in the database: {os.path.basename(log)} holds newer changes",
            f"{_CHECKPOINT} {shlex.quote(path)}",
        )


def _connected(path: str, limits: Limits) -> sqlite3.Connection:
    """The database, opened read-only.

    It is opened as immutable, so that no file is created next to it. If another program writes to
    it, we notice that the file has changed, as with every input. Locks are only used if a journal
    shows that a change may be incomplete.
    """
    path = os.path.realpath(path)  # log and journal are next to the file, not to a link
    place = Path(path).as_uri()
    words = "mode=ro" if exists(f"{path}-journal") else "mode=ro&immutable=1"
    database = sqlite3.connect(f"{place}?{words}", uri=True, isolation_level=None)
    database.text_factory = lambda text: text.decode("utf-8", "replace")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.item)
    for pragma in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
        database.execute(f"PRAGMA {pragma}")
    return database


def _rows(database: sqlite3.Connection, source: Input) -> Iterator[bytes | Refused]:
    tables = _tables(database)
    if not tables:
        problem = "no table of this database holds experiences of Trinity-RFT"
        raise BadInput(source.label, problem, "those have a column experience_bytes")
    size, seen, taken = _size(database), 0, 0
    database.text_factory = _text
    for table in tables:
        known = len(table.columns)
        for number, *values, data in database.execute(table.query()):
            own, lengths = values[:known], values[known:]
            seen += _SMALLEST_ROW
            taken += sum(len(value) for value in (*own, data) if isinstance(value, (str, bytes)))
            taken += sum(filter(None, lengths))
            if max(seen, taken) > size:
                problem = "not a SQLite database that can be read (its pages refer to each other)"
                raise BadInput(source.label, problem)
            try:
                yield _line(dict(zip(table.columns, own, strict=True)), data, source)
            except Damaged as damage:
                place = f"row {number} of {table.name}: byte {damage.place}"
                more = f" ({NEWER_FRAMES})" if damage.problem == OLD_PICKLE else ""
                yield Refused(f"{place}: {damage.problem}{more}")


def _text(data: bytes) -> str | bytes:
    """A text of a row; bytes if it is not UTF-8, since U+FFFD could make two ids equal."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _size(database: sqlite3.Connection) -> int:
    """The bytes of all pages, since a damaged database may lead to the same row again and again."""
    ((pages,),) = database.execute("PRAGMA page_count")
    ((size,),) = database.execute("PRAGMA page_size")
    return int(pages * size)


def _tables(database: sqlite3.Connection) -> list[_Table]:
    """The tables of experiences. Their names depend on Trinity's configuration."""
    listed = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    names = [
        name
        for name, sql in listed  # in a damaged database a name may be anything
        if isinstance(name, str) and not str(sql).upper().startswith(_VIRTUAL)
    ]
    columns = {name: own for name in sorted(names) if (own := _columns(database, name))}
    found = []
    for name, own in columns.items():
        known = [column for column in _COLUMNS if own.get(column)]
        if (theirs := columns.get(name + _BLOB, {})).get(_FRAME):
            skipped = _skipped("one", own, known) + _skipped("two", theirs, [_FRAME])
            found.append(_Table(name, known, name + _BLOB, skipped))
        elif own.get(_FRAME) and not (name.endswith(_BLOB) and name.removesuffix(_BLOB) in columns):
            found.append(_Table(name, known, None, _skipped("one", own, [*known, _FRAME])))
    return found


def _columns(database: sqlite3.Connection, table: str) -> dict[str, bool]:
    """The columns of a table with an integer id, as all tables of Trinity have.

    They are in the order of storage, with False for generated ones, which are not read.
    """
    columns = list(database.execute(f"PRAGMA table_xinfo({_quoted(table)})"))
    keys = [(name, str(kind).upper()) for _, name, kind, _, _, key, _ in columns if key]
    if keys != [("id", "INTEGER")]:
        return {}
    return {
        name: hidden == 0
        for _, name, *_, hidden in columns
        if isinstance(name, str) and hidden != _NOT_STORED
    }


def _skipped(table: str, columns: dict[str, bool], read: list[str]) -> list[str]:
    """The columns before the last one that is read, which SQLite must skip."""
    names = list(columns)
    last = max(map(names.index, read), default=0)
    return [f"{table}.{_quoted(name)}" for name in names[:last] if name not in read]


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _line(given: dict[str, Any], data: Any, source: Input) -> bytes:
    """An experience as JSON. Without a frame, it has only the values of the columns."""
    if data is None:
        return item_line(None, lambda item: _with_columns(item, given), source)
    if not isinstance(data, bytes):
        raise Damaged(0, "not a frame (TRXP)")
    if data.startswith(PICKLES):
        raise Damaged(0, OLD_PICKLE)
    return item_line(data, lambda item: _with_columns(item, given), source)


def _with_columns(item: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The experience with the values of the columns, where clients set ids and rewards."""
    names = {
        own: given[column] for column, own in _OF_IDENTITY.items() if given.get(column) is not None
    }
    changed = {**item, "eid": _joined(item.get("eid"), names)}
    if given.get("model_version") is not None:
        version = {"model_version": given["model_version"]}
        changed["info"] = _joined(item.get("info"), version)
    if "reward" in given:
        changed["reward"] = given["reward"]
    return changed


def _joined(value: Any, more: dict[str, Any]) -> Any:
    if value is not None and not isinstance(value, dict):
        return value
    return {**(value or {}), **more}
