"""A progress bar for long runs, on terminals only.

A separate thread looks at the progress twice a second, so the run itself pays nothing for it. Only
the main thread receives signals, and the thread ends before each fork.
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

from prefpairs.files.file_system import held_signals
from prefpairs.files.input_file import Input
from prefpairs.files.standard_output import drawing
from prefpairs.ledger import Progress, Step
from prefpairs.plan import InputPlan

AFTER = 2.0
"""Seconds before the bar appears."""

_PERIOD = 0.5
_LOOKED_BACK = 20
"""The number of measurements for the rate, which cover ten seconds."""
_PATIENCE = 1.0
"""How long to wait for a thread that writes to a stopped terminal."""
_ERROR = 2
_COLUMNS = 80
"""The width of a terminal that does not report it."""
_CLEAR = b"\r\x1b[K"

_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes"))
_WIDEST, _NARROWEST = 30, 8
_GAP = "  "
_COLOUR, _DIM, _PLAIN = "\x1b[36m", "\x1b[2m", "\x1b[0m"


@contextmanager
def show_progress(
    progress: Progress, inputs: Sequence[Input] = (), *, quiet: bool = False
) -> Iterator[None]:
    """Show the progress of a run during the block.

    Without inputs, the total size is unknown.
    """
    if quiet or not _has_screen():
        yield
        return
    bar = _Bar(progress, inputs)
    _bars.append(bar)
    try:
        with drawing(bar.remove):
            bar.start()
            yield
    finally:
        bar.remove()
        _bars.remove(bar)


def inputs_to_measure(plan: InputPlan) -> Sequence[Input]:
    """The inputs, if the run reads them to their end; otherwise the total is unknown."""
    return plan.inputs if plan.limit is None else ()


def _has_screen() -> bool:
    """Whether standard error is a terminal on which a line can be redrawn."""
    return os.isatty(_ERROR) and os.environ.get("TERM", "dumb") not in ("", "dumb")


class _Bar:
    """A line that a thread redraws."""

    def __init__(self, progress: Progress, inputs: Sequence[Input]) -> None:
        self._progress = progress
        self._inputs = inputs
        self._due = time.monotonic() + AFTER
        self._stopped = Event()
        self._thread: Thread | None = None
        self._visible = False
        self._gone = False
        self._verb = ""
        self._seen: deque[tuple[float, int]] = deque(maxlen=_LOOKED_BACK)
        encoding = getattr(sys.stderr, "encoding", None) or "ascii"
        self._ascii_only = not encoding.lower().startswith("utf")
        self._colours = not os.environ.get("NO_COLOR")

    def start(self) -> None:
        """Start the thread."""
        if self._gone:
            return
        self._stopped.clear()
        self._thread = Thread(target=self._run, daemon=True)
        with held_signals():  # the thread inherits the blocked signals
            self._thread.start()

    def stop(self) -> None:
        """End the thread; the line remains."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stopped.set()
            thread.join(_PATIENCE)

    def remove(self) -> None:
        """Remove the line for good."""
        with held_signals():
            self._gone = True
            self.stop()
            if self._visible and _is_in_foreground():
                self._write(_CLEAR)
            self._visible = False

    def _run(self) -> None:
        while not self._stopped.wait(max(0.0, self._due - time.monotonic())):
            self._due = time.monotonic() + _PERIOD
            with suppress(RuntimeError):  # a dict that changed size while it was read
                self._draw(self._progress.step)

    def _draw(self, step: Step) -> None:
        if not _is_in_foreground():
            return
        if step.activity == "reading":
            step = step._replace(total=self._total)
            if step.total is None and not step.done:  # the writer of the pipe may show a bar
                return
        if step.total is not None:
            step = step._replace(done=min(step.done, step.total))
        rate, room = self._rate(step), (os.get_terminal_size(_ERROR).columns or _COLUMNS) - 1
        line = bar_line(step, rate, room, ascii_only=self._ascii_only, colours=self._colours)
        self._visible = True
        self._write(b"\r" + line.encode() + b"\x1b[K\r")

    def _rate(self, step: Step) -> float | None:
        """Recent units per second."""
        if step.activity != self._verb:
            self._verb = step.activity
            self._seen.clear()
        self._seen.append((time.monotonic(), step.done))
        (begun, before), (now, done) = self._seen[0], self._seen[-1]
        return (done - before) / (now - begun) if now > begun and done >= before else None

    @cached_property
    def _total(self) -> int | None:
        """The total size of the inputs, if all are regular files."""
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


