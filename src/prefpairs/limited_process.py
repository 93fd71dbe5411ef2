"""Untrusted code (a chat template, a tokenizer) in a separate process with limits.

Whatever happens there, even a crash, ends with an answer or with `OverBudget`. If another program
kills the process, it is asked once more. On systems where forking is not safe (macOS), the code
runs in our process, without limits.
"""

import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from prefpairs.errors import FileError
from prefpairs.model.memory_guard import memory_taken

SECONDS, MEMORY = 10, 1_000_000_000
"""The CPU time that one answer may take, and the memory for all of them."""

_FORKS = sys.platform == "linux"
_LENGTH = 8
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
_FROM_OUTSIDE = (signal.SIGKILL, *_ENDINGS)
"""Signals that our limits do not send, but the user or the system (out of memory)."""
_DONE, _REFUSED, _FULL = b"+", b"-", b"m"

Answer = Callable[[bytes], bytes]


class OverBudget(Exception):
    """It exceeded its limits or crashed; `problem` says which."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class _Killed(Exception):
    """Another program killed the process, so this is not the fault of the code."""


class Refusal(Exception):
    """It raised an exception; this is its text."""


class _Child(NamedTuple):
    """The process, and our ends of two pipes. Only the process `owner` may use them."""

    pid: int
    ask: int
    hear: int
    owner: int


class Limited:
    """An untrusted function from bytes to bytes. `begin` creates it in the other process."""

    def __init__(self, begin: Callable[[], Answer], seconds: float = SECONDS) -> None:
        self._begin = begin
        self._seconds = seconds
        self._child: _Child | None = None
        self._here: Answer | None = None

    def __call__(self, question: bytes) -> bytes:
        """The answer; raises Refusal, OverBudget, or FileError if the process is killed twice."""
        if not _FORKS:
            return self._answer_here(question)
        try:
            how, answer = self._asked(question)
        except _Killed:
            how, answer = self._asked_again(question)
        if how == _FULL:
            self.close()
            raise OverBudget(_TOO_LARGE)
        if how == _REFUSED:
            raise Refusal(answer.decode("utf-8", "replace"))
        return answer

    def _asked(self, question: bytes) -> tuple[bytes, bytes]:
        """The answer of the process, which is started if necessary."""
        if self._child is None or self._child.owner != os.getpid():
            self._child = self._forked()
        try:
            _write(self._child.ask, question)
            return _read(self._child.hear)
        except (EOFError, BrokenPipeError):
            raise self._why() from None

    def _asked_again(self, question: bytes) -> tuple[bytes, bytes]:
        try:
            return self._asked(question)
        except _Killed as error:
            problem = f"was killed twice ({error}), by another program or for want of memory"
            raise FileError("the process of a chat template or tokenizer", problem) from None

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
        try:
            pid = os.fork()
            if pid == 0:
                with suppress(BaseException):
                    _serve(self._begin, theirs, tell, self._seconds)
                os._exit(1)
        except OSError:  # the limit on processes is reached
            os.close(ask)
            os.close(hear)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(theirs)
            os.close(tell)
        return _Child(pid, ask, hear, os.getpid())

    def _why(self) -> OverBudget | _Killed:
        """Why the process has ended."""
        child, self._child = self._child, None
        status = 0
        if child is not None:
            _close(child)
            _, status = os.waitpid(child.pid, 0)
        by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if by == signal.SIGPROF:
            return OverBudget(f"it takes more than {self._seconds:g} seconds")
        if by in _FROM_OUTSIDE:
            return _Killed(signal.Signals(by).name)
        return OverBudget(_TOO_LARGE)

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is not None:
            _close(child)
            if child.owner == os.getpid():
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)

    def __del__(self) -> None:
        """End the process with its last user."""
        with suppress(Exception):
            self.close()


_TOO_LARGE = f"it takes more than {MEMORY // 10**9} GB of memory, or crashes"


def _serve(begin: Callable[[], Answer], asked: int, told: int, seconds: float) -> None:
    """Answer questions until the pipe is closed. All other descriptors are closed first."""
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
    most = memory_taken() + MEMORY
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
