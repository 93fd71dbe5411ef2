"""kill -9 at any moment leaves files old or new, never in between; the next run cleans up."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from stress_kit import Rig, Stage, Tree, gone, problems_of_tree, run, spots, tree_of
from stress_shim import Fault

KINDS = "open,write,fsync,link,rename,unlink,close,mkdir,chmod,truncate,lock"
"""The kinds of calls between which files can be in any of their states."""

KILLED = (
    "pair",
    "pair with workers",
    "pair of agents",
    "pair of agents with workers",
    "pair from gzip",
    "split, a new folder",
    "split, over an old one",
    "export, a new folder",
    "export, over an old one",
    "run, a folder",
    "run, a file",
    "run, keeping what is the same",
)

_LITTER = frozenset({".", "data/."})
"""Prefixes of the names of files that a killed run may leave behind."""

SEED = 20_251_118


def rerun_of(given: Stage, folder: Path) -> Tree:
    """The contents of a folder after one more run."""
    done = run(given.scene, folder)
    assert (done.code, "error" in done.stderr) == (0, False), done.stderr
    return done.tree


def problems_after_kill(given: Stage, folder: Path) -> list[str]:
    """The problems in the folder of a killed run, and after one more run there."""
    problems = problems_of_tree(given, tree_of(folder), _LITTER)
    again = rerun_of(given, folder)
    wrong = {name for name in given.new if again.get(name, b"?") != given.new[name]}
    return problems + [f"another run gave another {name}" for name in sorted(wrong)]


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *(pytest.param(name, 30, marks=pytest.mark.stress) for name in KILLED),
        ("split, over an old one", 6),
    ],
)
def test_a_run_killed_at_any_call_is_made_good_by_the_next(name: str, most: int, rig: Rig) -> None:
    """Killed between any two calls that change files, a run leaves each file old or new.

    One more run gives the expected result.
    """
    given = rig.set(name)
    places = spots(given.count(*KINDS.split(",")), most)
    problems = []
    for at in places:
        done = rig.meet(given, Fault(KINDS, at, "signal", signal.SIGKILL))
        assert done.code == -signal.SIGKILL
        problems += [f"call {at}: {problem}" for problem in problems_after_kill(given, rig.here)]
    rig.tell("kills", len(places))
    assert problems == []


@pytest.mark.stress
@pytest.mark.parametrize("name", KILLED)
def test_the_next_run_removes_what_a_killed_one_left(name: str, rig: Rig) -> None:
    """Another run that writes the same names removes all leftovers."""
    given = rig.set(name)
    problems = []
    for at in spots(given.count(*KINDS.split(",")), 10):
        rig.meet(given, Fault(KINDS, at, "signal", signal.SIGKILL))
        left = rerun_of(given, rig.here).keys() - given.new.keys() - given.old.keys()
        problems += [f"call {at}: {name} still lies around" for name in sorted(left)]
    assert problems == []


@pytest.mark.stress
@pytest.mark.parametrize("aimed", [False, True], ids=["anywhere", "while it writes"])
@pytest.mark.parametrize("name", KILLED)
def test_a_run_killed_at_random_is_made_good_by_the_next(name: str, aimed: bool, rig: Rig) -> None:
    """The next run repairs what a run killed at a random moment left; its workers end, too."""
    given = rig.set(name, counted=False)
    draw = random.Random(f"{SEED} {name} {aimed}")  # noqa: S311 - moments, no secrets
    problems = []
    kills = 0
    for _ in range(10):
        process = rig.begin(given)
        if aimed:
            _wait_for_litter(process, rig.here)
        time.sleep(draw.uniform(0, 0.02 if aimed else 0.25))
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        assert gone(process.pid)
        problems += problems_after_kill(given, rig.here)
    rig.tell("kills", kills)
    assert problems == []


def _wait_for_litter(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Wait until there is a temporary file, or the process has ended."""
    while process.poll() is None:
        if any(name.startswith(".") for place in _places(folder) for name in os.listdir(place)):
            return


def _places(folder: Path) -> list[Path]:
    return [folder, folder / "data"] if (folder / "data").is_dir() else [folder]
