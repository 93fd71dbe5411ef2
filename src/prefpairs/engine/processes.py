"""Worker processes: how they are started, how they send results, and how they end."""

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import msgspec

from prefpairs.files.file_system import held_signals

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import DefaultContext

T = TypeVar("T")

CAN_FORK = sys.platform == "linux"
"""Whether a new process inherits our memory. (Libraries of macOS do not survive a fork.)"""

_FILES_EACH = 6
"""Descriptors that each process takes of our limit, including some that we need ourselves."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


def processes_for(asked: int | None, amount: int, worth: int) -> int:
    """How many processes to use: the number asked for, else one a core while each is worth it.

    The limit on open files bounds it, too.
    """
    if asked is None:
        worthwhile = amount // worth
        asked = min(cores(), worthwhile) if worthwhile > 1 else 1
    if asked == 1:
        return 1
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return asked if most == resource.RLIM_INFINITY else min(asked, max(1, most // _FILES_EACH))


def cores() -> int:
    """How many cores this process may use, where the system says so."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Process:
    """A process that does one job and sends its results."""

    def __init__(
        self, work: Callable[..., None], arguments: Sequence[Any], before: "Sequence[Process]"
    ) -> None:
        """Start the process; `before` are those started earlier."""
        from multiprocessing import get_context

        context = cast("DefaultContext", get_context("fork" if CAN_FORK else "spawn"))
        self.receiver, sender = context.Pipe(duplex=False)
        # The process must not inherit our receiving ends: a sender notices that we are gone only
        # once every copy of the receiving end is closed.
        ours = [self.receiver, *(process.receiver for process in before)] if CAN_FORK else []
        self._process = context.Process(
            target=_run, args=(work, arguments, sender, ours), daemon=True
        )
        with held_signals():  # a signal in the middle of start() would leave it half done
            self._process.start()
        sender.close()

    def receive(self, kind: type[T]) -> T | None:
        """The next result; None if the process gave up or died."""
        with suppress(EOFError, OSError):
            return msgspec.msgpack.decode(self.receiver.recv_bytes(), type=kind | None)
        return None

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self.receiver.close()
        self._process.kill()
        self._process.join()


class Counter(NamedTuple):
    """A number in shared memory by which a process reports its progress."""

    counts: "memoryview | list[int]"
    place: int
    parent: int
    """The process that started the one that counts."""

    def add(self, number: int) -> None:
        """Add to the count; exit if the parent has been killed."""
        self.counts[self.place] += number
        if os.getppid() != self.parent:
            os._exit(1)


def counts_for(number: int) -> "memoryview | list[int]":
    """A shared number for each process; where processes do not fork, nothing is shared."""
    if not CAN_FORK:
        return [0] * number
    import mmap

    return memoryview(mmap.mmap(-1, 8 * max(1, number))).cast("Q")


def send(sender: "Connection", result: Any) -> None:
    """Send a result; the pipe's own `send` would pickle it."""
    sender.send_bytes(msgspec.msgpack.encode(result))


def start_processes(work: Callable[..., None], jobs: Iterable[Sequence[Any]]) -> list[Process]:
    """A process for each job, or fewer if the system does not allow more."""
    started: list[Process] = []
    with suppress(OSError):
        for arguments in jobs:
            started.append(Process(work, arguments, started))
    return started


def _run(
    work: Callable[..., None],
    arguments: Sequence[Any],
    sender: "Connection",
    others: "Sequence[Connection]",
) -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    for receiver in others:
        receiver.close()
    with suppress(Exception):  # the parent then does the job, meets the same error and reports it
        work(*arguments, sender)
