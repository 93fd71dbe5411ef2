"""Pairs that are being made from candidates, as stages see them."""

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import Lines

from prefpairs.engine.inputs.row_reader import reading_rows
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.engine.pairs.pairs_from_candidates import PairsFromCandidates
from prefpairs.engine.pairs.pairs_from_files import PairsFromFiles
from prefpairs.engine.store.candidate_store import CandidateStore
from prefpairs.errors import BadRecords, InputChanged, TooManyPairs
from prefpairs.fields.pair_row import PairRowOutcome
from prefpairs.files.fetch_records import RecordFetcher
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.model.pair import Pair, pair_line
from prefpairs.plan import InputPlan, PairPlan, ReadPlan
from prefpairs.stages.base import IndexedPair
from prefpairs.strategies.options import PairOptions
from run_plans import pair

Row = dict[str, Any]
CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q1"}]
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {}}}]


def _rows(count: int = 40) -> list[Row]:
    """Candidates with groups, prompts and tools of every kind, shuffled."""
    prompts: list[Any] = ["Q0", CHAT, "Q2", "Q3", "Q4"]
    rows: list[Row] = [
        {
            "group": f"g{number % 3}",
            "prompt": prompts[number % 5],
            "response": f"A{number}" if number % 7 else [{"role": "assistant", "content": "B"}],
            "score": number * 7 % 11 / 10,
            "index": number,
            "origin": "" if number % 2 else f"there.jsonl:{number}",
            **({"tools": TOOLS} if number % 5 == 2 else {}),
            **({"meta": {"number": number}} if number % 4 else {}),
        }
        for number in range(count)
    ]
    random.Random(3).shuffle(rows)  # noqa: S311 - a fixed shuffle
    return rows


def _file(folder: Path, rows: Sequence[Row], name: str = "c.jsonl") -> str:
    path = folder / name
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(path)


def _plan(path: str, on_error: Any = "fail", **asked: Any) -> PairPlan:
    read = ReadPlan(inputs=find_inputs([path]), source="candidates", on_error=on_error)
    options = replace(asked.pop("options", PairOptions()), **{"strategy": "exhaustive", **asked})
    return PairPlan(read=read, options=options)


@contextmanager
def _made(plan: PairPlan, ledger: Ledger | None = None) -> Iterator[PairsFromCandidates]:
    with CandidateStore(plan) as store:
        yield PairsFromCandidates(plan, store, ledger or Ledger())


def _written(plan: PairPlan, ledger: Ledger | None = None) -> list[bytes]:
    output = Lines()
    pair(plan, {WHOLE: output}, ledger or Ledger(), allow_empty=True)
    return output.lines


def _read_back(folder: Path, lines: Sequence[bytes]) -> list[tuple[IndexedPair, Pair]]:
    """The pairs of these lines with their entries, as read from a file of pairs."""
    path = folder / "pairs.jsonl"
    path.write_bytes(b"".join(lines))
    plan, ledger = InputPlan(inputs=find_inputs([str(path)])), Ledger()
    with RecordFetcher[PairRowOutcome]() as records, reading_rows(plan, ledger) as rows:
        filed = PairsFromFiles(rows, records, keep="nothing", temp_dir=None)
        return [(entry, filed.pair(entry)) for entry in filed.entries()]


def _content_of(entry: IndexedPair) -> IndexedPair:
    """An entry without its position."""
    return entry._replace(place=0, length=0, number=0)


ASKED: dict[str, Row] = {
    "exhaustive": {},
    "best-vs-worst": {"strategy": "best-vs-worst"},
    "bounds": {"options": PairOptions(min_gap=0.3, max_gap=0.8, max_pairs_per_group=2)},
    "order of keys": {"order": "key"},
    "across prompts": {
        "strategy": "stratified",
        "across_prompts": True,
        "options": PairOptions(rejected_per_chosen=3),
    },
}
every_plan = pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())


@every_plan
@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz"])
def test_pairs_are_those_that_pair_writes(tmp_path: Path, asked: Row, name: str) -> None:
    """The same lines in the same order, including origins, from a file and from a spool."""
    plan = _plan(_file(tmp_path, _rows(), name), **asked)
    with _made(plan) as made:
        lines = [pair_line(made.pair(entry)) for entry in made.entries()]
    assert lines == _written(plan)
    assert len(lines) > 5


@every_plan
def test_entries_are_those_of_the_pairs_read_back(tmp_path: Path, asked: Row) -> None:
    """A stage cannot distinguish a new pair from one that was written and read."""
    plan = _plan(_file(tmp_path, _rows()), **asked)
    with _made(plan) as made:
        entries = [(_content_of(entry), made.pair(entry)) for entry in made.entries()]
    back = [(_content_of(entry), pair) for entry, pair in _read_back(tmp_path, _written(plan))]
    assert entries == back


