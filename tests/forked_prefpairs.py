"""Runs the program in a process forked from one that has imported it: 15 ms instead of 110.

The process has its own standard streams, working directory, environment, signals and exit code.
Start a fresh `python -m prefpairs` only to test what Python reads at startup: PYTHON* and LC_*
variables, terminals, closed descriptors, limits on memory, and the imports themselves.
"""

import atexit
import gc
import os
import pkgutil
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from select import select
from typing import IO, Any

import forked_client
import prefpairs

Done = subprocess.CompletedProcess[str]

Request = tuple[list[int], list[str], dict[str, str], str]
"""The descriptors of a run, its words, variables and working directory."""

_FRESH = ("PYTHON", "LC_", "LANG")
"""Variables that Python reads at startup."""


def run(  # noqa: PLR0913 - as subprocess.run
    *words: str,
    data: bytes = b"",
    stdin: int | IO[Any] | None = None,
    stdout: int | IO[Any] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    timeout: float = 60,
) -> subprocess.CompletedProcess[bytes]:
    """Run `prefpairs` with these arguments and wait for it. Streams without a file are pipes."""
    if any(name.startswith(_FRESH) for name in env or ()):
        message = f"these variables need a fresh Python: {env}"
        raise ValueError(message)
    pipes = [os.pipe(), os.pipe(), os.pipe()]
    (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = pipes
    client = forked_client.ask(
        server(),
        words,
        (
            theirs_in if stdin is None else _number(stdin),
            theirs_out if stdout is None else _number(stdout),
            theirs_err,
        ),
        {**os.environ, **(env or {})},
        str(cwd or Path.cwd()),
    )
    for descriptor in (theirs_in, theirs_out, theirs_err):
        os.close(descriptor)
    with client, ThreadPoolExecutor(3) as pool:
        pool.submit(_fill, ours_in, data)
        out, err = (pool.submit(_drain, descriptor) for descriptor in (ours_out, ours_err))
        code = _wait(client, timeout)
        return subprocess.CompletedProcess(["prefpairs", *words], code, out.result(), err.result())


def run_text(*words: str, cwd: str | Path | None = None) -> Done:
    """Run it with empty standard input and return its output as text."""
    done = run(*words, cwd=cwd)
    return Done(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _number(file: int | IO[Any]) -> int:
    return file if isinstance(file, int) else file.fileno()


def _fill(descriptor: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(descriptor, "wb", buffering=0) as pipe:
        rest = memoryview(data)
        while rest:
            rest = rest[pipe.write(rest) :]


def _drain(descriptor: int) -> bytes:
    with open(descriptor, "rb") as pipe:
        return pipe.read()


def _wait(client: socket.socket, timeout: float) -> int:
    client.settimeout(timeout)
    process = forked_client.receive_number(client)
    try:
        return forked_client.receive_number(client)
    except TimeoutError:
        os.kill(process, signal.SIGKILL)
        raise


def tools() -> str:
    """A folder for PATH with a `prefpairs` that asks the server for a run."""
    return os.path.dirname(server())


def in_shells() -> dict[str, str]:
    """Our environment with that folder on PATH, for shells."""
    return {**os.environ, "PATH": f"{tools()}{os.pathsep}{os.environ['PATH']}"}


@cache
def server() -> str:
    """The address of this process's server, which is started by the first call."""
    folder = tempfile.mkdtemp(prefix="prefpairs-")
    address = f"{folder}/socket"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    started = subprocess.Popen(
        [sys.executable, __file__, str(listener.fileno())],
        pass_fds=[listener.fileno()],
        stdin=subprocess.PIPE,  # it reaches EOF when we end, however we end
        stdout=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    listener.close()
    words = shlex.join([sys.executable, "-IS", forked_client.__file__, address])
    script = Path(folder, "prefpairs")
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    script.chmod(0o755)

    def end() -> None:
        started.communicate()
        shutil.rmtree(folder)

    atexit.register(end)
    return address


def serve(listener: socket.socket) -> int:
    """Fork a process for each client, until standard input ends."""
    for module in pkgutil.walk_packages(prefpairs.__path__, "prefpairs."):
        if module.name != "prefpairs.__main__":
            import_module(module.name)
    from prefpairs.cli.main import COMMANDS, app_of, main

    for command in COMMANDS:
        app_of(command)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest only
    gc.freeze()
    request = _forked_for_a_client(listener)
    if request is None:
        return 0
    _become(*request)
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # finalising Python would take as long as the run


def _forked_for_a_client(listener: socket.socket) -> Request | None:
    """Return in each new process with its request; in the server, None when standard input ends."""
    ended, wakeup = os.pipe()  # readable when a process has ended
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    clients: dict[int, socket.socket] = {}
    while True:
        ready = select([listener, sys.stdin, ended], [], [])[0]
        if sys.stdin in ready:
            return None
        if ended in ready:
            os.read(ended, 4096)
            _tell_codes(clients)
        if listener not in ready:
            continue
        client, _ = listener.accept()
        request = forked_client.asked(client)
        process = os.fork()
        if process == 0:
            break
        for descriptor in request[0]:
            os.close(descriptor)
        clients[process] = client
        with suppress(BrokenPipeError):
            client.sendall(forked_client.NUMBER.pack(process))
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for descriptor in (ended, wakeup):
        os.close(descriptor)
    for other in (listener, client, *clients.values()):
        other.close()
    return request


def _tell_codes(clients: dict[int, socket.socket]) -> None:
    """Tell clients the exit codes of their processes that have ended."""
    while clients:
        process, status = os.waitpid(-1, os.WNOHANG)
        if not process:
            return
        with clients.pop(process) as client, suppress(BrokenPipeError):
            client.sendall(forked_client.NUMBER.pack(os.waitstatus_to_exitcode(status)))


def _become(
    descriptors: list[int], words: list[str], variables: dict[str, str], folder: str
) -> None:
    """Set up what a fresh process would get from its parent and from Python."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as Python itself opens these three
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
    sys.argv = ["prefpairs", *words]
    gc.unfreeze()


if __name__ == "__main__":
    sys.exit(serve(socket.socket(fileno=int(sys.argv[1]))))
