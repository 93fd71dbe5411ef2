"""A bar at the foot of the terminal, for runs that take long; and nothing anywhere else.

A thread of its own looks twice a second how far the run is, so that the run itself does nothing
for it. Signals are for the main thread alone, and no process is begun while there is another one.
"""

import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from stat import S_ISREG
from threading import Event, Thread

from prefpairs.cli.terminal.progress_bar import bar_line
from prefpairs.files.held_signals import held_signals
from prefpairs.files.inputs import Input
from prefpairs.files.standard_output import drawing
from prefpairs.ledger.progress import Progress, Step
from prefpairs.plan import InputPlan

AFTER = 2.0
"""So many seconds pass in silence."""

_PERIOD = 0.5
_LOOKED_BACK = 20
"""So many looks back the rate is measured: ten seconds."""
_PATIENCE = 1.0
"""A terminal that was stopped takes nothing, and nobody waits for it longer than that."""
_ERROR = 2
_COLUMNS = 80
"""How wide a terminal is that does not say."""
_CLEAR = b"\r\x1b[K"


@contextmanager
def show_progress(
    progress: Progress, inputs: Sequence[Input] = (), *, quiet: bool = False
) -> Iterator[None]:
    """Show how far a run is, as long as the block lasts. It is gone before anything else is said.

    Without inputs nobody knows how much there is to read.
    """
    if quiet or not _has_screen():
        yield
        return
    bar = _Bar(progress, inputs)
    _bars.append(bar)
    try:
        with drawing(bar.leave):
            bar.go_on()
            yield
    finally:
        bar.leave()
        _bars.remove(bar)


def read_whole(plan: InputPlan) -> Sequence[Input]:
    """The inputs of a run that reads them to their end; else nobody knows how much that is."""
    return plan.inputs if plan.limit is None else ()


def _has_screen() -> bool:
    """Whether somebody looks at standard error on a terminal where lines can be drawn anew."""
    return os.isatty(_ERROR) and os.environ.get("TERM", "dumb") not in ("", "dumb")


class _Bar:
    """A line that is drawn again and again by a thread."""

    def __init__(self, progress: Progress, inputs: Sequence[Input]) -> None:
        self._progress = progress
        self._inputs = inputs
        self._due = time.monotonic() + AFTER
        self._halted = Event()
        self._thread: Thread | None = None
        self._stands = False
        self._gone = False
        self._verb = ""
        self._seen: deque[tuple[float, int]] = deque(maxlen=_LOOKED_BACK)
        encoding = getattr(sys.stderr, "encoding", None) or "ascii"
        self._ascii_only = not encoding.lower().startswith("utf")
        self._colours = not os.environ.get("NO_COLOR")

    def go_on(self) -> None:
        """Let the thread run; it draws when it is due."""
        if self._gone:
            return
        self._halted.clear()
        self._thread = Thread(target=self._run, daemon=True)
        with held_signals():  # the thread takes over what is held, so that none comes to it
            self._thread.start()

    def halt(self) -> None:
        """End the thread; the line stays as it is."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._halted.set()
            thread.join(_PATIENCE)

    def leave(self) -> None:
        """Be gone, for good."""
        with held_signals():
            self._gone = True
            self.halt()
            if self._stands and _is_in_foreground():
                self._write(_CLEAR)
            self._stands = False

    def _run(self) -> None:
        while not self._halted.wait(max(0.0, self._due - time.monotonic())):
            self._due = time.monotonic() + _PERIOD
            with suppress(RuntimeError):  # a table that grew while its numbers were added
                self._draw(self._progress.step)

    def _draw(self, step: Step) -> None:
        if not _is_in_foreground():
            return
        if step.activity == "reading":
            step = step._replace(total=self._total)
            if step.total is None and not step.done:  # whoever writes into the pipe may be drawing
                return
        if step.total is not None:
            step = step._replace(done=min(step.done, step.total))
        rate, room = self._rate(step), (os.get_terminal_size(_ERROR).columns or _COLUMNS) - 1
        line = bar_line(step, rate, room, ascii_only=self._ascii_only, colours=self._colours)
        self._stands = True
        self._write(b"\r" + line.encode() + b"\x1b[K\r")

    def _rate(self, step: Step) -> float | None:
        """How much was done in a second of late."""
        if step.activity != self._verb:
            self._verb = step.activity
            self._seen.clear()
        self._seen.append((time.monotonic(), step.done))
        (begun, before), (now, done) = self._seen[0], self._seen[-1]
        return (done - before) / (now - begun) if now > begun and done >= before else None

    @cached_property
    def _total(self) -> int | None:
        """How long all inputs are together, if each is a file that has an end."""
        total = 0
        for given in self._inputs:
            try:
                status = os.fstat(0) if given.is_stdin else os.stat(given.path)
            except OSError:
                return None
            if not S_ISREG(status.st_mode):
                return None
            total += status.st_size
        return total or None

    @staticmethod
    def _write(text: bytes) -> None:
        with suppress(OSError):
            os.write(_ERROR, text)


_bars: list[_Bar] = []


def _halt_all() -> None:
    for bar in _bars:
        bar.halt()


def _go_on_all() -> None:
    for bar in _bars:
        bar.go_on()


os.register_at_fork(before=_halt_all, after_in_parent=_go_on_all)


def _is_in_foreground() -> bool:
    """Whether the terminal is ours, rather than that of a shell that waits behind us."""
    try:
        return os.tcgetpgrp(_ERROR) == os.getpgrp()
    except OSError:
        return True
