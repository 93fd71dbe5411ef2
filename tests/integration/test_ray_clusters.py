"""Runs on Ray clusters that lack something: a shared folder, room on a disk, a head; and as a job.

`make test-runners` runs these tests in an environment with Ray.
"""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    rollouts,
    run,
    started,
    wait_for,
)

from prefpairs.engine.runners.step_plan import WORK

sys.path.insert(0, str(Path(__file__).parents[1] / "stress"))

from stress_shim import Fault, shim

pytestmark = MARKS

JOINED = 15
"""Seconds until another node has joined a cluster."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with rollouts, and the pairs and the summary of a run in one process."""
    return rollouts(tmp_path)


@contextmanager
def another_node(address: str, *before: str, **variables: str) -> Iterator[None]:
    """A second node of a cluster, started by another command."""
    node = started("--address", address, before=before, variables=variables)
    try:
        time.sleep(JOINED)
        assert node.poll() is None
        yield
    finally:
        end(node)


def test_a_job(folder: Path) -> None:
    """`ray job submit` runs the command in the cluster; the dashboard's address is rejected."""
    web = free_port()
    with head("--dashboard-port", str(web), "--dashboard-host", "127.0.0.1"):
        wait_for(web)
        refused = run(folder, command("200KB", runner=f"ray:127.0.0.1:{web}"))
        assert refused.returncode == 2
        assert "this is the address of a web page, not of a cluster" in refused.stderr
        ray = str(Path(sys.executable).with_name("ray"))
        words = command("200KB", folder=folder)
        done = run(
            folder, [ray, "job", "submit", "--address", f"http://127.0.0.1:{web}", "--", *words]
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "pairs " in done.stdout
        check_results(folder)


@pytest.mark.stress
@as_root
def test_nodes_that_do_not_share_a_folder(folder: Path) -> None:
    """The error names what a node does not see, and the node; one line and a hint."""
    (folder / "out").mkdir()
    hidden = f'mount -t tmpfs none {folder}/out && exec "$@"'
    with head() as first, another_node(first.address, "unshare", "-m", "sh", "-c", hidden, "sh"):
        words = command("10KB", "--parts", "200", runner=f"ray:{first.address}")
        done = run(folder, words)
    assert (done.returncode, done.stdout) == (2, "")
    problem, blank, hint = done.stderr.splitlines()
    assert problem.startswith(f"error: {folder}/out is not there on the node ")
    assert (blank, hint) == (
        "",
        "hint: inputs and --out-dir must be on a file system that all nodes share",
    )


@pytest.mark.stress
def test_a_full_disk_on_one_node(folder: Path) -> None:
    """The run ends with one line; without that node, the same command goes on, with all results."""
    fault = Fault("write", 12, "errno", errno.ENOSPC, sticky=True)
    variables = {"LD_PRELOAD": str(shim(folder)), "FAULT_FOLDER": str(folder / "out"), **fault.told}
    with head() as first:
        words = command("10KB", "--parts", "100", runner=f"ray:{first.address}")
        with another_node(first.address, **variables):
            full = run(folder, words)
        assert (full.returncode, full.stdout) == (5, ""), full.stderr
        assert len(full.stderr.splitlines()) == 1
        assert full.stderr.endswith(": No space left on device\n")
        assert not [*(folder / "out").glob("part-*")]
        assert [*(folder / "out" / WORK).glob("*/*/*/done")]
        check(folder, run(folder, words))


@pytest.mark.stress
@as_root
def test_a_full_disk_that_all_nodes_share(folder: Path) -> None:
    """The run ends with one line; once there is room, the same command goes on."""
    (folder / "out").mkdir()
    place = str(folder / "out")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], check=True)
    try:
        with head() as first:
            words = command("100KB", "--parts", "10", runner=f"ray:{first.address}")
            full = run(folder, words)
            assert (full.returncode, full.stdout) == (5, ""), full.stderr
            assert len(full.stderr.splitlines()) == 1
            assert full.stderr.endswith(": No space left on device\n")
            assert not [*(folder / "out").glob("part-*")]
            subprocess.run(["mount", "-o", "remount,size=100m", place], check=True)
            check(folder, run(folder, words))
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.stress
def test_a_cluster_that_is_killed(folder: Path) -> None:
    """The run ends with exit 5 and a hint; the same command goes on with another cluster."""
    with head() as first:
        words = command("10KB", "--parts", "200", runner=f"ray:{first.address}")
        with subprocess.Popen(
            words, cwd=folder, stderr=subprocess.PIPE, text=True, env={**os.environ, **TOKEN}
        ) as process:
            while not [*(folder / "out" / WORK).glob("*/*/*/done")] and process.poll() is None:
                time.sleep(0.02)
            for each in descendants_of(first.process):
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            _, err = process.communicate(timeout=120)
    assert process.returncode == 5, err
    assert err.endswith("\n\nhint: the same command goes on where this one stopped\n")
    assert len(err.splitlines()) == 3
    check(folder, run(folder, command("10KB", "--parts", "200")))


def descendants_of(process: int) -> Iterator[int]:
    """The process ids of a process's descendants."""
    for child in children_of(process):
        yield child
        yield from descendants_of(child)
