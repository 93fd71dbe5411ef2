"""Worker processes that index byte ranges, and their failures."""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import Lines, Row, data_of

from prefpairs.engine import processes
from prefpairs.engine.inputs.candidate_reader import reading_inputs
from prefpairs.engine.native import VARIABLE
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.engine.processes import CAN_FORK, Counter
from prefpairs.engine.store import index_lines
from prefpairs.engine.store.candidate_columns import Block
from prefpairs.engine.store.index_lines import IndexedRange, IndexWorkers, Job, LineIndexer
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.input_paths import find_inputs
from prefpairs.files.lines import lines_between
from prefpairs.ledger import Ledger, Progress, Step
from prefpairs.model.identity import DIGEST, digest
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.strategies.options import PairOptions
from run_plans import pair

pytestmark = pytest.mark.full


@pytest.fixture(autouse=True)
def _python_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disables the native core, which has threads instead of workers."""
    monkeypatch.setenv(VARIABLE, "0")


ROWS: list[Row] = [
    {"prompt": f"Q{number // 4}", "response": f"A{number}", "score": number % 4}
    for number in range(40)
]
CHOSEN = [f"A{number}" for number in range(3, 40, 4)]
work = index_lines._work  # noqa: SLF001 - what a worker does is what fails here


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    """No child process is left."""
    yield
    assert multiprocessing.active_children() == []


def _run(folder: Path, data: bytes, ledger: Ledger | None = None, number: int = 4) -> list[str]:
    (folder / "r.jsonl").write_bytes(data)
    read = ReadPlan(inputs=find_inputs([str(folder / "r.jsonl")]), on_error="skip")
    output = Lines()
    pair(
        PairPlan(read=read, options=PairOptions(workers=number)),
        {WHOLE: output},
        ledger or Ledger(),
    )
    return [row["chosen"] for row in output.rows()]


def _dies(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _exits(_: Job, __: Counter, sender: Connection) -> None:
    sender.close()


def _gives_up(_: Job, __: Counter, sender: Connection) -> None:
    processes.send(sender, None)


def _begins_to_tell(_: Job, __: Counter, sender: Connection) -> None:
    sender._send(b"\0\0")  # type: ignore[attr-defined]  # noqa: SLF001 - half a length
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("fails", [_dies, _exits, _gives_up, _begins_to_tell])
def test_workers_that_send_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: Callable[..., None]
) -> None:
    """If workers send nothing, the parent indexes their ranges."""
    monkeypatch.setattr(index_lines, "_work", fails)
    ledger = Ledger()
    assert _run(tmp_path, data_of(ROWS), ledger) == CHOSEN
    assert (ledger.rows_read, ledger.rows_by_input) == (40, {"r.jsonl": 40})


def test_one_worker_of_several_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one worker dies, the results of the others are used."""
    data = data_of(ROWS)

    def some(job: Job, passed: Counter, sender: Connection) -> None:
        (_dies if job.start < len(data) // 2 else work)(job, passed, sender)

    monkeypatch.setattr(index_lines, "_work", some)
    assert _run(tmp_path, data) == CHOSEN


def _steps(folder: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """The progress after each range that was joined from a worker or indexed by us."""
    ledger, seen = Ledger(), []
    joined, indexed = LineIndexer.join, LineIndexer.index

    def join(indexer: LineIndexer, *found: Any) -> bool:
        agreed = joined(indexer, *found)
        seen.append(ledger.progress.step)
        return agreed

    def index(indexer: LineIndexer, *lines: Any) -> None:
        indexed(indexer, *lines)
        seen.append(ledger.progress.step)

    monkeypatch.setattr(LineIndexer, "join", join)
    monkeypatch.setattr(LineIndexer, "index", index)
    assert _run(folder, data, ledger, 3) == CHOSEN
    assert ledger.progress.step == Step("writing", 10, 10, "groups")
    return seen


@pytest.mark.skipif(not CAN_FORK, reason="others have no memory to share")
@pytest.mark.parametrize("fails", [None, _dies, _gives_up])
def test_bytes_are_counted_wherever_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: Callable[..., None] | None
) -> None:
    """Bytes are counted once, even if a worker read part of its range in vain."""
    if fails is not None:

        def fails_late(job: Job, passed: Counter, sender: Connection) -> None:
            passed.add(100)
            fails(job, passed, sender)

        monkeypatch.setattr(index_lines, "_work", fails_late)
    data = data_of(ROWS)
    seen = _steps(tmp_path, data, monkeypatch)
    assert [step.activity for step in seen] == ["reading"] * 3
    assert seen[-1].done == len(data)
    assert [step.done for step in seen] == sorted(step.done for step in seen)


def test_bytes_of_workers_that_share_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without shared memory, a worker's bytes are counted when its result is joined."""
    monkeypatch.setattr(index_lines, "counts_for", lambda number: [0] * number)
    data = data_of(ROWS)
    seen = _steps(tmp_path, data, monkeypatch)
    assert seen[0].done < seen[1].done < seen[2].done == len(data)


@pytest.mark.parametrize("number", [2, 5])
def test_bad_rows_are_reported_with_their_line(tmp_path: Path, number: int) -> None:
    """A worker stops at a bad row, which is reported with its line."""
    ledger = Ledger()
    assert _run(tmp_path, data_of(ROWS) + b"\n{\n", ledger, number) == CHOSEN
    assert [place for place, _ in ledger.first_bad] == ["r.jsonl:42"]
    assert (ledger.rows_read, ledger.rows_bad) == (41, 1)


def _found_by(folder: Path, data: bytes, start: int, **options: Any) -> Any:
    """What a worker sends for the end of a file."""
    path = folder / "r.jsonl"
    path.write_bytes(data)
    (source,) = find_inputs([str(path)])
    plan = ReadPlan(inputs=[source], options=ReadOptions(**options))
    with reading_inputs(plan, Ledger()) as reader:
        given = next(inputs := reader.inputs())  # noqa: F841 - open as long as it lives
        with IndexWorkers(given, plan, [(start, len(data))], Progress()) as workers:
            receiver = Receiver()
            return receiver.found if workers.join(0, receiver) else None  # type: ignore[arg-type]


class Receiver:
    """Receives what a worker sends, instead of an indexer."""

    found: Any = None

    def join(self, found: IndexedRange, blocks: Iterator[Block]) -> bool:
        """Keep the result."""
        self.found = found.lines, found.counts, [*blocks]
        return True


def test_what_a_worker_finds(tmp_path: Path) -> None:
    """The lines of its range, the counts of rows, and the columns of candidates."""
    rows = [*ROWS[:9], {"prompt": "Q", "response": "A", "score": None}]
    data = data_of(rows[:5]) + b"\n" + data_of(rows[5:])
    lines, counts, blocks = _found_by(tmp_path, data, len(data_of(rows[:3])))
    assert lines == 8
    assert counts == (7, 6, {"no_score": 1}, 7, {"no_score": 1}, {})
    (block,) = blocks
    assert {name: len(column) for name, column in block._asdict().items()} == {
        "groups": 6 * 4,
        "group_keys": 3 * 16,
        "questions": 3 * 48,
        "scores": 6 * 8,
        "digests": 6 * 16,
        "indexes": 6 * 8,
        "offsets": 6 * 8,
        "lengths": 6 * 4,
        "slots": 0,
        "lines": 6 * 4,
        "references": 0,
        "task_marks": 0,
        "tasks": 0,
    }


def test_tasks_that_groups_do_not_name(tmp_path: Path) -> None:
    """A worker sends them up to the last candidate that has one."""
    rows = [{**ROWS[0], "group": "g", "origin": "a:1", "meta": {"source_task": t}} for t in "ab"]
    (block,) = _found_by(tmp_path, data_of([ROWS[0], *rows, ROWS[0]]), 0)[2]
    digests = b"".join(digest("task", task) for task in (b"a", b"b"))
    assert block.tasks == bytes(DIGEST) + digests
    assert len(block.task_marks) == 2 * 2 * 8


def test_worker_that_finds_nothing(tmp_path: Path) -> None:
    """A range of blank lines is counted as lines."""
    data = data_of(ROWS[:1]) + b"\n \n\n"
    assert _found_by(tmp_path, data, len(data) - 4) == (3, (0, 0, {}, 0, {}, {}), [])


def test_file_that_was_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose file was replaced gives up, and nothing of it is joined."""
    data, path = data_of(ROWS), tmp_path / "r.jsonl"
    started = processes.start_processes

    def replaced(*arguments: Any) -> Any:
        path.rename(tmp_path / "old")
        path.write_bytes(data)
        return started(*arguments)

    monkeypatch.setattr(index_lines, "start_processes", replaced)
    assert _found_by(tmp_path, data, 0) is None


def test_what_must_be_compared_over_the_whole_file(tmp_path: Path) -> None:
    """A worker gives up on unique IDs, which need the whole file."""
    data = data_of([{"id": 1, "intermediate_steps": []}] * 2)
    assert _found_by(tmp_path, data, len(data) // 2) is None


def _experience(run: int, **more: Any) -> Row:
    eid = {"batch": 1, "task": run // 4, "run": run}
    texts = {"prompt_text": f"Q{run // 4}", "response_text": f"A{run}", "reward": float(run % 4)}
    return {"eid": eid, "prompt_length": 3, **texts, **more}


@pytest.mark.parametrize(("rejected", "found"), [("no", 11), ("yes", 10)])
def test_ready_made_pairs_in_a_range(tmp_path: Path, rejected: str, found: int) -> None:
    """Ready-made pairs are known by line number, so a worker leaves its range to us."""
    asked = {"role": "user", "content": "Q"}
    sides = {
        f"{side}_messages": [asked, {"role": "assistant", "content": said}]
        for side, said in (("chosen", "yes"), ("rejected", rejected))
    }
    data = data_of([*map(_experience, range(40)), _experience(40, **sides)])
    assert _found_by(tmp_path, data, len(data) // 2) is None
    ledgers = []
    for number in (1, 4):
        ledger = Ledger()
        assert len(_run(tmp_path, data, ledger, number)) == found
        ledgers.append((ledger.row_counts(), [(s.name, s.found, s.kept) for s in ledger.stages]))
    assert ledgers[0] == ledgers[1]
    assert ledgers[0][1] == [("ready-made", 1, found - 10)]


def test_children_are_gone_after_an_exception(tmp_path: Path) -> None:
    """After an exception, all children end, even those waiting to send."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(data_of(ROWS * 500))
    plan = ReadPlan(inputs=find_inputs([str(path)]))
    parts = [(0, path.stat().st_size)] * 3

    def run() -> None:
        with reading_inputs(plan, Ledger()) as reader:
            given = next(inputs := reader.inputs())  # noqa: F841 - open as long as it lives
            with IndexWorkers(given, plan, parts, Progress()):
                assert len(multiprocessing.active_children()) == 3
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()


def test_no_process_without_a_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a second range there is no process; the first one is ours."""

    def start(*_: object) -> None:
        pytest.fail("a process was started")

    monkeypatch.setattr("prefpairs.engine.processes.Process", start)
    assert _run(tmp_path, data_of(ROWS), number=1) == CHOSEN


def test_signals_end_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signals end a worker, whatever handlers the parent has."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)

    def opened(*given: Any) -> Any:
        handlers = map(signal.getsignal, (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE))
        said = [handler is signal.SIG_DFL for handler in handlers]
        held = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        said.append(held.isdisjoint({signal.SIGINT, signal.SIGTERM, signal.SIGHUP}))
        (tmp_path / "defaults").write_text(json.dumps(said))
        return lines_between(*given)

    monkeypatch.setattr(index_lines, "lines_between", opened)
    try:
        _found_by(tmp_path, data_of(ROWS), 0)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (tmp_path / "defaults").read_text() == "[true, true, true, true]"
