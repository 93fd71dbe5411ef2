"""Inputs to the index: from where each of them is scanned, and by how many."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import Row, data_of

from prefpairs.engine import index_fill
from prefpairs.engine.candidate_index import Index
from prefpairs.engine.candidate_reader import reading_inputs
from prefpairs.engine.index_fill import fill
from prefpairs.engine.record_fetch import Candidates
from prefpairs.engine.scan_workers import Workers
from prefpairs.errors import FileError
from prefpairs.files.inputs import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.strategies.options import PairOptions

ROWS: list[Row] = [
    {
        "responses_create_params": {"input": [{"role": "user", "content": "Q"}]},
        "response": {
            "output": [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": f"A{number}"}],
                }
            ]
        },
        "reward": number / 10,
    }
    for number in range(8)
]
ANSWERS = [(f"A{number}", number / 10) for number in range(8)]


def _filled(path: Path, ledger: Ledger | None = None, **more: Any) -> list[Candidate]:
    """The candidates of a file, fetched by what the index remembers of them."""
    limit, workers = more.pop("limit", None), more.pop("workers", None)
    read = ReadPlan(inputs=find_inputs([str(path)]), limit=limit)
    index = Index()
    with Candidates() as library:
        with reading_inputs(read, ledger or Ledger()) as reader:
            fill(index, library, reader, PairPlan(read=read, options=PairOptions(workers=workers)))
        return [library.fetch(index, number) for number in range(len(index))]


def _answers(candidates: list[Candidate]) -> list[tuple[str, float]]:
    return [(one.response[0]["content"], one.score) for one in candidates]  # type: ignore[index]


@pytest.fixture(name="stretches")
def _stretches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many workers each file got, besides ourselves."""
    numbers = []
    before = Workers.__init__

    def counted(self: Workers, given: Any, options: Any, stretches: Any, progress: Any) -> None:
        numbers.append(len(stretches))
        before(self, given, options, stretches, progress)

    monkeypatch.setattr(Workers, "__init__", counted)
    return numbers


@pytest.mark.parametrize(
    ("workers", "others"), [(None, 0), (1, 0), (2, 1), (3, 2), (8, 6), (100, 7)]
)
def test_workers_that_are_asked_for(
    tmp_path: Path, stretches: list[int], workers: int | None, others: int
) -> None:
    """The number is obeyed at any size, as far as there are lines; a small file is worth none."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(data_of(ROWS))
    found = _filled(path, workers=workers)
    assert _answers(found) == ANSWERS
    assert [one.origin for one in found] == [f"r.jsonl:{number}" for number in range(1, 9)]
    assert sum(stretches) == others


@pytest.mark.parametrize(("cores", "others"), [(1, 0), (2, 1), (64, 4)])
def test_workers_that_nobody_asked_for(
    tmp_path: Path,
    stretches: list[int],
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    others: int,
) -> None:
    """One a core, as far as the file is worth it."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(data_of(ROWS))
    monkeypatch.setattr(index_fill, "_WORTH_A_WORKER", path.stat().st_size // 5)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    assert _answers(_filled(path)) == ANSWERS
    assert sum(stretches) == others


def _packed(path: Path) -> None:
    path.write_bytes(gzip.compress(data_of(ROWS)))


def _array(path: Path) -> None:
    path.write_bytes(b"[" + b",".join(data_of(ROWS).splitlines()) + b"]")


@pytest.mark.parametrize("write", [_packed, _array])
def test_what_is_no_file_of_lines_gets_no_workers(
    tmp_path: Path, stretches: list[int], write: Callable[[Path], None]
) -> None:
    """It is read from one end to the other."""
    write(tmp_path / "r")
    assert _answers(_filled(tmp_path / "r", workers=3)) == ANSWERS
    assert stretches == []


def test_limited_rows_get_no_workers(tmp_path: Path, stretches: list[int]) -> None:
    """The first so many are the first of the file."""
    path, ledger = tmp_path / "r.jsonl", Ledger()
    path.write_bytes(b"\n" + data_of(ROWS))
    assert _answers(_filled(path, ledger, limit=3, workers=3)) == ANSWERS[:3]
    assert (stretches, ledger.rows_read, ledger.rows_by_input) == ([], 3, {"r.jsonl": 3})


def test_byte_order_mark_is_no_line(tmp_path: Path, stretches: list[int]) -> None:
    """Lines begin behind it, wherever they are fetched from."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + data_of(ROWS))
    assert _answers(_filled(path, workers=4)) == ANSWERS
    assert stretches == [3]


def test_trouble_has_the_name_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the system says while lines are read."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(data_of(ROWS))

    def fail(*_: Any) -> Any:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(index_fill, "byte_ranges", fail)
    with pytest.raises(FileError) as caught:
        _filled(path, workers=2)
    assert caught.value.args == ("r.jsonl", "Input/output error")
