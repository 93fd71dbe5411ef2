"""Candidates that were indexed, fetched again when they have won."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prefpairs.engine.candidate_index import Index, Place
from prefpairs.engine.record_fetch import Candidates, Library
from prefpairs.errors import InputChanged, NotJson
from prefpairs.fields.answer import Reading
from prefpairs.files.inputs import Input
from prefpairs.files.record_files import RecordFile, Spool
from prefpairs.model.candidate import Candidate

A, B = (Candidate("g", "Q", answer, 0.5) for answer in "AB")


class Reads:
    """Reads every record as the same candidates, and remembers which ones it read."""

    def __init__(self, *kept: Candidate) -> None:
        self.kept = list(kept)
        self.seen: list[bytes] = []

    def __call__(self, record: bytes) -> Reading:
        """Read a record."""
        self.seen.append(record)
        return Reading(kept=self.kept, places=list(range(1, len(self.kept) + 1)))


@contextmanager
def _library(folder: Path, read: Reads) -> Iterator[Candidates]:
    path = folder / "r.jsonl"
    path.write_bytes(b"one\ntwo\n")
    with Candidates() as library:
        library.add(RecordFile(Input(str(path), "r.jsonl"), path.stat()), "r.jsonl", read)
        yield library


def _index(*members: tuple[Candidate, Place]) -> Index:
    index = Index()
    for candidate, place in members:
        index.add(candidate, place)
    return index


def test_fetch(tmp_path: Path) -> None:
    """The record is read again, and the candidate says where it came from."""
    read = Reads(A, B)
    index = _index((B, Place(0, 4, 4, 1, 2)))
    with _library(tmp_path, read) as library:
        assert library.fetch(index, 0) == B._replace(origin="r.jsonl:2#2")
    assert read.seen == [b"two\n"]


def test_record_is_read_once(tmp_path: Path) -> None:
    """One record may hold many candidates; reading it again is dear."""
    read = Reads(A, B)
    index = _index((A, Place(0, 0, 4, 0, 1)), (B, Place(0, 0, 4, 1, 1)))
    with _library(tmp_path, read) as library:
        fetched = [library.fetch(index, number).response for number in (0, 1, 0)]
    assert (fetched, read.seen) == (["A", "B", "A"], [b"one\n"])


@pytest.mark.parametrize(("bound", "most"), [("_MOST_CACHED", 1), ("_MOST_CACHED_BYTES", 7)])
def test_what_is_remembered_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    """Records read long ago are read again."""
    monkeypatch.setattr(f"prefpairs.engine.record_fetch.{bound}", most)
    read = Reads(A)
    index = _index((A, Place(0, 0, 4, 0, 1)), (A, Place(0, 4, 4, 0, 2)))
    with _library(tmp_path, read) as library:
        for number in (0, 1, 1, 0):
            library.fetch(index, number)
    assert read.seen == [b"one\n", b"two\n", b"one\n"]


@pytest.mark.parametrize(
    "read_now",
    [Reads(), Reads(B), Reads(A._replace(score=0.6))],
    ids=["none", "another answer", "another score"],
)
def test_record_that_reads_otherwise_than_before(tmp_path: Path, read_now: Reads) -> None:
    """A file that changed behind the clock's back is an error, never a wrong pair."""
    index = _index((A, Place(0, 0, 4, 0, 1)))
    with _library(tmp_path, read_now) as library, pytest.raises(InputChanged) as caught:
        library.fetch(index, 0)
    assert caught.value.path == "r.jsonl"


def test_record_that_cannot_be_read_any_more(tmp_path: Path) -> None:
    """Neither is it a bad row: it was a good one."""

    class Refuses(Reads):
        def __call__(self, record: bytes) -> Reading:
            raise NotJson(record.decode())

    index = _index((A, Place(0, 0, 4, 0, 1)))
    with _library(tmp_path, Refuses()) as library, pytest.raises(InputChanged):
        library.fetch(index, 0)


def test_check_looks_at_every_file(tmp_path: Path) -> None:
    """A change after the last fetch is found."""
    with _library(tmp_path, Reads(A)) as library:
        library.fetch(_index((A, Place(0, 0, 4, 0, 1))), 0)
        library.check()
        os.truncate(tmp_path / "r.jsonl", 4)
        with pytest.raises(InputChanged):
            library.check()


def test_library_of_anything(tmp_path: Path) -> None:
    """Each shelf has a name and a way to read its records; a place is one of a shelf."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"one\ntwo\n")
    with Library[str]() as library:
        spool = Spool(None)
        spool.append(b"ONE\n")
        shelf = RecordFile(Input(str(path), "r.jsonl"), path.stat())
        numbers = [
            library.add(shelf, "r.jsonl", bytes.decode),
            library.add(spool, "spool", lambda line: line.decode().lower()),
        ]
        records = [library.record(*place) for place in ((0, 4, 4), (1, 0, 4), (0, 0, 4), (0, 4, 4))]
        assert (numbers, [library.label(number) for number in numbers]) == (
            [0, 1],
            ["r.jsonl", "spool"],
        )
    assert records == ["two\n", "one\n", "one\n", "two\n"]


def test_record_beyond_the_end(tmp_path: Path) -> None:
    """What is not there any more has changed."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"one\n")
    with Library[bytes]() as library:
        library.add(RecordFile(Input(str(path), "r.jsonl"), path.stat()), "r.jsonl", bytes)
        with pytest.raises(InputChanged) as caught:
            library.record(0, 2, 4)
    assert caught.value.path == "r.jsonl"


def test_one_record_is_remembered_however_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was read last stays, and is read once."""
    monkeypatch.setattr("prefpairs.engine.record_fetch._MOST_CACHED_BYTES", 1)
    read = Reads(A)
    index = _index((A, Place(0, 0, 4, 0, 1)))
    with _library(tmp_path, read) as library:
        for _ in range(3):
            library.fetch(index, 0)
    assert read.seen == [b"one\n"]
