"""What the inputs look like, seen before any of them is read."""

import os
from collections import Counter
from pathlib import Path

from prefpairs.engines.plan import ReadPlan
from prefpairs.engines.samples import Samples, first_records
from prefpairs.files.inputs import find_inputs
from prefpairs.files.lines import Record
from prefpairs.sources.answer import ReadOptions

ROW = b'{"prompt": "Q", "response": "A"}'
SCORED = b'{"prompt": "Q", "response": "A", "score": 1}'
ROLLOUT = b'{"responses_create_params": {}}'
SHAPE, SCORED_SHAPE = b'{"prompt":"","response":""}', b'{"prompt":"","response":"","score":0}'


def _plan(folder: Path, *contents: bytes, source: str = "auto", score: str = "x") -> ReadPlan:
    paths = [folder / f"{number}.jsonl" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content + b"\n")
    options = ReadOptions(scores=((score, 1.0),))
    return ReadPlan(inputs=find_inputs(list(map(str, paths))), source=source, options=options)


def test_files_of_a_kind_are_seen_together(tmp_path: Path) -> None:
    """Each file has its own source; the shapes are those of all files of that source."""
    plan = _plan(tmp_path, ROW, ROLLOUT, SCORED)
    samples = Samples(plan)
    seen = [samples.add(given, []) for given in plan.inputs]
    both = Counter({SHAPE: 1, SCORED_SHAPE: 1})
    rollout = Counter({b'{"responses_create_params":{}}': 1})
    assert seen == [("generic", both), ("nemo-gym", rollout), ("generic", both)]


def test_single_input_is_seen_when_its_turn_has_come(tmp_path: Path) -> None:
    """Nothing is opened twice without need."""
    plan = _plan(tmp_path, ROW)
    first = [Record(1, 0, SCORED), Record(2, 50, SCORED), Record(3, 99, b"{torn")]
    assert Samples(plan).add(plan.inputs[0], first) == ("generic", {SCORED_SHAPE: 2})


def test_source_that_was_named(tmp_path: Path) -> None:
    """Nothing is detected."""
    plan = _plan(tmp_path, ROW, ROLLOUT, source="nat")
    assert [Samples(plan).add(given, [])[0] for given in plan.inputs] == ["nat", "nat"]


def test_pipe_is_left_alone(tmp_path: Path) -> None:
    """What is read from a pipe is gone from it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "r.jsonl").write_bytes(ROW)
    names = [str(tmp_path / "pipe"), str(tmp_path / "r.jsonl")]
    plan = ReadPlan(inputs=find_inputs(names))
    seen = Samples(plan).add(plan.inputs[0], [Record(1, 0, SCORED)])
    assert seen == ("generic", {SHAPE: 1, SCORED_SHAPE: 1})


def test_first_records_are_bounded_by_number() -> None:
    """The rest is not taken from the stream."""
    records = iter([Record(number, 0, ROW) for number in range(1000)])
    assert (len(first_records(records)), next(records).number) == (256, 256)


def test_first_records_are_bounded_by_size() -> None:
    """Rows may hold megabytes."""
    records = iter([Record(number, 0, bytes(3 << 20)) for number in range(4)])
    assert (len(first_records(records)), next(records).number) == (2, 2)


def test_first_records_of_a_short_file() -> None:
    """All there are."""
    assert first_records(iter([Record(1, 0, ROW)])) == [Record(1, 0, ROW)]


def test_paths_that_no_file_has(tmp_path: Path) -> None:
    """One file of several is enough; without any it is doubtful."""
    assert [doubt.path for doubt in Samples(_plan(tmp_path, ROW, SCORED)).doubtful_paths()] == ["x"]
    assert Samples(_plan(tmp_path, ROW, SCORED, score="score")).doubtful_paths() == []


def test_paths_of_steps_are_never_doubtful(tmp_path: Path) -> None:
    """They point into steps, which only the source finds."""
    plan = _plan(tmp_path, ROW, SCORED, source="nat")
    assert Samples(plan).doubtful_paths() == []
