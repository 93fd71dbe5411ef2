"""Sends signals to runs, each before another line of the code that handles files and processes.

It reads JSON from standard input: [arguments, signal, folders]. It prints how the run in each
folder ended, [[exit code, stderr], ...]. The first two runs get no signal and are not printed: they
load the modules and count the lines.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from stress_kit import spots

from prefpairs.cli import main as program

_WATCHED = re.compile(
    r"/prefpairs/(files/|engines/(processes|workers)\.py|cli/(run|writing|places)\.py)"
    r"|/multiprocessing/|/(contextlib|tempfile|shutil)\.py$"
)
"""Modules that start something which must be cleaned up."""

_NEVER = 0


def begin() -> None:
    """Run in all folders, each in a process of its own."""
    words, number, folders = json.load(sys.stdin)
    os.chdir(folders[0])
    program.main([*words, "--quiet"])
    _, _, lines = _ended(folders[1], words, number, _NEVER)
    struck = zip(folders[2:], spots(lines, len(folders) - 2), strict=True)
    ended = [_ended(folder, words, number, line)[:2] for folder, line in struck]
    os.write(1, json.dumps(ended).encode())


def _ended(folder: str, words: Sequence[str], number: int, line: int) -> tuple[int, str, int]:
    told, counted = Path(f"{folder}.said"), Path(f"{folder}.lines")
    if (child := os.fork()) == 0:
        _run(folder, words, number, line)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, told.read_text(), 0 if line else int(counted.read_text())


def _run(folder: str, words: Sequence[str], number: int, line: int) -> NoReturn:
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(0, 1)
    os.dup2(os.open(f"{folder}.said", os.O_WRONLY | os.O_CREAT), 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.SIG_DFL)
    sys.argv = ["prefpairs", *words]
    heeded, seen = False, 0

    def count(_: FrameType, event: str, __: Any) -> Any:
        nonlocal seen
        seen += event == "line"
        if seen == line and event == "line":
            os.kill(os.getpid(), number)
        return count

    def enter(frame: FrameType, _: str, __: Any) -> Any:
        nonlocal heeded
        heeded = heeded or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        return count if heeded and _WATCHED.search(frame.f_code.co_filename) else None

    sys.settrace(enter)
    code = program.main()
    sys.settrace(None)
    if not line:
        Path(f"{folder}.lines").write_text(str(seen))
    os._exit(code)


if __name__ == "__main__":
    begin()
