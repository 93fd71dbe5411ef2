"""Runs contenders in turn, round after round, so that noise affects all of them alike."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from bench.results import Cost, least

TIMER = Path(__file__).parent / "timer.py"
SHARE_OF_MEMORY = 0.7


class ContenderFailed(Exception):
    """A contender ended with an error."""

    def __init__(self, name: str, code: int, words: str) -> None:
        super().__init__(f"{name} ended with {code}:\n{words}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A command that does the job."""

    name: str
    command: Sequence[str]
    output: Path | None = None
    needs: str = ""
    """A library that it requires."""
    appetite: float = 0.0
    """Its memory, as a multiple of the input."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Its environment variables besides ours."""

    def why_not(self, input_bytes: int) -> str:
        """Why it cannot run here, or an empty text."""
        if self.needs and find_spec(self.needs) is None:
            return f"{self.name}: {self.needs} is not installed"
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if self.appetite * input_bytes > SHARE_OF_MEMORY * memory:
            return f"{self.name}: the memory of this machine is too small for it"
        return ""


def race(
    contenders: Sequence[Contender], rounds: int, tell: Callable[[str], None] = lambda _: None
) -> dict[str, Cost]:
    """The best of this many rounds for each."""
    costs: dict[str, list[Cost]] = {contender.name: [] for contender in contenders}
    for number in range(1, rounds + 1):
        tell(f"round {number} of {rounds}")
        for contender in contenders:
            costs[contender.name].append(once(contender))
    return {name: least(found) for name, found in costs.items()}


def once(contender: Contender) -> Cost:
    """Run it once in a fresh process, after removing old output."""
    if contender.output is not None:
        remove(contender.output)
    words = [sys.executable, "-I", "-S", str(TIMER), os.devnull, os.devnull, *contender.command]
    # Installed programs find their bytecode on disk; compiling it again takes 60 ms.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    ran = subprocess.run(
        words, check=False, capture_output=True, text=True, env={**kept, **contender.variables}
    )
    told = json.loads(ran.stdout) if ran.stdout else {"code": ran.returncode}
    if code := told.pop("code"):
        raise ContenderFailed(contender.name, code, ran.stderr)
    return Cost(**told)


def remove(path: Path) -> None:
    """Remove a file or a folder, if there is one."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
