"""Runs targets two at a time, minimizes findings, and keeps them as tests."""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from fuzz.instrumented_core import surroundings

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests" / "fuzz"
_ONE = Path(__file__).with_name("one.py")
_RUNS = re.compile(r"stat::number_of_executed_units: *(\d+)|Done (\d+) runs|^#(\d+)", re.MULTILINE)
_COVERED = re.compile(r"cov: (\d+)")
_LONGEST, _SLOWEST, _MEMORY = 20_000, 20, 3000
"""The limits of an input: bytes, seconds, and megabytes."""


class Outcome(NamedTuple):
    """The outcome of a target."""

    target: str
    seconds: float
    runs: int
    covered: int
    find: Path | None
    said: str


def main(words: Sequence[str]) -> int:
    """Fuzz the given targets, or all; returns 1 if anything was found."""
    asked = _asked(words)
    if find_spec("atheris") is None:
        version = ".".join(map(str, sys.version_info[:2]))
        print("atheris is not installed. It has wheels for Python 3.11 to 3.14 on Linux, x86-64;")
        print(
            f"this is {version} on {sys.platform}. `pip install '.[dev,fuzz]'` where there is one."
        )
        print("`pytest tests/fuzz` fuzzes everywhere, without being led by coverage.")
        return 2
    sys.path[:0] = [str(TESTS), str(TESTS.parent)]
    from fuzz_targets import TARGETS

    unknown = [name for name in asked.targets if name not in TARGETS]
    if unknown:
        print(f"unknown target: {unknown[0]}; one of {', '.join(TARGETS)}")
        return 2
    found, core = False, surroundings()
    print(f"the native core is {'fuzzed, too' if core else 'not built'}", flush=True)
    with ThreadPoolExecutor(asked.jobs) as pool:
        names = asked.targets or list(TARGETS)
        for outcome in pool.map(lambda name: fuzz(name, asked.seconds, asked.corpus, core), names):
            print(_sentence(outcome), flush=True)
            found = found or outcome.find is not None
    return int(found)


def _asked(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--jobs", type=int, default=2, help="so many targets at a time")
    parser.add_argument("--corpus", type=Path, default=ROOT / ".fuzz", help="what led further")
    return parser.parse_args(words)


def fuzz(target: str, seconds: int, corpus: Path, core: Mapping[str, str]) -> Outcome:
    """Fuzz one target; a finding becomes a test. `core` are environment variables for the core."""
    from fuzz_seeds import seeds

    inputs, finds = corpus / target, corpus / f"{target}-finds"
    for folder in (inputs, finds):
        folder.mkdir(parents=True, exist_ok=True)
    for seed in (*seeds(target), *(path.read_bytes() for path in kept(target))):
        (inputs / _name(seed)).write_bytes(seed)
    begin = time.monotonic()
    words = (f"-max_total_time={seconds}", f"-artifact_prefix={finds}/", str(inputs))
    said = _run(target, *words, core=core)
    took = time.monotonic() - begin
    runs = max(
        (int(number) for found in _RUNS.findall(said) for number in found if number), default=0
    )
    covered = max(map(int, _COVERED.findall(said)), default=0)
    fresh = sorted(finds.iterdir(), key=lambda path: path.stat().st_size)
    find = _keep(target, fresh[0], finds, core) if fresh else None
    return Outcome(target, took, runs, covered, find, said)


def kept(target: str) -> Iterator[Path]:
    """The findings of a target that are tests."""
    folder = TESTS / "corpus" / target
    return iter(sorted(folder.iterdir()) if folder.is_dir() else ())


def _run(target: str, *words: str, core: Mapping[str, str]) -> str:
    common = (f"-max_len={_LONGEST}", f"-timeout={_SLOWEST}", f"-rss_limit_mb={_MEMORY}")
    done = subprocess.run(
        [sys.executable, str(_ONE), target, *common, "-print_final_stats=1", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **core, "PYTHONHASHSEED": "0"},
        check=False,
    )
    return done.stdout.decode(errors="replace")


def _keep(target: str, find: Path, finds: Path, core: Mapping[str, str]) -> Path:
    """Minimize the finding within a few seconds, and put it where pytest replays it."""
    small = finds / "small"
    _run(
        target,
        "-minimize_crash=1",
        "-max_total_time=20",
        f"-exact_artifact_path={small}",
        str(find),
        core=core,
    )
    data = (small if small.exists() else find).read_bytes()
    for path in finds.iterdir():
        path.unlink()
    test = TESTS / "corpus" / target / _name(data)
    test.parent.mkdir(parents=True, exist_ok=True)
    test.write_bytes(data)
    return test


def _name(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _sentence(outcome: Outcome) -> str:
    """A line for each target, with the end of a finding's output."""
    rate = outcome.runs / max(outcome.seconds, 1)
    told = f"{outcome.target:14} {outcome.seconds:5.0f} s {outcome.runs:>10,} runs"
    told += f" {rate:>8,.0f} a second {outcome.covered:>7,} covered"
    if outcome.find is None:
        return f"{told}   nothing found"
    error = [line for line in outcome.said.splitlines() if "Error" in line or "ALARM" in line]
    return f"{told}   FOUND {outcome.find.relative_to(ROOT)}: {''.join(error[:1])[:200]}"
