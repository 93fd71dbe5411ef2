"""SIGINT, SIGTERM and SIGHUP at any moment: nothing is left behind, and nothing is babbled."""

import os
import random
import re
import signal
import time
from pathlib import Path

import pytest
from stress_kit import Rig, Stage, gone, problems_of_tree, spots, tree_of
from stress_shim import Fault

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
KINDS = "open,read,write,fsync,rename,unlink,close,mkdir,chmod,truncate,lock,stat"
SEED = 20_251_118

SENT = (
    "pair",
    "pair with workers",
    "pair from gzip",
    "split, a new folder",
    "split, over an old one",
    "export, a new folder",
    "run, a folder",
    "bad rows put aside",
)


_BEGUN = re.compile(r'prefpairs/cli/main\.py", line \d+, in (?!<module>)')
"""What a traceback shows once main() has begun."""


def problems_of(given: Stage, folder: Path, number: int, code: int, stderr: str) -> list[str]:
    """What is wrong after a signal. The run may have ended before it came."""
    tree = tree_of(folder)
    problems = problems_of_tree(given, tree)
    babbled = "Traceback" in stderr or "Exception ignored" in stderr
    if babbled and _BEGUN.search(stderr):
        problems.append("it babbled")
    if code == 0:
        problems += [] if tree == given.new else ["it ended well without all it should write"]
    elif code == -number or (code == 1 and babbled):
        # Before main() has begun the interpreter goes down on its own, and may say how.
        problems += [] if tree == given.old else ["it did not leave in order"]
    elif code != 128 + number:
        problems.append("a strange exit code")
    return [f"signal {number}: exit {code}: {problem}; {stderr!r}" for problem in problems]


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *(pytest.param(name, 12, marks=pytest.mark.stress) for name in SENT),
        ("pair with workers", 3),
    ],
)
@pytest.mark.parametrize("number", ENDINGS)
def test_a_signal_at_any_call_leaves_nothing_behind(
    name: str, most: int, number: int, rig: Rig
) -> None:
    """Exit 130, 143 or 129; each file is the old or the new one; no temporary file remains."""
    given = rig.set(name)
    problems = []
    places = spots(given.count(*KINDS.split(",")), most)
    for at in places:
        done = rig.meet(given, Fault(KINDS, at, "signal", number))
        problems += problems_of(given, rig.here, number, done.code, done.stderr)
        problems += [] if done.code == 128 + number else [f"call {at}: exit {done.code}"]
    rig.tell("signals", len(places))
    assert problems == []


@pytest.mark.stress
@pytest.mark.parametrize("number", ENDINGS)
def test_a_signal_while_it_starts_leaves_nothing_behind(number: int, rig: Rig) -> None:
    """From the first file that the interpreter opens: its own death, or ours, but no litter."""
    given = rig.set("pair")
    every = rig.meet(given, Fault("open", 0, "signal"), FAULT_FOLDER="")
    problems = []
    places = spots(sum(call.kind == "open" for call in every.calls), 60)
    for at in places:
        done = rig.meet(given, Fault("open", at, "signal", number), FAULT_FOLDER="")
        found = problems_of(given, rig.here, number, done.code, done.stderr)
        problems += [f"open no. {at}: {problem}" for problem in found]
    rig.tell("signals", len(places))
    assert problems == []


@pytest.mark.stress
@pytest.mark.parametrize("group", [False, True], ids=["the process", "the group"])
@pytest.mark.parametrize("number", ENDINGS)
@pytest.mark.parametrize("name", SENT)
def test_a_signal_at_random_leaves_nothing_behind(
    name: str, number: int, group: bool, rig: Rig
) -> None:
    """The same, at moments that nobody chose, and to the workers as well, as ^C does it."""
    given = rig.set(name, counted=False)
    draw = random.Random(f"{SEED} {name} {number} {group}")  # noqa: S311 - moments, no secrets
    problems = []
    for _ in range(6):
        process = rig.begin(given)
        time.sleep(draw.uniform(0, 0.25))
        (os.killpg if group else os.kill)(process.pid, number)
        _, stderr = process.communicate(timeout=60)
        assert gone(process.pid)
        problems += problems_of(given, rig.here, number, process.returncode, stderr.decode())
    rig.tell("signals", 6)
    assert problems == []
