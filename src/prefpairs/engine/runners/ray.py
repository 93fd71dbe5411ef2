"""The steps of a run as plain tasks of a Ray cluster, the only module that knows Ray.

Tasks read and write files like any other process of the run: no data passes through Ray. So a
worker that dies is only a task to repeat, and a cluster that dies is a run to go on with.
"""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
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

_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client of HTTP/2, and so of a cluster, begins."""

_HTTP = b"HTTP/1"

_NO_ADDRESS = (
    "a cluster listens on port 6379 unless `ray start` named another; the address of its dashboard "
    "is for `ray job submit`"
)

_LOOK, _GONE = 5.0, 30.0
"""After how many seconds without a result we look whether the cluster's head is there, and after
how many more without an answer it has gone."""

_RETRIES = 20
"""How often a task is repeated whose worker or node died."""


class Cluster:
    """A Ray cluster that the run is connected to."""

    def __init__(self, ray: Any, address: str, head: str) -> None:
        """`head` is where the cluster's head listens."""
        self._ray = ray
        self._address = address
        self._head = head

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
                done, waiting = self._ray.wait(waiting, timeout=_LOOK)
                if done:
                    yield self._ray.get(done[0])
                else:
                    self._check()
        except self._ray.exceptions.RayError as error:
            raise _lost(self._address, error) from None

    def _check(self) -> None:
        """Raise if the head has gone: a minute later, Ray would end this process."""
        until = time.monotonic() + _GONE
        while True:
            try:
                _connected(*_host_and_port(self._head)).close()
            except OSError as error:
                if time.monotonic() > until:
                    raise _lost(self._address, error) from None
                time.sleep(1)
            else:
                return


@contextmanager
def connected(address: str | None) -> Iterator[Cluster]:
    """A cluster: the one that is named, or a new one of this machine for the time of the block."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its errors come as exceptions, too
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
                    context = ray.init(
                        address=where,
                        log_to_driver=False,
                        logging_level="ERROR",
                        **(own if where == _LOCAL else {}),
                    )
            except (OSError, RuntimeError, ValueError) as error:
                raise _unreachable(where, error) from None
            finally:
                signal.signal(signal.SIGTERM, before)  # Ray's own would leave files behind
            known = getattr(context, "address_info", {})  # not of clients: ray://HOST:PORT
            yield Cluster(ray, where, known.get("gcs_address", where))
        finally:
            ray.shutdown()


def _knock(address: str) -> None:
    """Raise if nothing listens at an address, or a web page does: Ray would wait for minutes."""
    host, port = _host_and_port(address)
    if address.startswith(("http://", "https://")) or (host and _is_web_page(host, port)):
        problem = f"--runner ray:{address}: this is the address of a web page, not of a cluster"
        raise UsageError(problem, _NO_ADDRESS)


def _host_and_port(address: str) -> tuple[str, int]:
    """Where a cluster listens, if its address says so; otherwise an empty text."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    return (host.strip("[]"), int(port)) if port.isdecimal() else ("", 0)


def _connected(host: str, port: int) -> socket.socket:
    return socket.create_connection((host, port), _PATIENCE)


def _is_web_page(host: str, port: int) -> bool:
    """Whether what listens there answers in HTTP/1, which no cluster does."""
    with _connected(host, port) as tried:
        tried.sendall(_GREETING)
        with suppress(TimeoutError):
            return tried.recv(len(_HTTP)) == _HTTP
    return False


def _unreachable(address: str, error: Exception) -> Exception:
    """The error of a cluster that we could not connect to, in one line."""
    said = getattr(error, "strerror", None) or str(error) or str(error.__context__ or "")
    words = [line.strip() for line in said.splitlines() if line.strip()]
    if words and words[0].startswith("Version mismatch:"):
        problem = f"--runner ray:{address}: {' '.join(words)}"
        hint = (
            "run the command with the Python and the Ray of the cluster, as `ray job submit` does"
        )
        return UsageError(problem, hint)
    problem = words[0] if words else type(error).__name__
    hint = (
        "`ray status` shows whether it runs; the Ray and the Python here must be those of the "
        "cluster, and its token, if it has one, goes into RAY_AUTH_TOKEN"
    )
    return ServiceUnreachable(f"Ray at {address}", problem, hint)


def _lost(address: str, error: Exception) -> ServiceUnreachable:
    """The error of a cluster, or of its workers, in the middle of a run."""
    said = getattr(error, "strerror", None) or str(error)
    words = said.strip().splitlines() or [type(error).__name__]
    return ServiceUnreachable(
        f"Ray at {address}", words[-1], "the same command goes on where this one stopped"
    )
