"""Runs on a real Ray cluster write the same bytes as a run in one process, despite crashes.

`make test-runners` runs these tests in an environment with Ray.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from ray_kit import (
    MARKS,
    TOKEN,
    check,
    check_results,
    children_of,
    command,
    end,
    free_port,
    head,
    prefpairs,
    rollouts,
    run,
    started,
    tasks,
)

from prefpairs.engine.native import VARIABLE, native_core
from prefpairs.engine.runners.step_plan import WORK

pytestmark = MARKS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with rollouts, and the pairs and the summary of a run in one process."""
    return rollouts(tmp_path)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster of two CPUs, with an object store of 100 MB."""
    with head() as started_here:
        yield started_here.address


@pytest.mark.parametrize("engine", ["0", "1"], ids=["python", "native"])
def test_a_cluster_of_this_machine(engine: str, folder: Path) -> None:
    """Without an address, a local cluster runs the steps; only the summary is printed."""
    if engine == "1" and native_core() is None:
        pytest.skip("the native core is not installed")
    check(folder, run(folder, command("200KB"), {VARIABLE: engine}))
    assert not tasks()


def test_a_cluster_that_is_named(cluster: str, folder: Path) -> None:
    """A cluster is named by its address or by RAY_ADDRESS; range size and parts do not matter."""
    check(folder, run(folder, command("100KB", "--parts", "3", runner=f"ray:{cluster}")))
    check(folder, run(folder, command("5MB", "--parts", "16"), {"RAY_ADDRESS": cluster}))


def test_rows_that_are_treated_alike(cluster: str, folder: Path) -> None:
    """`extract`, whose parts are in the order of the input."""
    local = prefpairs(folder, "extract", "a.jsonl", "b.jsonl", "-o", "local.jsonl")
    assert local.returncode == 0, local.stderr
    ways = ("--runner", f"ray:{cluster}", "--range-size", "200KB", "--out-dir", "out")
    words = [sys.executable, "-m", "prefpairs", "extract", *ways, "a.jsonl", "b.jsonl"]
    done = run(folder, words)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    parts = sorted((folder / "out").glob("part-*"))
    assert len(parts) > 2
    assert b"".join(part.read_bytes() for part in parts) == (folder / "local.jsonl").read_bytes()


def test_a_recipe(cluster: str, folder: Path) -> None:
    """All rounds of a recipe are run one after the other."""
    (folder / "recipe.toml").write_text(
        '[read]\ninputs = ["a.jsonl", "b.jsonl"]\n[pair]\norder = "key"\nstrategy = "adjacent"\n'
        '[dedupe]\nby = "prompt"\n[split]\nval_fraction = 0.3\n'
    )
    local = prefpairs(folder, "run", "--set", "write.out_dir=sides")
    assert local.returncode == 0, local.stderr
    ways = ("--runner", f"ray:{cluster}", "--range-size", "200KB", "--parts", "6")
    words = [sys.executable, "-m", "prefpairs", "run", *ways, "--set", "write.out_dir=out"]
    done = run(folder, words)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    for side in ("train", "val"):
        parts = sorted((folder / "out").glob(f"{side}-*"))
        assert len(parts) == 6
        joined = b"".join(part.read_bytes() for part in parts)
        assert joined == (folder / "sides" / f"{side}.jsonl").read_bytes()


@pytest.mark.parametrize("kills", [4, pytest.param(24, marks=pytest.mark.stress)])
def test_workers_that_are_killed(kills: int, cluster: str, folder: Path) -> None:
    """If workers are killed with SIGKILL, Ray repeats their steps."""
    chance = random.Random(kills)  # noqa: S311 - moments of a test
    words = command("20KB", "--parts", str(10 * kills), runner=f"ray:{cluster}")
    killed: set[str] = set()
    seen = 0
    with subprocess.Popen(
        words,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **TOKEN},
    ) as process:
        while process.poll() is None and seen < kills:
            time.sleep(chance.uniform(0, 0.05))
            for worker, name in tasks().items():
                if name not in killed:
                    killed.add(name)
                    with suppress(ProcessLookupError):
                        os.kill(worker, signal.SIGKILL)
                        seen += 1
                    break
        out, err = process.communicate(timeout=300)
    assert seen >= kills // 2
    assert (process.returncode, out) == (0, ""), err
    check_results(folder)


def test_a_driver_that_is_killed(cluster: str, folder: Path) -> None:
    """After the driver is killed, the same command resumes with the completed steps."""
    words = command("20KB", "--parts", "40", runner=f"ray:{cluster}")
    env = {**os.environ, **TOKEN}
    with subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, env=env) as process:
        steps: list[Path] = []
        while len(steps) < 20 and process.poll() is None:
            time.sleep(0.02)
            steps = [*(folder / "out" / WORK).glob("*/1/*/done")]
        process.kill()
    done = {path: path.stat().st_mtime_ns for path in steps}
    assert done
    assert not [*(folder / "out").glob("part-*")]
    written = {path.stat().st_mtime_ns for path in (folder / "out" / WORK).glob("*/1/*/done")}
    assert {*done.values()} <= written
    check(folder, run(folder, words))


@pytest.mark.stress
def test_a_node_that_disappears(folder: Path) -> None:
    """If one of two nodes is killed during a run, the other one runs its steps."""
    with head() as first:
        other = started("--address", first.address)
        try:
            time.sleep(15)
            words = command("10KB", "--parts", "200", runner=f"ray:{first.address}")
            with subprocess.Popen(
                words,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, **TOKEN},
            ) as process:
                while not tasks() and process.poll() is None:
                    time.sleep(0.02)
                time.sleep(1)
                for process_of_node in children_of(other.pid):
                    os.kill(process_of_node, signal.SIGKILL)
                out, err = process.communicate(timeout=300)
            assert (process.returncode, out) == (0, ""), err
            check_results(folder)
        finally:
            end(other)


def test_no_cluster_at_the_address(folder: Path) -> None:
    """The error is short, with a hint and without a traceback."""
    done = run(folder, command("1MB", runner=f"ray:127.0.0.1:{free_port()}"))
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith("error: Ray at 127.0.0.1:")
    assert "hint: `ray status` shows whether it runs" in done.stderr
    assert len(done.stderr.splitlines()) == 3
    assert "Traceback" not in done.stderr


def test_an_error_of_a_step(cluster: str, folder: Path) -> None:
    """A bad row is reported with its line and a hint, as in a run in one process."""
    with (folder / "b.jsonl").open("a") as file:
        file.write('{"prompt": "Q?", "response": "R", "score": "0.7"}\n')
    done = run(folder, command("100KB", runner=f"ray:{cluster}"))
    assert (done.returncode, done.stdout) == (1, "")
    assert 'b.jsonl:1501: score is "0.7", expected a number' in done.stderr
    assert "--cast-score" in done.stderr
    assert "Traceback" not in done.stderr
