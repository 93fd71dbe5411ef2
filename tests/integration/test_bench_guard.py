"""Bounds on the work and memory per rollout, on a small file.

Times differ between machines and from run to run, so none are compared: calls are counted,
memory is compared with memory, and CPU with that of a bare loop on the same file in the same
minute. `make bench` measures real performance; docs/performance.md has its results.
"""

import gc
import gzip
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import orjson
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from bench.data.plan import Format, Plan
from bench.race import Contender, once, race
from bench.results import Cost
from bench.setting import Setting

from native_and_python import needs_core
from prefpairs.cli.main import main
from prefpairs.engine.native import VARIABLE

# The bounds: the last measured value, given next to each, plus a margin for noise.
PYTHON, NATIVE = "0", "require"
CALLS_A_ROLLOUT = {
    (PYTHON, "nemo-gym"): 80.0,  # 76
    (PYTHON, "agentic"): 1800.0,  # 1478
    (NATIVE, "nemo-gym"): 10.0,  # 8.4
    (NATIVE, "agentic"): 10.0,  # 7.2
}
DECODES_A_ROLLOUT = {
    (PYTHON, "nemo-gym"): 2.5,  # 2.1
    (PYTHON, "agentic"): 14.0,  # 11.9
    (NATIVE, "nemo-gym"): 0.1,  # 0.004
    (NATIVE, "agentic"): 0.1,  # 0.005
}
CALLS_A_COPIED_ROLLOUT = 40.0  # 34.5
CPU_AGAINST_LOOP = {PYTHON: 4.0, NATIVE: 2.5}  # 2.1, 1.2
BYTES_A_CANDIDATE = 96
SLACK_BYTES = 3_000_000  # at 14,000 candidates the noise is as large as the index
LONGER_ANSWERS_BYTES = 4_000_000  # 1.0 MB: lines being read

SMALL, LARGE, TIMES = 2_000, 14_000, 8
ROUNDS = 5
PARSERS = {"loads", "decode"}
PROGRAM = shutil.which("prefpairs", path=str(Path(sys.executable).parent))

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="prefpairs is not beside this Python")


@pytest.fixture(name="setting", scope="module")
def _setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    return Setting(
        folder=tmp_path_factory.mktemp("guard"),
        scale=LARGE,
        rounds=ROUNDS,
        prefpairs=str(PROGRAM),
        quiet=True,
    )


@pytest.fixture(name="engine", params=[PYTHON, pytest.param(NATIVE, marks=needs_core)])
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each engine in turn, for this process and those that it starts."""
    monkeypatch.setenv(VARIABLE, request.param)
    return str(request.param)


@pytest.fixture(name="costs")
def _costs(setting: Setting, engine: str) -> dict[int, Cost]:
    """The costs of the main job, the best of several runs."""
    return _costs_of(setting, engine)


@cache
def _costs_of(setting: Setting, _: str) -> dict[int, Cost]:
    contenders = {
        size: _pair(setting, setting.file(Plan(rollouts=size))) for size in (SMALL, LARGE)
    }
    return {size: race([one], ROUNDS)[one.name] for size, one in contenders.items()}


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Restore the signal handlers."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("format_", ["nemo-gym", "agentic"])
def test_calls_and_decodes_a_rollout(setting: Setting, engine: str, format_: Format) -> None:
    """Bounds the calls per rollout, which do not vary; start-up is subtracted."""
    plans = [Plan(format=format_, rollouts=rollouts) for rollouts in (200, 1000)]
    _count_calls(setting, setting.file(plans[0]))  # imports at first use do not count
    counts = [_count_calls(setting, setting.file(plan)) for plan in plans]
    calls, decodes = ((counts[1][key] - counts[0][key]) / 800 for key in ("calls", "decodes"))
    assert 0 < calls <= CALLS_A_ROLLOUT[engine, format_]
    assert (engine == PYTHON) <= (decodes > 0)  # makes sure that decodes are counted
    assert decodes <= DECODES_A_ROLLOUT[engine, format_]


@needs_core
def test_rows_that_are_copied_are_read_natively(setting: Setting) -> None:
    """Rollouts of an input that cannot be read twice are never decoded by Python."""
    packed = [setting.output(f"{rollouts}.gz") for rollouts in (200, 1000)]
    for path, rollouts in zip(packed, (200, 1000), strict=True):
        plan = Plan(format="agentic", rollouts=rollouts)
        path.write_bytes(gzip.compress(setting.file(plan).read_bytes(), 1))
    _count_calls(setting, packed[0])  # imports at first use do not count
    counts = [_count_calls(setting, path) for path in packed]
    calls, decodes = ((counts[1][key] - counts[0][key]) / 800 for key in ("calls", "decodes"))
    assert calls <= CALLS_A_COPIED_ROLLOUT
    assert decodes <= DECODES_A_ROLLOUT[NATIVE, "agentic"]


def test_cpu_against_a_bare_loop(setting: Setting, engine: str, costs: dict[int, Cost]) -> None:
    """Bounds the CPU time of a rollout, without start-up, relative to only parsing its line."""
    loop = {rollouts: _loop(setting.file(Plan(rollouts=rollouts))) for rollouts in costs}
    share = (costs[LARGE].cpu - costs[SMALL].cpu) / (loop[LARGE] - loop[SMALL])
    assert share <= CPU_AGAINST_LOOP[engine]


def test_memory_a_candidate(costs: dict[int, Cost]) -> None:
    """Memory grows per candidate by no more than its row in the index."""
    assert (
        costs[LARGE].peak - costs[SMALL].peak <= BYTES_A_CANDIDATE * (LARGE - SMALL) + SLACK_BYTES
    )


@pytest.mark.usefixtures("engine")
def test_memory_does_not_grow_with_the_text(setting: Setting) -> None:
    """Answers 8 times as long take the same memory, except for the lines being read."""
    usual = Plan(rollouts=SMALL)
    longer = Plan(rollouts=SMALL, answer_length=TIMES * usual.answer_length)
    short, long = (once(_pair(setting, setting.file(plan))).peak for plan in (usual, longer))
    assert long - short <= LONGER_ANSWERS_BYTES


def _pair(setting: Setting, source: Path) -> Contender:
    """Run the main job on a file."""
    words = ("pair", "--quiet", "--min-gap", "0.2", *setting.one_worker, source)
    return setting.program("pair", words, setting.output("guard.jsonl"))


def _loop(source: Path) -> float:
    """The CPU seconds of the fastest of several bare loops, in this process."""
    times = []
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time()
        with source.open("rb") as file:
            for line in file:
                orjson.loads(line)
        times.append(time.process_time() - start)
    return min(times)


def _count_calls(setting: Setting, source: Path) -> Counter[str]:
    """How many calls pairing makes, and how often it parses JSON."""
    contender = _pair(setting, source)
    counts: Counter[str] = Counter()
    before = sys.getprofile()
    sys.setprofile(_counter(counts))
    try:
        code = main([*contender.command[1:]])
    finally:
        sys.setprofile(before)
    assert code == 0
    return counts


def _counter(counts: Counter[str]) -> Callable[[FrameType, str, Any], None]:
    """A profiler that counts calls of Python and C functions, and of JSON parsers."""

    def count(_: FrameType, event: str, called: Any) -> None:
        if event in {"call", "c_call"}:
            counts["calls"] += 1
        if event == "c_call" and called.__name__ in PARSERS:
            owner = f"{called.__module__} {type(called.__self__).__module__}"
            counts["decodes"] += "orjson" in owner or "msgspec" in owner

    return count
