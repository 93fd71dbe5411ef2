"""Steps that are killed, run twice at once, or run out of space leave the result unchanged."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prefpairs.engine.runners.step_plan import WORK

SEED = 20_261_120
STEPS = ("1", "2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with rollouts, and the pairs that one process makes from them."""
    rows = (
        {"prompt": f"Question {number % 900}?", "response": f"{number} " * 40, "score": number % 7}
        for number in range(4000)
    )
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    run_well(tmp_path, "pair", "--order", "key", "rows.jsonl", "-o", "local.jsonl")
    return tmp_path


def start(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    """Start the program in the folder."""
    command = [sys.executable, "-m", "prefpairs", *words]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE)


def run_well(folder: Path, *words: str) -> None:
    """Run it to its end, which must be a success."""
    process = start(folder, *words)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr


def plan(folder: Path, *words: str) -> None:
    """Plan the steps."""
    ways = ("--runner", "shards", "--order", "key", "--range-size", "30KB", "--parts", "24")
    run_well(folder, "pair", *ways, "--out-dir", "out", *words, "rows.jsonl")


def check(folder: Path) -> None:
    """Compare the finished run with that of one process; no other file may be left."""
    parts = sorted((folder / "out").glob("part-*"))
    assert b"".join(part.read_bytes() for part in parts) == (folder / "local.jsonl").read_bytes()
    assert sorted(os.listdir(folder / "out")) == ["manifest.json", *(part.name for part in parts)]


def processes(folder: Path, kind: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Two processes that do all steps of a kind at once, the second in reverse order."""
    yield start(folder, "shards", kind, "-q", "out")
    yield start(folder, "shards", kind, "-q", "out", "1/2")


def plan_dedupe(folder: Path) -> None:
    """Plan the steps of `dedupe`, of pairs most of which occur twice."""
    lines = (folder / "local.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "pairs.jsonl").write_bytes(b"".join([*lines, *lines[::-1], *lines[:99]]))
    run_well(folder, "dedupe", "-q", "pairs.jsonl", "-o", "local.jsonl")
    ways = ("--runner", "shards", "--range-size", "30KB", "--out-dir", "out")
    run_well(folder, "dedupe", *ways, "pairs.jsonl")


def plan_recipe(folder: Path) -> None:
    """Plan the steps of a recipe of two phases."""
    stages = '[pair]\norder = "key"\nstrategy = "adjacent"\n[dedupe]\nby = "prompt"\n'
    (folder / "recipe.toml").write_text(f'[read]\ninputs = "rows.jsonl"\n{stages}')
    run_well(folder, "run", "-q", "--set", "write.output=local.jsonl")
    (folder / "manifest.json").unlink()
    ways = ("--runner", "shards", "--range-size", "30KB", "--parts", "24")
    run_well(folder, "run", *ways, "--set", "write.out_dir=out")


@pytest.mark.parametrize(
    "kills", [pytest.param(40, marks=pytest.mark.stress), pytest.param(4, marks=pytest.mark.full)]
)
@pytest.mark.parametrize(("planned", "rounds"), [(plan, 2), (plan_dedupe, 3), (plan_recipe, 5)])
def test_killed_steps_are_done_by_the_next(
    planned: Callable[[Path], None], rounds: int, kills: int, folder: Path
) -> None:
    """The next run completes each round and finish after kill -9 at any moment."""
    chance = random.Random(SEED)  # noqa: S311 - moments of a test
    planned(folder)
    killed = 0
    for kind in map(str, range(1, rounds + 1)):
        before = killed
        while killed < before + kills // 2:
            for process in [*processes(folder, kind)]:
                time.sleep(chance.uniform(0.1, 0.35))
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    killed += 1
                process.communicate()
            assert not [*(folder / "out").glob("part-*")]
        run_well(folder, "shards", kind, "-q", "out")
    for _ in range(max(2, kills // 4)):
        process = start(folder, "shards", "finish", "out")
        time.sleep(chance.uniform(0.05, 0.3))
        process.kill()
        process.communicate()
    run_well(folder, "shards", "finish", "out")
    check(folder)


def test_finish_that_is_killed_as_it_removes_the_steps(folder: Path) -> None:
    """The next one removes what is left of them."""
    plan(folder)
    for kind in (*STEPS, "finish"):
        run_well(folder, "shards", kind, "-q", "out")
    (folder / "out" / f"{WORK}-removed" / "1").mkdir(parents=True)
    run_well(folder, "shards", "finish", "out")
    check(folder)


@pytest.mark.full
def test_steps_done_twice_at_a_time(folder: Path) -> None:
    """Two processes may do the same steps at the same time."""
    plan(folder)
    for kind in STEPS:
        started = [start(folder, "shards", kind, "-q", "out") for _ in range(3)]
        for process in started:
            _, stderr = process.communicate(timeout=120)
            assert process.returncode == 0, stderr
    run_well(folder, "shards", "finish", "-q", "out")
    check(folder)


@pytest.mark.full
@pytest.mark.parametrize("kind", [*STEPS, "finish"])
def test_steps_without_room(kind: str, folder: Path) -> None:
    """A step that cannot write exits 5, leaves no receipt, and can be repeated."""
    plan(folder, "--summary", "counts.json")
    for earlier in STEPS[: [*STEPS, "finish"].index(kind)]:
        run_well(folder, "shards", earlier, "-q", "out")
    program = f"{sys.executable} -m prefpairs shards {kind} -q out"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 1; exec {program}"], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 5, done.stderr
    assert done.stderr.count(b"\n") == 1
    folders = (folder / "out" / WORK).glob(f"*/{kind}/*")
    assert not [step for step in folders if os.listdir(step)]
    assert not (folder / "out" / "manifest.json").exists()
    for step in (*STEPS, "finish"):
        run_well(folder, "shards", step, "-q", "out")
    check(folder)
