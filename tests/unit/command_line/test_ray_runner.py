"""How the Ray runner calls Ray and reports Ray's errors; tested with a fake Ray."""

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from prefpairs.cli.main import main
from prefpairs.cli.run_in_steps import step_elsewhere
from prefpairs.engine.runners.ray import connected
from prefpairs.errors import PrefpairsError, ServiceUnreachable, UsageError

MISMATCH = """Version mismatch: The cluster was started with:
    Ray: 2.55.1
    Python: 3.10.14
This process on node 10.0.0.1 was started with:
    Ray: 2.60.0
    Python: 3.10.15
"""


class RayError(Exception):
    """Replaces ray.exceptions.RayError."""


class StandIn(ModuleType):
    """A fake Ray that runs tasks in this process."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self) -> None:
        super().__init__("ray")
        self.asked: dict[str, Any] = {}
        self.names: list[str] = []
        self.fails: Exception | None = None
        self.ended = 0
        self.waits = 0
        self.knocks: list[tuple[str, int]] = []
        self.refused = {1}
        self.held: list[socket.socket] = []

    def knocked_at(self, address: tuple[str, int], _: float) -> Any:
        """Connections succeed, except to some ports; at port 8265, there is a web page."""
        self.knocks.append(address)
        if address[1] in self.refused:
            raise ConnectionRefusedError(111, "Connection refused")
        ours, theirs = socket.socketpair()
        theirs.sendall(b"HTTP/1.0 400 Bad Request" if address[1] == 8265 else bytes(9))
        self.held.append(theirs)
        return ours

    def init(self, **asked: Any) -> Any:
        """Record the arguments, replace the signal handler, and fail if asked to."""
        self.asked = asked
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self.fails is not None:
            raise self.fails
        return SimpleNamespace(address_info={"gcs_address": "10.0.0.9:6379"})

    def shutdown(self) -> None:
        """Count the calls."""
        self.ended += 1

    def remote(self, do: Callable[..., Any]) -> Any:
        """Return a remote function, which records the names of its tasks."""

        def options(**asked: Any) -> Any:
            self.names.append(asked["name"])
            return SimpleNamespace(remote=lambda *words: (do, words))

        return SimpleNamespace(options=options)

    def wait(self, waiting: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        """Return the last task as done, after so many waits in vain."""
        assert timeout < 60
        if self.waits:
            self.waits -= 1
            return [], waiting
        return waiting[-1:], waiting[:-1]

    def get(self, one: Any) -> Any:
        """Run the task."""
        do, words = one
        return do(*words)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """The fake, imported in place of Ray."""
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "ray", stand_in)
    monkeypatch.setattr(socket, "create_connection", stand_in.knocked_at)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    monkeypatch.setenv("RAY_BACKEND_LOG_LEVEL", "info")
    before = signal.getsignal(signal.SIGTERM)
    yield stand_in
    signal.signal(signal.SIGTERM, before)
    for held in stand_in.held:
        held.close()


def failed(address: str | None, work: Callable[[Any], Any] = bool) -> PrefpairsError:
    """The error of a failed run."""
    with pytest.raises(PrefpairsError) as caught, connected(address) as cluster:
        work(cluster)
    return caught.value


def test_a_cluster_is_started_only_if_none_is_named(
    ray: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address is preferred to RAY_ADDRESS; without either, a local cluster is started."""
    with connected(None):
        assert ray.asked["address"] == "local"
        assert ray.asked["include_dashboard"] is False
        assert ray.asked["num_cpus"] >= 1
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    with connected(None):
        assert ray.asked.keys() == {"address", "log_to_driver", "logging_level"}
        assert (ray.asked["address"], ray.asked["log_to_driver"]) == ("10.0.0.1:6379", False)
    with connected("10.0.0.2:6379"):
        assert ray.asked["address"] == "10.0.0.2:6379"
    assert ray.ended == 3
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_ray_prints_nothing(ray: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's C++ code would log on stderr; a level that the user chose remains."""
    with connected(None):
        assert os.environ["RAY_BACKEND_LOG_LEVEL"] == "info"
    monkeypatch.delenv("RAY_BACKEND_LOG_LEVEL")
    with connected(None):
        assert os.environ["RAY_BACKEND_LOG_LEVEL"] == "fatal"
    assert ray.asked["log_to_driver"] is False


def test_signals_remain_ours(ray: StandIn) -> None:
    """The SIGTERM handler is restored, since Ray's would leave temporary files behind."""
    before = signal.getsignal(signal.SIGTERM)
    with connected(None):
        assert signal.getsignal(signal.SIGTERM) == before
    assert ray.ended


def test_tasks_have_names(ray: StandIn) -> None:
    """Tasks have the names of their steps, which the dashboard and `ps` show."""
    with connected(None) as cluster:
        done = [*cluster.results("prefpairs index", max, [(1, 4), (1, 7)])]
    assert (done, ray.names) == ([7, 4], ["prefpairs index 4", "prefpairs index 7"])


def test_versions_that_differ(ray: StandIn) -> None:
    """Different versions are a usage error in one line, with a hint."""
    ray.fails = RuntimeError(MISMATCH)
    error = failed("10.0.0.1:6379")
    assert isinstance(error, UsageError)
    assert error.problem == (
        "--runner ray:10.0.0.1:6379: Version mismatch: The cluster was started with: Ray: 2.55.1 "
        "Python: 3.10.14 This process on node 10.0.0.1 was started with: Ray: 2.60.0 "
        "Python: 3.10.15"
    )
    assert error.hint is not None
    assert "`ray job submit`" in error.hint
    assert ray.ended


@pytest.mark.parametrize("error", [ConnectionError("no GCS\nat all"), ValueError(""), OSError()])
def test_a_cluster_that_is_not_there(error: Exception, ray: StandIn) -> None:
    """If the connection fails, the error is the first line of Ray's message."""
    ray.fails = error
    said = failed("10.0.0.1:6379")
    assert isinstance(said, ServiceUnreachable)
    first = str(error).partition("\n")[0] or type(error).__name__
    assert (said.step, said.problem) == ("Ray at 10.0.0.1:6379", first)


@pytest.mark.parametrize("address", ["10.0.0.1:1", "ray://10.0.0.1:1", "[::1]:1"])
def test_nothing_listens(address: str, ray: StandIn) -> None:
    """If nothing listens at the address, Ray is not called, since it would wait for minutes."""
    said = failed(address)
    assert isinstance(said, ServiceUnreachable)
    assert (said.step, said.problem) == (f"Ray at {address}", "Connection refused")
    assert ray.asked == {}


def test_ray_may_hide_what_it_says(ray: StandIn) -> None:
    """Of an error without words, those of the error before it are printed."""
    ray.fails = ConnectionError()
    ray.fails.__context__ = ConnectionError("Did GCS start?\nSee logs.")
    said = failed("10.0.0.1:6379")
    assert isinstance(said, ServiceUnreachable)
    assert said.problem == "Did GCS start?"
    assert "the Ray and the Python here must be those of the cluster" in str(said.hint)


@pytest.mark.parametrize("address", ["10.0.0.1:8265", "http://10.0.0.1:80", "https://ray.example"])
def test_a_web_page_is_no_cluster(address: str, ray: StandIn) -> None:
    """The address of the dashboard is refused before Ray waits for minutes."""
    said = failed(address)
    assert isinstance(said, UsageError)
    problem = f"--runner ray:{address}: this is the address of a web page, not of a cluster"
    assert said.problem == problem
    assert "port 6379" in str(said.hint)
    assert ray.asked == {}


def test_a_long_step(ray: StandIn) -> None:
    """If no step ends for a while, the cluster's head is asked whether it is there."""
    ray.waits = 2
    with connected(None) as cluster:
        assert [*cluster.results("prefpairs index", max, [(1, 4)])] == [4]
    assert ray.knocks == [("10.0.0.9", 6379)] * 2


def test_a_head_that_has_gone(ray: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends before Ray ends the process, with the hint that it can be resumed."""
    monkeypatch.setattr("prefpairs.engine.runners.ray._GONE", 0)
    ray.waits = 1
    ray.refused.add(6379)
    said = failed(None, lambda cluster: [*cluster.results("prefpairs index", max, [(1, 4)])])
    assert isinstance(said, ServiceUnreachable)
    assert (said.problem, said.hint) == (
        "Connection refused",
        "the same command goes on where this one stopped",
    )
    assert ray.ended


def test_a_cluster_that_is_lost(ray: StandIn) -> None:
    """The hint says that the same command resumes the run."""

    def work(cluster: Any) -> None:
        def lost(_: int) -> None:
            message = "Task failed.\nThe worker died."
            raise RayError(message)

        [*cluster.results("prefpairs index", lost, [(1,)])]

    said = failed(None, work)
    assert isinstance(said, ServiceUnreachable)
    assert (said.problem, said.hint) == (
        "The worker died.",
        "the same command goes on where this one stopped",
    )
    assert ray.ended


def test_ray_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint installs Ray with a lower bound on its version, but no upper one."""
    monkeypatch.setitem(sys.modules, "ray", None)
    error = failed(None)
    assert isinstance(error, UsageError)
    assert str(error.hint).endswith("'ray>=2.44'")


def test_no_shared_file_system(tmp_path: Path) -> None:
    """The error names the node that cannot read the plan of the steps."""
    failure = step_elsewhere(str(tmp_path / "out"), 1, 0)
    assert failure is not None
    words, code = failure
    assert code == 2
    assert words.startswith(f"error: {tmp_path}/out is not there on the node ")
    assert "hint: inputs and --out-dir must be on a file system that all nodes share\n" in words


def test_inputs_that_a_node_does_not_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The error names the file and the node."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"prompt": "Q", "response": "A", "score": 1}\n')
    words = ["pair", "--runner", "shards", "--order", "key", "--out-dir", "out", "rows.jsonl"]
    assert main(words) == 0
    (tmp_path / "rows.jsonl").rename(tmp_path / "elsewhere")
    failure = step_elsewhere(str(tmp_path / "out"), 1, 0)
    assert failure is not None
    assert failure[0].startswith(f"error: {tmp_path}/rows.jsonl is not there on the node ")
    assert failure[1] == 2
    capfd.readouterr()
