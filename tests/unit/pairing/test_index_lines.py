"""Lines to columns, one byte range at a time."""

import io
import json
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from rows_and_output import Row, data_of

from prefpairs.engine.inputs.candidate_reader import CandidateReader
from prefpairs.engine.inputs.row_reader import Rows
from prefpairs.engine.store.candidate_columns import CandidateColumns
from prefpairs.engine.store.index_lines import IndexedRange, LineIndexer
from prefpairs.fields.cross_row_facts import Fact
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.input_file import Input
from prefpairs.ledger import Ledger, RowCounts
from prefpairs.plan import ReadPlan
from prefpairs.sources import source_named
from prefpairs.sources.base import FastReader, IndexedRow, RecordReader


class Run:
    """An indexer and its columns and counts."""

    def __init__(self, how: RecordReader | None = None) -> None:
        self.columns, self.ledger = CandidateColumns(), Ledger()
        self.columns.begin_file(5)
        plan = ReadPlan(inputs=[], on_error="skip")
        reader = CandidateReader(plan, Rows(plan, self.ledger))
        how = how or source_named("nemo-gym").open_reader([], ReadOptions(), "r.jsonl")
        self.indexer = LineIndexer(how, Input("r.jsonl", "r.jsonl"), self.columns, {}, reader)

    def lines(self, *lines: bytes, offset: int = 0) -> None:
        """Index a byte range."""
        self.indexer.index(io.BufferedReader(io.BytesIO(b"".join(lines))), offset)

    def places(self) -> list[tuple[int, ...]]:
        """The position of each candidate."""
        return [self.columns.place(number) for number in range(len(self.columns))]


def _rollout(text: str = "A", reward: Any = 1.0, **more: Any) -> Row:
    part = {"type": "output_text", "text": text}
    return {
        "responses_create_params": {"input": [{"role": "user", "content": "Q"}]},
        "response": {"output": [{"type": "message", "role": "assistant", "content": [part]}]},
        "reward": reward,
        **more,
    }


def _odd(reward: Any = 1.0) -> Row:
    response = {"output": "A"}
    return {"responses_create_params": {"input": "Q"}, "response": response, "reward": reward}


def test_places_of_rows_of_all_shapes() -> None:
    """File, offset, length, slot and line number; blank lines count as lines."""
    rows = [data_of([row]) for row in (_rollout(), _odd(), _rollout("B"))]
    run = Run()
    run.lines(rows[0], b"\n", rows[1], b"{\n", rows[2], offset=3)
    one, odd, two = map(len, rows)
    assert run.places() == [
        (5, 3, one, 0, 1),
        (5, 4 + one, odd, 0, 3),
        (5, 6 + one + odd, two, 0, 5),
    ]
    assert (run.indexer.lines, run.ledger.rows_by_input) == (5, {"r.jsonl": 4})
    assert [place for place, _ in run.ledger.first_bad] == ["r.jsonl:4"]


def test_ledgers() -> None:
    """Rows of the fast reader are counted like all others."""
    run = Run()
    rows = [_rollout(), _rollout(reward=None), _rollout(x="cut \ud83d"), _odd(), _odd("high")]
    run.lines(data_of(rows))
    ledger = run.ledger
    assert (ledger.rows_read, ledger.rows_used, ledger.rows_bad) == (5, 3, 1)
    assert (ledger.rows_dropped, ledger.candidates_dropped) == ({"no_score": 1}, {"no_score": 1})
    assert (ledger.candidates_found, ledger.candidates_kept, ledger.noticed) == (
        4,
        3,
        {"surrogate_replaced": 1},
    )


def test_numbers_continue_from_range_to_range() -> None:
    """Line numbers continue from range to range, including blank lines."""
    run, row = Run(), data_of([_rollout()])
    run.lines(row, b"\n", b"  \n")
    run.lines(row, row, offset=len(row) + 4)
    assert [place[4] for place in run.places()] == [1, 4, 5]
    assert run.ledger.rows_by_input == {"r.jsonl": 3}


@pytest.mark.parametrize("count", [255, 256, 257, 512, 600])
def test_more_lines_than_are_taken_at_once(count: int) -> None:
    """No line is lost or moved at the end of a block."""
    lines = [data_of([_rollout() if number % 7 else _odd()]) for number in range(count)]
    run = Run()
    run.lines(*lines)
    assert [place[4] for place in run.places()] == list(range(1, count + 1))
    assert [place[1] for place in run.places()] == [
        sum(map(len, lines[:number])) for number in range(count)
    ]


