"""Ray clusters of this machine for tests, and runs on them."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

MARKS = [
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


def rollouts(folder: Path) -> Path:
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
    (folder / "a.jsonl").write_bytes(b"\r\n\n".join(lines[:2500]))
    (folder / "b.jsonl").write_bytes(b"\n".join(lines[2500:]) + b"\n")
    done = prefpairs(
        folder, *PAIR, "a.jsonl", "b.jsonl", "-o", "local.jsonl", "--summary", "local.json"
    )
    assert done.returncode == 0, done.stderr
    return folder


def command(size: str, *words: str, runner: str = "ray", folder: Path = Path()) -> list[str]:
    """The command line of a run on Ray, with names of files relative to a folder."""
    out, summary, *inputs = (
        str(folder / name) for name in ("out", "ray.json", "a.jsonl", "b.jsonl")
    )
    ways = ("--runner", runner, "--range-size", size, "--out-dir", out, "--summary", summary)
    return [sys.executable, "-m", "prefpairs", *PAIR, *ways, *words, *inputs]


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


def started(
    *words: str, before: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start a node with `ray start --block`, which runs until it is terminated."""
    ray = Path(sys.executable).with_name("ray")
    given = [
        *before,
        str(ray),
        "start",
        "--block",
        "--num-cpus",
        "2",
        "--object-store-memory",
        "100000000",
    ]
    return subprocess.Popen(
        [*given, "--disable-usage-stats", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, **TOKEN, **(variables or {})},
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


class Head(NamedTuple):
    """The first node of a cluster."""

    address: str
    process: int


@contextmanager
def head(*words: str) -> Iterator[Head]:
    """A cluster of two CPUs, with an object store of 100 MB."""
    port = free_port()
    process = started("--head", "--port", str(port), *(words or ("--include-dashboard", "false")))
    try:
        wait_for(port)
        time.sleep(2)
        yield Head(f"127.0.0.1:{port}", process.pid)
    finally:
        end(process)


def wait_for(port: int) -> None:
    """Wait until something listens on a port."""
    until = time.monotonic() + STARTED
    while not connect(port) and time.monotonic() < until:
        time.sleep(0.2)


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