def _stop_all() -> None:
    for bar in _bars:
        bar.stop()


def _start_all() -> None:
    for bar in _bars:
        bar.start()


os.register_at_fork(before=_stop_all, after_in_parent=_start_all)


def _is_in_foreground() -> bool:
    """Whether this process is in the foreground of the terminal."""
    try:
        return os.tcgetpgrp(_ERROR) == os.getpgrp()
    except OSError:
        return True


def bar_line(step: Step, rate: float | None, room: int, *, ascii_only: bool, colours: bool) -> str:
    """The progress of a step as a line of at most `room` characters.

    >>> step = Step("reading", 600_000_000, 2_400_000_000, "bytes")
    >>> bar_line(step, 360e6, 64, ascii_only=True, colours=False)
    'reading  ###----------   25%  0.6 of 2.4 GB  360 MB/s  0:05 left'
    >>> bar_line(Step("reading", 5_000, None, "bytes"), None, 64, ascii_only=True, colours=False)
    'reading  5.0 kB'
    """
    parts = _parts(step, rate)
    while len(parts) > 1 and len(_GAP.join(parts.values())) > room:
        parts.pop(next(name for name in _FIRST_TO_GO if name in parts))
    words = [*parts.values()]
    left = room - len(_GAP.join(words)) - len(_GAP)
    if step.total and left >= _NARROWEST:
        width = min(left, _WIDEST)
        words.insert(1, _draw_bar(step.done / step.total, width, ascii_only, colours=colours))
    return _GAP.join(words)[: None if colours else room]


_FIRST_TO_GO = ("amount", "rate", "left", "share")


def _parts(step: Step, rate: float | None) -> dict[str, str]:
    """The parts of the line, in order."""
    parts: dict[str, str] = {"verb": step.activity}
    if step.total:
        parts["share"] = f"{int(100 * step.done / step.total):3}%"
    parts["amount"] = _amount(step)
    if rate is not None:
        parts["rate"] = f"{_scaled(rate, step.unit) if step.unit == 'bytes' else f'{rate:,.0f}'}/s"
        if step.total and rate > 0:
            parts["left"] = f"{_clock((step.total - step.done) / rate)} left"
    return parts


def _amount(step: Step) -> str:
    """The amount done and the total, in one unit."""
    if step.total is None:
        return _scaled(step.done, step.unit)
    total, unit = _scaled(step.total, step.unit).split(" ")
    done = _scaled(step.done, step.unit, like=step.total).split(" ")[0]
    return f"{done:>{len(total)}} of {total} {unit}"  # keeps the length of the bar constant


def _scaled(number: float, unit: str, like: float | None = None) -> str:
    """A number with its unit; bytes are scaled like `like`, by default like the number."""
    if unit != "bytes":
        return f"{number:,.0f} {unit}"
    suits = number if like is None else like
    size, name = next(one for one in _SIZES if suits >= one[0] or one[0] == 1)
    digits = 1 if size > 1 and suits < 10 * size else 0
    return f"{number / size:.{digits}f} {name}"


def _clock(seconds: float) -> str:
    """A duration like a clock.

    >>> _clock(5), _clock(125), _clock(3 * 3600 + 62)
    ('0:05', '2:05', '3:01:02')
    """
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _draw_bar(share: float, width: int, ascii_only: bool, *, colours: bool) -> str:
    full = int(share * width)
    done, rest = ("#", "-") if ascii_only else ("━", "─")
    if not colours:
        return done * full + rest * (width - full)
    return f"{_COLOUR}{done * full}{_DIM}{rest * (width - full)}{_PLAIN}"
