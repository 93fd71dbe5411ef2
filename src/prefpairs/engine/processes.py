"""Processes beside ours: how they are begun, heard and ended."""

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import msgspec

from prefpairs.files.held_signals import held_signals

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import DefaultContext

T = TypeVar("T")

CAN_FORK = sys.platform == "linux"
"""Whether a process begins with all that we know. (macOS has libraries that do not survive it.)"""

_FILES_EACH = 6
"""Descriptors that a process takes of ours, some of those that we need ourselves included."""

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


def processes_for(asked: int | None, amount: int, worth: int) -> int:
    """How many processes to have: as many as are asked for, else one a core that is worth it.

    Never more than may be open at once.
    """
    if asked is None:
        worthy = amount // worth
        asked = min(_cores(), worthy) if worthy > 1 else 1
    if asked == 1:
        return 1
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return asked if most == resource.RLIM_INFINITY else min(asked, max(1, most // _FILES_EACH))


def _cores() -> int:
    """How many cores we may use, where the system says so."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ProcessLost(Exception):
    """A process ended before it had told all it found."""


class Process:
    """A process that does one thing and tells what it found."""

    def __init__(
        self, work: Callable[..., None], arguments: Sequence[Any], before: "Sequence[Process]"
    ) -> None:
        """Begin to work; `before` are those that were begun earlier."""
        from multiprocessing import get_context

        context = cast("DefaultContext", get_context("fork" if CAN_FORK else "spawn"))
        self.receiver, sender = context.Pipe(duplex=False)
        # The ends that we hear at must not stay open there: if we go, a process must see that
        # nobody will ever read what it sends.
        ours = [self.receiver, *(process.receiver for process in before)] if CAN_FORK else []
        self._process = context.Process(
            target=_begin, args=(work, arguments, sender, ours), daemon=True
        )
        with held_signals():  # not all that happens then can be left halfway
            self._process.start()
        sender.close()

    def hear(self, kind: type[T]) -> T | None:
        """The next thing it tells; nothing if it gave up or died."""
        with suppress(EOFError, OSError):
            return msgspec.msgpack.decode(self.receiver.recv_bytes(), type=kind | None)
        return None

    def pieces(self) -> Iterator[bytes]:
        """What it tells as plain bytes; ProcessLost where it dies before the last of them."""
        while True:
            try:
                yield self.receiver.recv_bytes()
            except (EOFError, OSError):
                raise ProcessLost from None

    def end(self) -> None:
        """Whatever it still does is not wanted any more."""
        self.receiver.close()
        self._process.kill()
        self._process.join()


class Counter(NamedTuple):
    """Where a process counts what it has done, for us to see."""

    counts: "memoryview | list[int]"
    place: int
    parent: int
    """The process that began the one that counts."""

    def add(self, number: int) -> None:
        """Count so many more; end here if the parent was killed, which wants nothing any more."""
        self.counts[self.place] += number
        if os.getppid() != self.parent:
            os._exit(1)


def counts_for(number: int) -> "memoryview | list[int]":
    """A count for each of so many processes; those that are not forked count for themselves."""
    if not CAN_FORK:
        return [0] * number
    import mmap

    return memoryview(mmap.mmap(-1, 8 * max(1, number))).cast("Q")


def tell(sender: "Connection", found: Any) -> None:
    """Say what was found; not by the pipe's own `send`, which pickles."""
    sender.send_bytes(msgspec.msgpack.encode(found))


def begin(work: Callable[..., None], jobs: Iterable[Sequence[Any]]) -> list[Process]:
    """A process for each job, or for as many of the first as the system allows."""
    begun: list[Process] = []
    with suppress(OSError):
        for arguments in jobs:
            begun.append(Process(work, arguments, begun))
    return begun


def _begin(
    work: Callable[..., None],
    arguments: Sequence[Any],
    sender: "Connection",
    others: "Sequence[Connection]",
) -> None:
    for ending in _ENDINGS:
        signal.signal(ending, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS)
    for receiver in others:
        receiver.close()
    with suppress(Exception):  # whoever does its work instead will meet it, too, and tell it
        work(*arguments, sender)
