"""Somebody else's program (a chat template, a tokenizer) in a process of its own, with limits.

Whatever it does there, in Python or below it, ends with an answer or with `OverBudget`. Where a
process cannot be forked safely (macOS) it runs in ours, without limits.
"""

import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

SECONDS, MEMORY = 10, 1_000_000_000
"""What one answer may take of the processor, and what all of them may take of memory."""

_FORKS = sys.platform == "linux"
_LENGTH = 8
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
_DONE, _REFUSED, _FULL = b"+", b"-", b"m"

Answer = Callable[[bytes], bytes]


class OverBudget(Exception):
    """It took more time or memory than it may, or broke its process; `problem` says which."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class Refusal(Exception):
    """It answered with an exception, of which this is the text."""


class _Child(NamedTuple):
    """The process, and the ends of two pipes to it. Only its `owner` may use them."""

    pid: int
    ask: int
    hear: int
    owner: int


class Limited:
    """A function from bytes to bytes that is not trusted. `begin` makes it, in the process."""

    def __init__(self, begin: Callable[[], Answer], seconds: float = SECONDS) -> None:
        self._begin = begin
        self._seconds = seconds
        self._child: _Child | None = None
        self._here: Answer | None = None

    def __call__(self, question: bytes) -> bytes:
        """The answer; raises Refusal or OverBudget."""
        if not _FORKS:
            return self._answer_here(question)
        if self._child is None or self._child.owner != os.getpid():
            self._child = self._forked()
        try:
            _write(self._child.ask, question)
            how, answer = _read(self._child.hear)
        except (EOFError, BrokenPipeError):
            raise OverBudget(self._why()) from None
        if how == _FULL:
            self.close()
            raise OverBudget(_TOO_LARGE)
        if how == _REFUSED:
            raise Refusal(answer.decode("utf-8", "replace"))
        return answer

    def _answer_here(self, question: bytes) -> bytes:
        if self._here is None:
            self._here = self._begin()
        how, answer = _answered(self._here, question)
        if how == _DONE:
            return answer
        raise OverBudget(_TOO_LARGE) if how == _FULL else Refusal(answer.decode("utf-8", "replace"))

    def _forked(self) -> _Child:
        theirs, ask = os.pipe()
        hear, tell = os.pipe()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
        pid = os.fork()
        if pid == 0:
            with suppress(BaseException):
                _serve(self._begin, theirs, tell, self._seconds)
            os._exit(1)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(theirs)
        os.close(tell)
        return _Child(pid, ask, hear, os.getpid())

    def _why(self) -> str:
        """Why the process is gone."""
        child, self._child = self._child, None
        status = 0
        if child is not None:
            _close(child)
            _, status = os.waitpid(child.pid, 0)
        late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
        return f"it takes more than {self._seconds:g} seconds" if late else _TOO_LARGE

    def close(self) -> None:
        """No more questions."""
        child, self._child = self._child, None
        if child is not None:
            _close(child)
            if child.owner == os.getpid():
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)

    def __del__(self) -> None:
        """Nobody can ask any more."""
        with suppress(Exception):
            self.close()


_TOO_LARGE = f"it takes more than {MEMORY // 10**9} GB of memory, or crashes"


def _serve(begin: Callable[[], Answer], asked: int, told: int, seconds: float) -> None:
    """Answer until nobody asks any more. What the process has from its parent is let go."""
    for ending in _ENDINGS:
        signal.signal(ending, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS)
    first, second = sorted((asked, told))
    os.closerange(0, first)
    os.closerange(first + 1, second)
    os.closerange(second + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    _limit_memory()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    answer: Answer | None = None
    with suppress(EOFError):
        while True:
            question = _read_block(asked)
            signal.setitimer(signal.ITIMER_PROF, seconds)
            answer = answer or begin()
            how, found = _answered(answer, question)
            _write(told, how + found)


def _limit_memory() -> None:
    with open("/proc/self/statm", encoding="ascii") as file:
        most = int(file.read().split()[0]) * resource.getpagesize() + MEMORY
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        most = min(most, soft)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _answered(answer: Answer, question: bytes) -> tuple[bytes, bytes]:
    try:
        return _DONE, answer(question)
    except MemoryError:
        return _FULL, b""
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return _REFUSED, str(error)[:500].encode("utf-8", "replace")


def _close(child: _Child) -> None:
    os.close(child.ask)
    os.close(child.hear)


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(len(data).to_bytes(_LENGTH, "little") + data)
    while view:
        view = view[os.write(pipe, view) :]


def _read(pipe: int) -> tuple[bytes, bytes]:
    block = _read_block(pipe)
    return block[:1], block[1:]


def _read_block(pipe: int) -> bytes:
    return _exactly(pipe, int.from_bytes(_exactly(pipe, _LENGTH), "little"))


def _exactly(pipe: int, count: int) -> bytes:
    parts = []
    while count:
        part = os.read(pipe, min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
