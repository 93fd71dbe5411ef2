"""Blocks that signals must not interrupt, such as creating a file and storing its name."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_LEAVING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM}
"""SIGALRM is the timer that delivers signals which arrived while modules were being imported."""


@contextmanager
def held_signals() -> Iterator[None]:
    """Delay signals that end the program until the block is done.

    This thread does not receive them, but another one may. So the handler checks whether the signal
    is blocked here, and if so sends it to this thread, where it waits.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _LEAVING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
