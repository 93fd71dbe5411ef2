"""A Ray cluster of this machine, and what its processes cost while a run lasts."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread

from bench.results import Cost

OBJECT_STORE = 100_000_000
PATIENCE = 60.0
"""Seconds that a cluster has to start."""

INTERVAL = 0.1
"""Seconds between two looks at the processes."""

PROCESSES = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class RayCluster:
    """A cluster that runs."""

    address: str
    variables: dict[str, str]
    """The environment of its clients."""
    process: int
    """The process that all others descend from."""

    @contextmanager
    def watched(self) -> Iterator["Watch"]:
        """Look at the processes while the block lasts: Ray ends its workers with each run."""
        watch = Watch(self.process)
        watch.start()
        try:
            yield watch
        finally:
            watch.done.set()
            watch.join()


class Watch(Thread):
    """Looks at the processes of a cluster again and again."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.done = Event()
        self._root = root
        self._before = {process: _cpu(process) for process in _tree(root)}
        self._cpu: dict[int, float] = {}
        self._peak = 0

    def run(self) -> None:
        """Note what each process has taken so far."""
        while True:
            ended = self.done.wait(INTERVAL)
            for process in _tree(self._root):
                self._cpu[process] = max(_cpu(process), self._cpu.get(process, 0))
                self._peak = max(self._peak, _peak(process))
            if ended:
                return

    def added_to(self, driver: Cost) -> Cost:
        """The cost of a run whose driver had this one."""
        cpu = sum(last - self._before.get(process, 0) for process, last in self._cpu.items())
        return Cost(wall=driver.wall, cpu=driver.cpu + cpu, peak=max(driver.peak, self._peak))


@contextmanager
def ray_cluster(cpus: int) -> Iterator[RayCluster]:
    """Start a cluster for the time of the block."""
    port = _free_port()
    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token_hex(16)}
    ray = str(Path(sys.executable).parent / "ray")
    words = ["--head", "--block", "--port", str(port), "--num-cpus", str(cpus)]
    words += ["--node-ip-address", "127.0.0.1", "--object-store-memory", str(OBJECT_STORE)]
    words += ["--include-dashboard", "false", "--disable-usage-stats"]
    process = subprocess.Popen(
        [ray, "start", *words],
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for(port)
        yield RayCluster(f"127.0.0.1:{port}", variables, process.pid)
    finally:
        descendants = _tree(process.pid)[1:]
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        process.kill()
        process.wait()
        for descendant in descendants:
            with suppress(ProcessLookupError):
                os.kill(descendant, signal.SIGKILL)


def _free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait_for(port: int) -> None:
    """Wait until something listens on a port."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with socket.socket() as tried:
            if not tried.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.2)


def _tree(root: int) -> list[int]:
    """A process and its descendants."""
    parents = {}
    for path in PROCESSES.glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(_stat(path)[1])
    tree = [root]
    for process in tree:
        tree += [child for child, parent in parents.items() if parent == process]
    return tree


def _stat(path: Path) -> list[str]:
    """The fields after the name, which may contain spaces."""
    return path.read_text("utf-8", "replace").rpartition(")")[2].split()


def _cpu(process: int) -> float:
    """CPU seconds of a process."""
    with suppress(OSError):
        return sum(map(int, _stat(PROCESSES / str(process) / "stat")[11:13])) / TICKS
    return 0.0


def _peak(process: int) -> int:
    """Peak memory of a process in bytes."""
    with suppress(OSError):
        for line in (PROCESSES / str(process) / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
