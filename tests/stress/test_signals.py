"""SIGINT, SIGTERM and SIGHUP at any moment leave no files behind and print no traceback."""

import os
import random
import re
import signal
import subprocess
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
    "pair of agents",
    "pair of agents with workers",
    "pair from gzip",
    "split, a new folder",
    "split, over an old one",
    "export, a new folder",
    "run, a folder",
    "bad rows put aside",
)


SWAPPED = (("split, over an old one", 99), ("export, over an old one", 20), ("run, a folder", 20))
"""Scenes that replace many old files, and how many calls get a signal."""

_BEGUN = re.compile(r'prefpairs/cli/main\.py", line \d+, in (?!<module>)')
"""A line of a traceback that shows that main() has begun."""


def problems_of(given: Stage, folder: Path, number: int, code: int, stderr: str) -> list[str]:
    """The problems after a signal. The run may have ended before the signal arrived."""
    tree = tree_of(folder)
    problems = problems_of_tree(given, tree)
    if "Traceback" in stderr or "Exception ignored" in stderr:
        problems.append("it babbled")
    if code == 0:
        problems += [] if tree == given.new else ["it ended well without all it should write"]
    elif code != 128 + number:
        problems.append("a strange exit code")
    return [f"signal {number}: exit {code}: {problem}; {stderr!r}" for problem in problems]


def problems_at_start(given: Stage, folder: Path, number: int, code: int, stderr: str) -> list[str]:
    """The same at startup: before main(), the interpreter ends by itself, perhaps noisily."""
    babbled = "Traceback" in stderr or "Exception ignored" in stderr
    if _BEGUN.search(stderr) or not (code == -number or (code == 1 and babbled)):
        return problems_of(given, folder, number, code, stderr)
    return [] if tree_of(folder) == given.old else [f"signal {number}: it did not leave in order"]


def wait_for_handlers(process: "subprocess.Popen[bytes]") -> None:
    """Wait until the program has installed its signal handlers; the last one is for SIGTERM."""
    caught = re.compile(r"^SigCgt:\s*([0-9a-f]+)$", re.MULTILINE)
    ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while os.waitid(os.P_PID, process.pid, ended) is None:
        found = caught.search(Path(f"/proc/{process.pid}/status").read_text("ascii"))
        if found is not None and int(found[1], 16) & 1 << (signal.SIGTERM - 1):
            return
        time.sleep(0.001)


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


@pytest.mark.parametrize("shower", [False, True], ids=["one", "one at each call from there on"])
@pytest.mark.parametrize(
    ("name", "most"),
    [
        *(pytest.param(name, most, marks=pytest.mark.stress) for name, most in SWAPPED),
        ("split, over an old one", 6),
    ],
)
def test_a_signal_while_new_files_come_leaves_nothing_behind(
    name: str, most: int, shower: bool, rig: Rig
) -> None:
    """Nothing is left behind if a signal comes while old files are moved aside for new ones."""
    given = rig.set(name)
    calls = given.calls_of(*KINDS.split(","))
    first = next(at for at, call in enumerate(calls, 1) if "/.old." in call.path)
    problems = []
    places = [first - 1 + at for at in spots(len(calls) - first + 1, most)]
    for at in places:
        done = rig.meet(given, Fault(KINDS, at, "signal", signal.SIGTERM, shower))
        problems += problems_of(given, rig.here, signal.SIGTERM, done.code, done.stderr)
        problems += [] if done.code == 128 + signal.SIGTERM else [f"call {at}: {done.code}"]
    rig.tell("signals", len(places))
    assert problems == []


@pytest.mark.stress
@pytest.mark.parametrize("number", ENDINGS)
@pytest.mark.parametrize("name", SENT)
def test_a_signal_before_any_line_leaves_nothing_behind(name: str, number: int, rig: Rig) -> None:
    """Nothing is left behind between any two lines, even during an open or a fork."""
    given = rig.set(name, counted=False)
    problems = []
    for folder, code, stderr in rig.meet_at_lines(given, number, 60):
        problems += problems_of(given, folder, number, code, stderr)
    rig.tell("signals", 60)
    assert problems == []


@pytest.mark.stress
@pytest.mark.parametrize("number", ENDINGS)
def test_a_signal_while_it_starts_leaves_nothing_behind(number: int, rig: Rig) -> None:
    """Nothing is left behind while Python starts, although its exit code may differ then."""
    given = rig.set("pair")
    every = rig.meet(given, Fault("open", 0, "signal"), FAULT_FOLDER="")
    problems = []
    places = spots(sum(call.kind == "open" for call in every.calls), 60)
    for at in places:
        done = rig.meet(given, Fault("open", at, "signal", number), FAULT_FOLDER="")
        found = problems_at_start(given, rig.here, number, done.code, done.stderr)
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
    """Nothing is left behind at random moments, with signals sent to workers too, as by Ctrl-C."""
    given = rig.set(name, counted=False)
    draw = random.Random(f"{SEED} {name} {number} {group}")  # noqa: S311 - moments, no secrets
    problems = []
    for _ in range(6):
        process = rig.begin(given)
        wait_for_handlers(process)
        time.sleep(draw.uniform(0, 0.2))
        (os.killpg if group else os.kill)(process.pid, number)
        _, stderr = process.communicate(timeout=60)
        assert gone(process.pid)
        problems += problems_of(given, rig.here, number, process.returncode, stderr.decode())
    rig.tell("signals", 6)
    assert problems == []
