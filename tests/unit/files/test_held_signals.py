"""Blocks in which signals are held."""

import signal
import threading
from collections.abc import Iterator

import pytest

from prefpairs.files.file_system import held_signals


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    before = {number: signal.getsignal(number) for number in numbers}
    # A shell starts background jobs with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _strike(number: signal.Signals) -> None:
    """Send a signal to this thread, since other threads do not hold it."""
    signal.pthread_kill(threading.get_ident(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGALRM])
def test_signal_waits_for_the_end_of_the_block(number: signal.Signals) -> None:
    """A signal is handled after the block, not before."""
    seen: list[str] = []
    signal.signal(number, lambda *_: seen.append("signal"))
    with held_signals():
        _strike(number)
        seen.append("block")
    assert seen == ["block", "signal"]


def test_interrupt_waits_for_the_end_of_the_block() -> None:
    """The same for SIGINT."""
    seen: list[str] = []

    def work() -> None:
        with held_signals():
            _strike(signal.SIGINT)
            seen.append("block")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert seen == ["block"]


def test_what_was_blocked_before_stays_blocked() -> None:
    """The block restores the previous mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        with held_signals():
            pass
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before | {signal.SIGTERM}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_error_in_the_block_lets_signals_through() -> None:
    """After an exception, no signal is held."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pytest.raises(OSError, match="full"), held_signals():
        raise OSError("full")
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
