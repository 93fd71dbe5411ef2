"""The steps of a run as plain tasks of a Ray cluster, the only module that knows Ray.

Tasks read and write files like any other process of the run: no data passes through Ray. So a
worker that dies is only a task to repeat, and a cluster that dies is a run to go on with.
"""

import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from prefpairs.engine.processes import cores
from prefpairs.errors import ServiceUnreachable, UsageError
from prefpairs.files.standard_output import discarded
from prefpairs.optional_libraries import missing_library

ADDRESS = "RAY_ADDRESS"

_LOCAL = "local"
_OBJECT_STORE = 80_000_000
"""About the least that Ray takes: what tasks return is a few bytes."""

_PATIENCE = 10.0
"""Seconds that a cluster has for its first answer."""

_RETRIES = 20
"""How often a task is repeated whose worker or node died."""


class Cluster:
    """A Ray cluster that the run is connected to."""

    def __init__(self, ray: Any, address: str) -> None:
        self._ray = ray
        self._address = address

    def results(
        self, name: str, do: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Do jobs as tasks, all at a time; their results, as they come."""
        task = self._ray.remote(do)
        waiting = [
            task.options(name=f"{name} {job[-1]}", num_cpus=1, max_retries=_RETRIES).remote(*job)
            for job in jobs
        ]
        try:
            while waiting:
                done, waiting = self._ray.wait(waiting)
                yield self._ray.get(done[0])
        except self._ray.exceptions.RayError as error:
            raise _lost(self._address, error) from None


@contextmanager
def connected(address: str | None) -> Iterator[Cluster]:
    """A cluster: the one that is named, or a new one of this machine for the time of the block."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ModuleNotFoundError:
        raise missing_library("--runner ray", "ray") from None
    where = address or os.environ.get(ADDRESS) or _LOCAL
    own = {"num_cpus": cores(), "object_store_memory": _OBJECT_STORE, "include_dashboard": False}
    before = signal.getsignal(signal.SIGTERM)
    with discarded(1):  # Ray prints there that a worker died
        try:
            try:
                _knock(where)
                with discarded(2):  # what Ray's C++ code logs there is in its exceptions, too
                    ray.init(
                        address=where,
                        log_to_driver=False,
                        logging_level="ERROR",
                        **(own if where == _LOCAL else {}),
                    )
            except (OSError, RuntimeError, ValueError) as error:
                raise _unreachable(where, error) from None
            finally:
                signal.signal(signal.SIGTERM, before)  # Ray's own would leave files behind
            yield Cluster(ray, where)
        finally:
            ray.shutdown()


def _knock(address: str) -> None:
    """Raise OSError if nothing listens at an address: Ray would wait for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()


def _unreachable(address: str, error: Exception) -> Exception:
    """The error of a cluster that we could not connect to, in one line."""
    said = getattr(error, "strerror", None) or str(error)
    words = [line.strip() for line in said.splitlines() if line.strip()]
    if words and words[0].startswith("Version mismatch:"):
        problem = f"--runner ray:{address}: {' '.join(words)}"
        hint = (
            "run the command with the Python and the Ray of the cluster, as `ray job submit` does"
        )
        return UsageError(problem, hint)
    problem = words[0] if words else type(error).__name__
    hint = "`ray status` shows whether it runs; its token, if it has one, goes into RAY_AUTH_TOKEN"
    return ServiceUnreachable(f"Ray at {address}", problem, hint)


def _lost(address: str, error: Exception) -> ServiceUnreachable:
    """The error of a cluster, or of its workers, in the middle of a run."""
    words = str(error).strip().splitlines() or [type(error).__name__]
    return ServiceUnreachable(
        f"Ray at {address}", words[-1], "the same command goes on where this one stopped"
    )
