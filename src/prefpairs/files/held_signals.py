"""Moments in which no signal may strike: between making a file and knowing its name."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_LEAVING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM}
"""The last one is the clock of those that came while modules were loaded, and wait a little."""


@contextmanager
def held_signals() -> Iterator[None]:
    """Let signals that end the program wait until the block is done.

    This thread does not take them, but another one may. So who handles one of them looks whether
    it is blocked here, and if so sends it to this thread, where it waits.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _LEAVING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
