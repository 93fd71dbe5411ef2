"""Reads rows one by one, and handles bad ones."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from forked_prefpairs import run
from prefpairs.engine.inputs.row_reader import Rows, reading_rows
from prefpairs.errors import BadRecords, FileError, NotJson, UsageError
from prefpairs.files.input_file import Input
from prefpairs.files.lines import Record
from prefpairs.ledger import Ledger
from prefpairs.model.json_codec import decode
from prefpairs.plan import InputPlan


def _records(*lines: bytes) -> Iterator[Record]:
    offset = 0
    for number, line in enumerate(lines, 1):
        yield Record(number, offset, line)
        offset += len(line)


def _values(ledger: Ledger, *files: tuple[bytes, ...], **plan: Any) -> list[Any]:
    with reading_rows(InputPlan(inputs=[], **plan), ledger) as rows:
        read = [
            (label, record.number, value)
            for label, lines in zip("abc", files, strict=False)
            for record, value in rows.read(_records(*lines), decode, label)
        ]
        rows.settle()
    return read


def test_rows_of_several_files() -> None:
    """Each row comes with what was read from it; rows are counted in total and per file."""
    ledger = Ledger()
    read = _values(ledger, (b"1\n", b"2\n"), (b"3\n",), ())
    assert read == [("a", 1, 1), ("a", 2, 2), ("b", 1, 3)]
    assert (ledger.rows_read, ledger.rows_by_input) == (3, {"a": 2, "b": 1, "c": 0})


@pytest.mark.parametrize(("limit", "values"), [(0, []), (1, [1]), (3, [1, 3]), (9, [1, 3, 4])])
def test_limit(limit: int, values: list[int]) -> None:
    """A limit counts the rows of all files together, including bad ones."""
    ledger = Ledger()
    read = _values(ledger, (b"1\n", b"{\n"), (b"3\n", b"4\n"), limit=limit, on_error="skip")
    assert ([value for *_, value in read], ledger.rows_read) == (values, min(limit, 4))


def test_bad_rows_are_reported_at_the_end() -> None:
    """Bad rows are reported at the end, after all were counted; good rows are still yielded."""
    ledger = Ledger()
    with pytest.raises(BadRecords) as caught:
        _values(ledger, (b"1\n", b"{torn\n"), (b"\xff\n", b"2\n"))
    assert [place for place, _ in caught.value.first] == ["a:2", "b:1"]
    assert (ledger.rows_read, ledger.rows_bad) == (4, 2)


def test_run_is_lost_from_the_first_bad_row_on() -> None:
    """After a bad row the run has failed, unless bad rows are skipped."""
    for on_error, failed in (("fail", True), ("skip", False)):
        plan: dict[str, Any] = {"inputs": [], "on_error": on_error}
        with reading_rows(InputPlan(**plan), Ledger()) as rows:
            assert rows.failed is False
            list(rows.read(_records(b"{\n"), decode, "a"))
            assert rows.failed is failed


def _refuse(rows: Rows) -> None:
    for _ in rows.read(_records(b"1\n"), decode, "a"):
        raise NotJson("mine")


def test_errors_of_the_caller() -> None:
    """Errors of the code that uses the rows make no row bad."""
    ledger = Ledger()
    with reading_rows(InputPlan(inputs=[]), ledger) as rows, pytest.raises(NotJson):
        _refuse(rows)
    assert ledger.rows_bad == 0


def test_quarantine(tmp_path: Path) -> None:
    """Bad rows are quarantined unchanged, and the file appears if the run succeeds."""
    path = tmp_path / "bad.jsonl"
    plan: dict[str, Any] = {"on_error": "quarantine", "quarantine": str(path)}
    assert len(_values(Ledger(), (b"1\n", b"{torn\r\n"), (b'"\xff"\n',), **plan)) == 1
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [(row["file"], row["line"], row["byte"], row["reason"]) for row in rows] == [
        ("a", 2, 2, "not_json"),
        ("b", 1, 0, "invalid_utf8"),
    ]
    assert (rows[0]["raw"], rows[1]["raw_base64"]) == ("{torn", "Iv8i")


def _interrupted(plan: InputPlan) -> None:
    with reading_rows(plan, Ledger()) as rows:
        list(rows.read(_records(b"{\n"), decode, "a"))
        raise KeyboardInterrupt


def test_quarantine_of_a_run_that_fails(tmp_path: Path) -> None:
    """If the run fails, the old quarantine file stays."""
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"old\n")
    with pytest.raises(KeyboardInterrupt):
        _interrupted(InputPlan(inputs=[], on_error="quarantine", quarantine=str(path)))
    assert (path.read_bytes(), [*tmp_path.iterdir()]) == (b"old\n", [path])


def test_quarantine_that_cannot_be(tmp_path: Path) -> None:
    """A quarantine in a missing folder, or over an input, is rejected."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"in\n")
    given = [Input(str(path), "r.jsonl")]
    plans = [
        (InputPlan(inputs=given, quarantine=str(tmp_path / "x" / "bad.jsonl")), FileError),
        (InputPlan(inputs=given, quarantine=str(path)), UsageError),
    ]
    for plan, error in plans:
        with pytest.raises(error), reading_rows(plan, Ledger()):
            pass
    assert path.read_bytes() == b"in\n"


