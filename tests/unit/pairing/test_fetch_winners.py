"""Fetches the contents of indexed candidates that won."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prefpairs.engine.store.candidate_store import CandidateStore
from prefpairs.errors import InputChanged, NotJson
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.files.fetch_records import RecordFetcher, RecordFile, Spool
from prefpairs.files.input_file import Input
from prefpairs.model.candidate import Candidate
from prefpairs.plan import PairPlan, ReadPlan

A, B = (Candidate("g", "Q", answer, 0.5) for answer in "AB")


class Reads:
    """Reads every record as the same candidates, and records which ones it read."""

    def __init__(self, *kept: Candidate) -> None:
        self.kept = list(kept)
        self.seen: list[bytes] = []

    def __call__(self, record: bytes) -> RowOutcome:
        """Read a record."""
        self.seen.append(record)
        return RowOutcome(kept=self.kept, places=list(range(1, len(self.kept) + 1)))


@contextmanager
def _store(folder: Path, read: Reads, *rows: list[Candidate]) -> Iterator[CandidateStore]:
    """A store that indexed these candidates from rows of four bytes, and rereads with `read`."""
    path = folder / "r.jsonl"
    path.write_bytes(b"one\ntwo\n")
    with CandidateStore(PairPlan(read=ReadPlan(inputs=[]))) as store:
        file = RecordFile(Input(str(path), "r.jsonl"), path.stat())
        store.columns.begin_file(store.records.add(file, read))
        for number, row in enumerate(rows):
            store.columns.add_row(row, 4 * number, 4, number + 1)
        yield store


def test_fetch(tmp_path: Path) -> None:
    """The record is read again, and the candidate gets its origin."""
    read = Reads(A, B)
    with _store(tmp_path, read, [], [A, B]) as store:
        assert store.fetch(1) == B._replace(origin="r.jsonl:2#2")
    assert read.seen == [b"two\n"]


def test_record_is_read_once(tmp_path: Path) -> None:
    """A record with several candidates is read only once."""
    read = Reads(A, B)
    with _store(tmp_path, read, [A, B]) as store:
        fetched = [store.fetch(number).response for number in (0, 1, 0)]
    assert (fetched, read.seen) == (["A", "B", "A"], [b"one\n"])


@pytest.mark.parametrize(("bound", "most"), [("_MOST_CACHED", 1), ("_MOST_CACHED_BYTES", 7)])
def test_what_is_remembered_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    """The cache is bounded: records read long ago are read again."""
    monkeypatch.setattr(f"prefpairs.files.fetch_records.{bound}", most)
    read = Reads(A)
    with _store(tmp_path, read, [A], [A]) as store:
        for number in (0, 1, 1, 0):
            store.fetch(number)
    assert read.seen == [b"one\n", b"two\n", b"one\n"]


@pytest.mark.parametrize(
    "read_now",
    [Reads(), Reads(B), Reads(A._replace(score=0.6))],
    ids=["none", "another answer", "another score"],
)
def test_record_that_reads_otherwise_than_before(tmp_path: Path, read_now: Reads) -> None:
    """A record that changed in a file of the same size and time is an error."""
    with _store(tmp_path, read_now, [A]) as store, pytest.raises(InputChanged) as caught:
        store.fetch(0)
    assert caught.value.path == "r.jsonl"


def test_record_that_cannot_be_read_any_more(tmp_path: Path) -> None:
    """A record that became unreadable is a changed input, not a bad row."""

    class Refuses(Reads):
        def __call__(self, record: bytes) -> RowOutcome:
            raise NotJson(record.decode())

    with _store(tmp_path, Refuses(), [A]) as store, pytest.raises(InputChanged):
        store.fetch(0)


def test_check_looks_at_every_file(tmp_path: Path) -> None:
    """A change after the last fetch is found by the final check."""
    with _store(tmp_path, Reads(A), [A]) as store:
        store.fetch(0)
        store.check()
        os.truncate(tmp_path / "r.jsonl", 4)
        with pytest.raises(InputChanged):
            store.check()


def test_records_of_any_kind(tmp_path: Path) -> None:
    """Each file has a label and a reader; records are found by file and offset."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"one\ntwo\n")
    with RecordFetcher[str]() as records:
        spool = Spool(None)
        spool.append(b"ONE\n")
        file = RecordFile(Input(str(path), "r.jsonl"), path.stat())
        numbers = [
            records.add(file, bytes.decode),
            records.add(spool, lambda line: line.decode().lower()),
        ]
        places = (0, 4, 4), (1, 0, 4), (0, 0, 4), (0, 4, 4)
        found = [records.fetch(*place) for place in places]
        assert (numbers, [records.label(number) for number in numbers]) == (
            [0, 1],
            ["r.jsonl", "the temporary file"],
        )
    assert found == ["two\n", "one\n", "one\n", "two\n"]


def test_record_beyond_the_end(tmp_path: Path) -> None:
    """A record beyond the end of the file means that it changed."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"one\n")
    with RecordFetcher[bytes]() as records:
        records.add(RecordFile(Input(str(path), "r.jsonl"), path.stat()), bytes)
        with pytest.raises(InputChanged) as caught:
            records.fetch(0, 2, 4)
    assert caught.value.path == "r.jsonl"


def test_one_record_is_cached_however_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last record is cached, whatever its size."""
    monkeypatch.setattr("prefpairs.files.fetch_records._MOST_CACHED_BYTES", 1)
    read = Reads(A)
    with _store(tmp_path, read, [A]) as store:
        for _ in range(3):
            store.fetch(0)
    assert read.seen == [b"one\n"]
