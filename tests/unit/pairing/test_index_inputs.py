"""How each input is indexed, and by how many processes."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import Row, data_of

from prefpairs.engine.native import VARIABLE, Core
from prefpairs.engine.store import candidate_store
from prefpairs.engine.store.candidate_store import CandidateStore
from prefpairs.engine.store.index_lines import IndexWorkers
from prefpairs.errors import FileError
from prefpairs.files.input_paths import find_inputs
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


def _indexed(path: Path, ledger: Ledger | None = None, **more: Any) -> list[Candidate]:
    """The candidates of a file after indexing and fetching."""
    limit, workers = more.pop("limit", None), more.pop("workers", None)
    read = ReadPlan(inputs=find_inputs([str(path)]), limit=limit)
    with CandidateStore(PairPlan(read=read, options=PairOptions(workers=workers))) as store:
        store.index(ledger or Ledger())
        return [store.fetch(number) for number in range(len(store.columns))]


def _answers(candidates: list[Candidate]) -> list[tuple[str, float]]:
    return [(one.response[0]["content"], one.score) for one in candidates]  # type: ignore[index]


@pytest.fixture(name="others")
def _others(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of worker processes per file, without the native core."""
    monkeypatch.setenv(VARIABLE, "0")
    numbers = []
    before = IndexWorkers.__init__

    def counted(self: IndexWorkers, given: Any, options: Any, ranges: Any, progress: Any) -> None:
        numbers.append(len(ranges))
        before(self, given, options, ranges, progress)

    monkeypatch.setattr(IndexWorkers, "__init__", counted)
    return numbers


@pytest.mark.parametrize(
    ("workers", "expected"), [(None, 0), (1, 0), (2, 1), (3, 2), (8, 6), (100, 7)]
)
def test_workers_that_are_asked_for(
    tmp_path: Path, others: list[int], workers: int | None, expected: int
) -> None:
    """--workers is obeyed for any size, up to the number of lines."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(data_of(ROWS))
    found = _indexed(path, workers=workers)
    assert _answers(found) == ANSWERS
    assert [one.origin for one in found] == [f"r.jsonl:{number}" for number in range(1, 9)]
    assert sum(others) == expected


@pytest.mark.parametrize(("cores", "expected"), [(1, 0), (2, 1), (64, 4)])
def test_workers_by_default(
    tmp_path: Path,
    others: list[int],
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    expected: int,
) -> None:
    """By default, a large enough file gets a worker per core."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(data_of(ROWS))
    monkeypatch.setattr(candidate_store, "_WORTH_A_WORKER", path.stat().st_size // 5)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    assert _answers(_indexed(path)) == ANSWERS
    assert sum(others) == expected


def _packed(path: Path) -> None:
    path.write_bytes(gzip.compress(data_of(ROWS)))


def _array(path: Path) -> None:
    path.write_bytes(b"[" + b",".join(data_of(ROWS).splitlines()) + b"]")


@pytest.mark.parametrize("write", [_packed, _array])
def test_what_is_no_file_of_lines_gets_no_workers(
    tmp_path: Path, others: list[int], write: Callable[[Path], None]
) -> None:
    """Inputs that are not files of lines are read by one process."""
    write(tmp_path / "r")
    assert _answers(_indexed(tmp_path / "r", workers=3)) == ANSWERS
    assert others == []


def test_limited_rows_get_no_workers(tmp_path: Path, others: list[int]) -> None:
    """With a limit, the first rows of the file are read by one process."""
    path, ledger = tmp_path / "r.jsonl", Ledger()
    path.write_bytes(b"\n" + data_of(ROWS))
    assert _answers(_indexed(path, ledger, limit=3, workers=3)) == ANSWERS[:3]
    assert (others, ledger.rows_read, ledger.rows_by_input) == ([], 3, {"r.jsonl": 3})


def test_byte_order_mark_is_no_line(tmp_path: Path, others: list[int]) -> None:
    """Lines begin after the byte order mark, also when they are fetched."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + data_of(ROWS))
    assert _answers(_indexed(path, workers=4)) == ANSWERS
    assert others == [3]


def test_trouble_has_the_name_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any OSError while lines are read names the file."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(data_of(ROWS))

    def fail(*_: Any) -> Any:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(candidate_store, "byte_ranges", fail)
    monkeypatch.setattr(Core, "index_file", fail)
    for engine in ("0", "1"):
        monkeypatch.setenv(VARIABLE, engine)
        with pytest.raises(FileError) as caught:
            _indexed(path, workers=2)
        assert caught.value.args == ("r.jsonl", "Input/output error")