@pytest.mark.parametrize(
    ("word", "lost"),
    [
        ("2", False),
        ("1", True),
        ("0", True),
        ("50%", False),
        ("49.9%", True),
        ("0%", True),
    ],
)
def test_too_many_bad_rows(word: str, lost: bool) -> None:
    """More bad rows than --max-errors fail the run; a fraction is of all rows."""
    ledger = Ledger()
    rows = (b"1\n", b"{\n"), (b"{\n", b"2\n")
    if not lost:
        _values(ledger, *rows, on_error="skip", max_errors=word)
        return
    with pytest.raises(BadRecords) as caught:
        _values(ledger, *rows, on_error="skip", max_errors=word)
    assert (caught.value.count, caught.value.allowed) == (2, word)


def test_run_is_lost_with_the_first_row_beyond_the_tolerated() -> None:
    """The run fails at the first row above the number; for a fraction, at the end."""
    for word, failed in (("1", True), ("1%", False)):
        plan = InputPlan(inputs=[], on_error="skip", max_errors=word)
        with reading_rows(plan, Ledger()) as rows:
            list(rows.read(_records(b"{\n"), decode, "a"))
            assert rows.failed is False
            list(rows.read(_records(b"{\n"), decode, "a"))
            assert rows.failed is failed


def test_head_of_a_long_row_is_not_read() -> None:
    """The beginning of an overlong row is not parsed, even if it is valid."""
    ledger = Ledger()
    with reading_rows(InputPlan(inputs=[], on_error="skip"), ledger) as rows:
        assert rows.read_one(Record(1, 0, b"{}", whole=False), decode, "a") is None
    assert ledger.bad_by_kind == {"line_too_long": 1}


@pytest.mark.parametrize("longest", [100, 5000])
def test_the_head_of_a_long_line(longest: int, tmp_path: Path) -> None:
    """It is as long however the line was read: by a command that looks ahead, or line by line."""
    for number, length in enumerate((9, longest * 2, longest * 3, 8)):
        row = {"prompt": "Q", "response": f"{number}" * length, "score": number}
        with (tmp_path / "in.jsonl").open("a") as file:
            file.write(f"{json.dumps(row)}\n")
    kept = []
    for command, native in product(("pair", "extract"), ("0", "1")):
        words = (command, "--max-line", str(longest), "--on-error", "quarantine")
        files = ("--quarantine", "bad", "in.jsonl")
        run(*words, *files, cwd=tmp_path, env={"PREFPAIRS_NATIVE": native})
        kept.append((tmp_path / "bad").read_bytes())
    assert len(set(kept)) == 1
    heads = [json.loads(line) for line in kept[0].splitlines()]
    assert [len(head["raw"]) for head in heads] == [min(longest + 1, 4096)] * 2
