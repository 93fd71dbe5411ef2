"""A worker killed at any moment, as by the OOM killer, does not change the result.

Forked workers inherit patches of the test's own process, so they can be made to die there.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from rollouts_of_any_format import every_kind_of_gym_row
from run_in_process import lines_of
from test_workers import words_of_a_run

from prefpairs.engine.native import VARIABLE
from prefpairs.engine.processes import CAN_FORK, Counter, counts_for
from prefpairs.files.fetch_records import Spool

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not CAN_FORK, reason="spawned workers inherit nothing of a test"),
]

WORDS = "--strategy", "exhaustive", "--yes-all", "--on-error", "skip"
MOST = 200
"""More calls of a kind than a worker makes."""


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _before(_: Callable[..., Any], *__: Any) -> None:
    _die()


def _after(act: Callable[..., Any], *arguments: Any) -> None:
    act(*arguments)
    _die()


def _halfway(_: Callable[..., Any], sender: Connection, data: bytes) -> None:
    """Send the length of a message and half of its bytes."""
    message = len(data).to_bytes(4, "big") + bytes(data)
    os.write(sender.fileno(), message[: max(2, len(message) // 2)])
    _die()


def _killed(
    monkeypatch: pytest.MonkeyPatch, kind: type, name: str, how: Callable[..., None], at: int
) -> Sequence[int]:
    """Make every worker die at a call with this number; returns the count of deaths."""
    act, ours, done, killed = getattr(kind, name), os.getpid(), [0], counts_for(1)

    def counted(*arguments: Any) -> Any:
        if os.getpid() != ours:
            done[0] += 1
            if done[0] == at:
                killed[0] += 1
                how(act, *arguments)
        return act(*arguments)

    monkeypatch.setattr(kind, name, counted)
    return killed


MOMENTS = [
    pytest.param((Connection, "send_bytes", _before), id="before a message"),
    pytest.param((Connection, "send_bytes", _halfway), id="halfway through a message"),
    pytest.param((Connection, "send_bytes", _after), id="after a message"),
    pytest.param((Counter, "add", _after), id="after it has read"),
    pytest.param((Spool, "append", _before), id="before it spools a pair"),
    pytest.param((Spool, "append", _after), id="after it has spooled a pair"),
    pytest.param((Spool, "flush", _after), id="after it has spooled all pairs"),
]


@pytest.mark.parametrize(
    "times",
    [
        pytest.param([1, 2, 3, 5, 8, 13, MOST], id="some"),
        pytest.param([4, 6, 7, 9, 10, 11, 12, 14, 20, 40], id="others", marks=pytest.mark.stress),
    ],
)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_killed_at_any_moment_is_made_up_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    moment: tuple[type, str, Callable[..., None]],
    times: list[int],
) -> None:
    """Exit code, messages, summary and output equal those of a run without workers."""
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"".join(lines_of(*every_kind_of_gym_row(60))))
    alone = words_of_a_run(tmp_path, 1, str(path), *WORDS)
    assert alone[0] == 0
    monkeypatch.setenv(VARIABLE, "0")  # the native core has no workers
    for at in times:
        with pytest.MonkeyPatch.context() as patch:
            killed = _killed(patch, *moment, at)
            assert words_of_a_run(tmp_path, 3, str(path), *WORDS) == alone, f"{moment} {at}"
            assert killed[0] or at > 1


ORPHAN = """
import os, sys, time
from prefpairs.engine.processes import Counter, counts_for, start_processes

def work(counter, sender):
    while True:
        counter.add(1)
        time.sleep(0.01)

started = start_processes(work, [(Counter(counts_for(1), 0, os.getpid()),)])
print("started", flush=True)
time.sleep(60)
"""


def test_workers_end_soon_after_their_parent_was_killed(tmp_path: Path) -> None:
    """No worker continues after its parent was killed."""
    script = tmp_path / "orphan.py"
    script.write_text(ORPHAN)
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        process.kill()
    assert _gone(process.pid)


def _gone(group: int) -> bool:
    """Whether all processes of a group end within a few seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False