@every_plan
def test_numbers_rise_and_places_differ(tmp_path: Path, asked: Row) -> None:
    """Entries are distinct, and ordered by number."""
    with _made(_plan(_file(tmp_path, _rows()), **asked)) as made:
        entries = list(made.entries())
    assert [entry.number for entry in entries] == list(range(len(entries)))
    assert len({entry.place for entry in entries}) == len(entries)


def test_pairs_in_any_order(tmp_path: Path) -> None:
    """Each entry gives its own pair, in any order and repeatedly."""
    with _made(_plan(_file(tmp_path, _rows()))) as made:
        entries = list(made.entries())
        first = [made.pair(entry) for entry in entries]
        assert [made.pair(entry) for entry in entries[::-1]] == first[::-1]
    assert [bytes.fromhex(pair.id) for pair in first] == [entry.id for entry in entries]
    assert [pair.gap for pair in first] == [entry.gap for entry in entries]
    assert [pair.chosen_score for pair in first] == [entry.chosen_score for entry in entries]


def test_no_text_is_read_for_entries(tmp_path: Path) -> None:
    """Entries come from the columns alone; a pair fetches its two candidates."""
    fetched: list[int] = []

    class Counted(CandidateStore):
        def fetch(self, number: int) -> Candidate:
            fetched.append(number)
            return super().fetch(number)

    rows = [{**row, "index": None, "score": place / 40} for place, row in enumerate(_rows())]
    plan = _plan(_file(tmp_path, rows))
    with Counted(plan) as store:
        made = PairsFromCandidates(plan, store, Ledger())
        entries = list(made.entries())
        assert (len(entries) > 5, fetched) == (True, [])
        made.pair(entries[0])
        assert len(fetched) == 2


@every_plan
def test_ledger(tmp_path: Path, asked: Row) -> None:
    """Rows, candidates and groups are counted as in `pair`; pairs once they are written."""
    plan, ours, theirs = _plan(_file(tmp_path, [*_rows(), *_rows(9)]), **asked), Ledger(), Ledger()
    with _made(plan, ours) as made:
        assert len(list(made.entries())) == len(_written(plan, theirs))
    for name in (
        "sources",
        "rows_by_input",
        "rows_read",
        "rows_used",
        "candidates_found",
        "candidates_dropped",
        "noticed",
        "groups",
        "groups_without_pair",
        "across_prompts",
    ):
        assert getattr(ours, name) == getattr(theirs, name)
    assert (ours.rows_read, ours.candidates_dropped) == (49, {"duplicate_rollout": 9})
    assert (ours.pairs, ours.across_prompts > 0) == (0, plan.options.across_prompts)


def test_bad_row(tmp_path: Path) -> None:
    """A bad row gives no entry; it can be skipped."""
    path = _file(tmp_path, _rows())
    expected = _written(_plan(path))
    with Path(path).open("ab") as file:
        file.write(b"{torn\n")
    with _made(_plan(path)) as made, pytest.raises(BadRecords):
        next(made.entries())
    with _made(_plan(path, on_error="skip")) as made:
        assert [pair_line(made.pair(entry)) for entry in made.entries()] == expected


@pytest.mark.usefixtures("nothing_held")
def test_file_that_changes(tmp_path: Path) -> None:
    """An answer that has changed is an error, never a wrong pair."""
    path = Path(_file(tmp_path, _rows()))
    with _made(_plan(str(path))) as made:
        entries = list(made.entries())
        path.write_bytes(path.read_bytes().replace(b'"A', b'"Z'))
        with pytest.raises(InputChanged) as caught:
            [made.pair(entry) for entry in entries]
    assert caught.value.path == "c.jsonl"


@pytest.mark.usefixtures("nothing_held")
def test_question_that_changes(tmp_path: Path) -> None:
    """A prompt that has changed for one of the answers is an error, too."""
    rows = [
        {"group": "g", "prompt": "Q", "response": answer, "score": score, "origin": ""}
        for answer, score in (("A", 1), ("B", 0))
    ]
    path = Path(_file(tmp_path, rows))
    with _made(_plan(str(path))) as made:
        (entry,) = made.entries()
        path.write_bytes(path.read_bytes().replace(b'"Q"', b'"R"', 1))
        with pytest.raises(InputChanged):
            made.pair(entry)


def test_too_many_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The maximum number of pairs is checked before the first entry."""
    monkeypatch.setattr("prefpairs.engine.store.decide.MOST_PAIRS", 9)
    plan = _plan(_file(tmp_path, _rows()))
    with _made(plan) as made, pytest.raises(TooManyPairs):
        next(made.entries())


def test_no_pairs(tmp_path: Path) -> None:
    """Without pairs there are no entries."""
    with _made(_plan(_file(tmp_path, _rows(1)))) as made:
        assert list(made.entries()) == []
