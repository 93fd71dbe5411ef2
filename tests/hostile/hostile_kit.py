"""Runs the program in a process of its own and measures its peak memory."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from resource import RLIMIT_AS, setrlimit

_PEAK = """
import re, sys
from prefpairs.cli.main import main
code = main(sys.argv[1:])
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024
print(f"peak {peak}", file=sys.stderr)
sys.exit(code)
"""


def run(
    *words: str | Path, data: bytes | None = None, memory: int | None = None
) -> tuple[int, str, int]:
    """The exit code of a run, its stderr, and its peak memory in MB."""
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, *map(str, words)],
        input=data,
        stdin=None if data is not None else subprocess.DEVNULL,
        capture_output=True,
        check=False,
        preexec_fn=None if memory is None else partial(setrlimit, RLIMIT_AS, (memory, memory)),
        timeout=120,
    )
    said, _, peak = done.stderr.decode().rpartition("peak ")
    return done.returncode, said, int(peak)
