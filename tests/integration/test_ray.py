"""Runs on a real Ray cluster write the same bytes as a run in one process, despite crashes.

`make test-runners` runs these tests in an environment with Ray.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from prefpairs.engine.native import VARIABLE, native_core
from prefpairs.engine.runners.step_plan import WORK

pytestmark = [
    pytest.mark.skipif(
        find_spec("ray") is None and os.environ.get("RAY") != "needed",
        reason="ray is not installed: make test-runners",
    ),
    pytest.mark.full,
]

PAIR = ("pair", "--order", "key", "--strategy", "exhaustive")
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "00112233445566778899aabbccddeeff"}
"""Environment for a cluster that requires a token from its clients."""

STARTED = 90.0
"""Timeout in seconds for the start of a cluster."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with rollouts, and the pairs and the summary of a run in one process."""
    rows = (
        {
            "prompt": f"Question {number % 500}?\u2028\u0000",
            "response": f"{number} " * 40,
            "score": number % 7,
        }
        for number in range(4000)
    )
    lines = [json.dumps(row, ensure_ascii=False).encode() for row in rows]
    lines[7] = lines[7].replace(b'"response": "', b'"response": "' + b"x" * 2_000_000)
    (tmp_path / "a.jsonl").write_bytes(b"\r\n\n".join(lines[:2500]))
    (tmp_path / "b.jsonl").write_bytes(b"\n".join(lines[2500:]) + b"\n")
    done = prefpairs(
        tmp_path, *PAIR, "a.jsonl", "b.jsonl", "-o", "local.jsonl", "--summary", "local.json"
    )
    assert done.returncode == 0, done.stderr
    return tmp_path


def command(size: str, *words: str, runner: str = "ray") -> list[str]:
    """The command line of a run on Ray."""
    ways = ("--runner", runner, "--range-size", size, "--out-dir", "out", "--summary", "ray.json")
    return [sys.executable, "-m", "prefpairs", *PAIR, *ways, *words, "a.jsonl", "b.jsonl"]


def prefpairs(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the program."""
    given = [sys.executable, "-m", "prefpairs", *words]
    return subprocess.run(given, cwd=folder, capture_output=True, text=True, check=False)


def run(
    folder: Path, words: list[str], env: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command and wait for it."""
    return subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **TOKEN, **(env or {})},
        timeout=300,
    )


def check(folder: Path, done: "subprocess.CompletedProcess[str]") -> None:
    """The run succeeded with the results of one process, and printed only its summary."""
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    check_results(folder)
    local = prefpairs(folder, *PAIR, "a.jsonl", "b.jsonl", "-o", "again.jsonl").stderr
    assert done.stderr.splitlines()[:-1] == local.splitlines()[:-1]


def check_results(folder: Path) -> None:
    """The concatenated parts equal the output of one process; no other files remain."""
    parts = sorted((folder / "out").glob("part-*"))
    assert sorted(os.listdir(folder / "out")) == ["manifest.json", *(part.name for part in parts)]
    assert b"".join(part.read_bytes() for part in parts) == (folder / "local.jsonl").read_bytes()
    assert (folder / "ray.json").read_bytes() == (folder / "local.json").read_bytes()


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def started(*words: str) -> "subprocess.Popen[bytes]":
    """Start a node with `ray start --block`, which runs until it is terminated."""
    ray = Path(sys.executable).with_name("ray")
    given = [str(ray), "start", "--block", "--num-cpus", "2", "--object-store-memory", "100000000"]
    return subprocess.Popen(
        [*given, "--disable-usage-stats", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, **TOKEN},
    )


def end(process: "subprocess.Popen[bytes]") -> None:
    """Stop `ray start` and its child processes."""
    own = children_of(process.pid)
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(30)
    process.kill()
    process.wait(30)
    for child in own:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def children_of(parent: int) -> list[int]:
    """The process ids of a process's direct children."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(path.parent.name))
    return found


def connect(port: int) -> bool:
    """Whether something listens on a port."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster of two CPUs, with an object store of 100 MB."""
    port = free_port()
    head = started("--head", "--port", str(port), "--include-dashboard", "false")
    try:
        until = time.monotonic() + STARTED
        while not connect(port) and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(2)
        yield f"127.0.0.1:{port}"
    finally:
        end(head)


def tasks() -> dict[int, str]:
    """The workers that are running a step, by process id."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            title = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if title.startswith("ray::prefpairs "):
            found[int(path.parent.name)] = title.rstrip("\0")
    return found


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
            steps = [*(folder / "out" / WORK).glob("*/map/*/done")]
        process.kill()
    done = {path: path.stat().st_mtime_ns for path in steps}
    assert done
    assert not [*(folder / "out").glob("part-*")]
    written = {path.stat().st_mtime_ns for path in (folder / "out" / WORK).glob("*/map/*/done")}
    assert {*done.values()} <= written
    check(folder, run(folder, words))


@pytest.mark.stress
def test_a_node_that_disappears(folder: Path) -> None:
    """If one of two nodes is killed during a run, the other one runs its steps."""
    port = free_port()
    head = started("--head", "--port", str(port), "--include-dashboard", "false")
    other = None
    try:
        until = time.monotonic() + STARTED
        while not connect(port) and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(2)
        other = started("--address", f"127.0.0.1:{port}")
        time.sleep(15)
        words = command("10KB", "--parts", "200", runner=f"ray:127.0.0.1:{port}")
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
        for node in (other, head):
            if node is not None:
                end(node)


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