@pytest.mark.parametrize("by", ["read", "read_question"])
def test_first_row_of_each_question_is_read(by: str) -> None:
    """One row of each question is decoded; all others are only scanned."""
    how = source_named("nemo-gym").open_reader([], ReadOptions(), "r.jsonl")
    assert how.fast_reader
    fast_reader, asked = how.fast_reader, Counter[bytes]()

    def read(line: bytes) -> Any:
        asked[line] += 1
        return fast_reader.read(line)

    def ask(line: bytes) -> Any:
        asked[line] += 1
        return fast_reader.read_question and fast_reader.read_question(line)

    how = how._replace(native=None)
    quick = FastReader(fast_reader.index_rows, fast_reader.read if by == "read_question" else read)
    if by == "read_question":
        quick = quick._replace(read_question=ask)
    run = Run(how._replace(fast_reader=quick, native=None))
    rows = [_rollout(str(number), _ng_task_index=number % 2) for number in range(300)]
    run.lines(data_of(rows))
    assert asked == {data_of([rows[0]]): 1, data_of([rows[1]]): 1}
    assert [len(run.columns.members(group)) for group in (0, 1)] == [150, 150]


@pytest.mark.parametrize("read_question", [None, lambda _: None])
def test_question_that_the_fast_reader_cannot_read(read_question: Any) -> None:
    """The scanned values are discarded, and the row is read by the general reader."""

    def scan_all(lines: Sequence[bytes]) -> list[IndexedRow | None]:
        return [(b"?", 9.0, 9, bytes(16), ()) for _ in lines]

    how = source_named("nemo-gym").open_reader([], ReadOptions(), "r.jsonl")
    quick = FastReader(scan_all, lambda _: None, read_question)
    run = Run(how._replace(fast_reader=quick, native=None))
    run.lines(data_of([_odd(), _odd(0.5)]))
    assert list(run.columns.scores) == [1.0, 0.5]
    assert run.ledger.candidates_found == 2


def test_source_without_a_shortcut() -> None:
    """Without a fast reader, every row is decoded; it may have several candidates."""
    row = json.dumps({"prompt": "Q", "responses": ["", "A", "B"], "rewards": [2, 1, 0]}).encode()
    run = Run(source_named("generic").open_reader([row], ReadOptions(), "r.jsonl"))
    run.lines(b"\n", row)
    assert [place[3:] for place in run.places()] == [(0, 2), (1, 2)]
    assert run.ledger.candidates_dropped == {"empty_answer": 1}


def test_what_another_process_found_is_joined() -> None:
    """Joins candidates, groups in order of first occurrence, counts, and line numbers."""
    rows = [_rollout(str(number), _ng_task_index=number % 3) for number in range(9)]
    whole, here, there = Run(), Run(), Run()
    lines = [b"\n", *[data_of([row]) for row in rows], b"\n"]
    whole.lines(*lines, lines[1])
    here.lines(*lines[:3])
    there.lines(*lines[3:], offset=sum(map(len, lines[:3])))
    counts = there.ledger.row_counts()
    found = IndexedRange(there.indexer.lines, counts, [], ["nemo-gym"], 1)
    assert here.indexer.join(found, there.columns.blocks())
    here.lines(lines[1], offset=sum(map(len, lines)))
    assert here.columns.groups == whole.columns.groups == 3
    assert all(here.columns.keys[one] == whole.columns.keys[one] for one in range(3))
    for number in range(len(whole.columns)):
        assert here.columns.rank(number) == whole.columns.rank(number)
        assert here.columns.question(number) == whole.columns.question(number)
    assert here.places() == whole.places()
    assert here.ledger.row_counts() == whole.ledger.row_counts()
    assert here.ledger.rows_by_input == whole.ledger.rows_by_input == {"r.jsonl": 10}
    assert here.indexer.lines == 12


def test_another_process_found_nothing() -> None:
    """A range of blank lines shifts the numbers of later lines."""
    run, nothing = Run(), Counter[str]()
    counts = RowCounts(0, 0, nothing, 0, nothing, nothing)
    assert run.indexer.join(IndexedRange(4, counts, [], [], 0), iter(()))
    run.lines(data_of([_rollout()]), offset=4)
    assert [place[4] for place in run.places()] == [5]


def test_another_process_was_shown_something_else() -> None:
    """A range with contradicting facts is not joined; indexing it again finds the row."""
    row = {"prompt": "Q", "response": "A", "answer": "B", "score": 1}
    run = Run(source_named("generic").open_reader([], ReadOptions(), "r.jsonl"))
    run.lines(data_of([row]))
    before, nothing = run.places(), Counter[str]()
    counts = RowCounts(1, 1, nothing, 1, nothing, nothing)
    shown: list[Fact] = [("answered by", "answer")]
    found = IndexedRange(1, counts, shown, ["generic"], 1)
    assert not run.indexer.join(found, run.columns.blocks())
    assert (run.places(), run.ledger.rows_read, run.indexer.lines) == (before, 1, 1)


def test_long_lines_do_not_pile_up() -> None:
    """Blocks are limited by size, too."""
    run, lines = Run(), io.BytesIO(data_of([_rollout("A" * 1_000_000)]) * 24)
    tracemalloc.start()
    run.indexer.index(lines, 0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8_000_000
