"""Processes beside ours: how they are begun, heard and ended."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import DefaultContext

CAN_FORK = sys.platform == "linux"
"""Whether a process begins with all that we know. (macOS has libraries that do not survive it.)"""

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


def cores() -> int:
    """How many cores we may use, where the system says so."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
        self._process.start()
        sender.close()

    def hear(self) -> Any:
        """The next thing it tells; nothing if it gave up or died."""
        with suppress(EOFError, OSError):
            return self.receiver.recv()
        return None

    def end(self) -> None:
        """Whatever it still does is not wanted any more."""
        self.receiver.close()
        self._process.kill()
        self._process.join()


def _begin(
    work: Callable[..., None],
    arguments: Sequence[Any],
    sender: "Connection",
    others: "Sequence[Connection]",
) -> None:
    for ending in _ENDINGS:
        signal.signal(ending, signal.SIG_DFL)
    for receiver in others:
        receiver.close()
    with suppress(Exception):  # whoever does its work instead will meet it, too, and tell it
        work(*arguments, sender)
