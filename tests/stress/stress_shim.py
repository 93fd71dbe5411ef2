"""The shim that makes system calls fail: compiles it, configures it and reads its log."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest


class Call(NamedTuple):
    """A system call that the shim saw."""

    who: str
    process: int
    kind: str
    call: str
    path: str
    target: str | None
    struck: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to which call."""

    kind: str
    at: int
    action: str
    number: int = 0
    sticky: bool = False
    who: str = "main"

    def __str__(self) -> str:
        """Describe it for people."""
        what = {
            "errno": os.strerror(self.number),
            "short": "falls short",
            "delay": f"comes {self.number} ms later",
        }
        doing = what.get(self.action, f"meets signal {self.number}")
        more = " and all after it" if self.sticky else ""
        return f"{self.who}: {self.kind} no. {self.at}{more}: {doing}"

    @property
    def told(self) -> dict[str, str]:
        """The same as environment variables for the shim."""
        return {
            "FAULT_KINDS": self.kind,
            "FAULT_AT": str(self.at),
            "FAULT_ACTION": self.action,
            "FAULT_NUMBER": str(self.number),
            "FAULT_STICKY": str(int(self.sticky)),
            "FAULT_WHO": self.who,
        }


@cache
def shim(folder: Path) -> Path:
    """The compiled shim; the test is skipped if it cannot be compiled."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("faults are injected on Linux, where there is a C compiler")
    library = folder / "fault_shim.so"
    source = str(Path(__file__).with_name("fault_shim.c"))
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def calls_in(trace: Path) -> list[Call]:
    """The calls that the shim logged."""
    return [_call(line) for line in trace.read_text().splitlines()]


def _call(line: str) -> Call:
    who, process, kind, call, path = line.split(" ", 4)
    path, _, target = path.partition(" -> ")
    struck = kind.endswith("!")
    return Call(who, int(process), kind.rstrip("!"), call, path, target or None, struck)
