"""Several runs write to the same output at once: the final files all come from one of them."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from stress_kit import command, surroundings
from stress_shim import Fault, shim

RUNS = ("a", "b", "c", "d")
SEED = 20_251_119

SPLIT = "split --exact --val-fraction 0.3 --test-fraction 0.2 {run}.jsonl --out-dir data --quiet"
FILE = "filter --min-gap 0.1 {run}.jsonl -o out.jsonl --summary summary.json --quiet"
EXPORT = "export --to trl {run}.jsonl --out-dir data --summary summary.json --quiet"
CUSTOMIZER = "export --to customizer {run}.jsonl --out-dir data --quiet"
RECIPE = "run {run}.toml --quiet --depfile data.d"

_RECIPE = """[read]
inputs = ["{run}.jsonl"]
[split]
exact = true
val_fraction = 0.3
[write]
out_dir = "data"
manifest = "m/manifest.json"
force = true
"""

KINDS = "rename,link,unlink,fsync,mkdir"


def set_up(folder: Path, *, there: bool) -> None:
    """Create an input for each run, with its own answers, and the output of an earlier run."""
    (folder / "m").mkdir(parents=True)
    for size, run in enumerate(("old", *RUNS), 10):
        rows = [
            {
                "prompt": f"{run}{number}",
                "chosen": run,
                "rejected": "no",
                "gap": 1,
                "id": f"{number}",
            }
            for number in range(size)
        ]
        for row in rows:
            row |= {"chosen_score": 1, "rejected_score": 0}
        (folder / f"{run}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        (folder / f"{run}.toml").write_text(_RECIPE.format(run=run))
    if there:
        for words in (SPLIT, FILE):
            subprocess.run(
                command(words.format(run="old")), cwd=folder, env=surroundings(folder), check=True
            )


def begin(folder: Path, words: str, run: str, env: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start one of the runs."""
    return subprocess.Popen(
        command(words.format(run=run)),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**surroundings(folder), **env},
    )


def runs_in(folder: Path, *names: str) -> dict[str, set[str]]:
    """The runs from which the rows of each file come."""
    return {
        name: {json.loads(line)["chosen"] for line in (folder / name).read_text().splitlines()}
        for name in names
        if (folder / name).exists()
    }


def problems_of_sides(folder: Path, *, killed: bool) -> list[str]:
    """The problems with the files of a split."""
    sides = runs_in(folder / "data", "train.jsonl", "val.jsonl", "test.jsonl")
    found = set().union(*sides.values())
    problems = [] if len(found) <= 1 else [f"the sides are of {sorted(found)}: {sides}"]
    if len(sides) < 3 and not killed:
        problems.append(f"there is only {sorted(sides)}")
    return problems + litter(folder, killed=killed)


def litter(folder: Path, *, killed: bool) -> list[str]:
    """The files left behind."""
    found = [str(path) for path in folder.rglob(".*.tmp")]
    return [] if killed else [f"{path} was left behind" for path in found]


def ended(processes: "Sequence[subprocess.Popen[bytes]]") -> list[str]:
    """Each run succeeds, or reports in one line that another one is writing there."""
    problems = []
    for process in processes:
        _, said = process.communicate(timeout=120)
        if process.returncode == 5 and said.startswith(b"error: ") and b"another run" in said:
            continue
        if process.returncode not in (0, -signal.SIGKILL):
            problems.append(f"exit {process.returncode}: {said.decode()}")
    return problems


def slowed(library: Path, folder: Path, kind: str, milliseconds: int) -> dict[str, str]:
    """The environment that delays each call of a kind."""
    fault = Fault(kind, 1, "delay", milliseconds, sticky=True)
    return {"LD_PRELOAD": str(library), "FAULT_FOLDER": str(folder), **fault.told}


@pytest.mark.parametrize("there", [True, False], ids=["an old folder", "a new folder"])
@pytest.mark.parametrize(
    "times", [1, *(pytest.param(times, marks=pytest.mark.stress) for times in (8,))]
)
def test_four_splits_into_one_folder(tmp_path: Path, times: int, there: bool) -> None:
    """Four splits into one folder at once leave the files of one run."""
    library = shim(tmp_path)
    problems = []
    for time_ in range(times):
        folder = tmp_path / f"here_{time_}"
        set_up(folder, there=there)
        env = slowed(library, folder, "rename", 30)
        problems += ended([begin(folder, SPLIT, run, env) for run in RUNS])
        problems += problems_of_sides(folder, killed=False)
    assert problems == []


@pytest.mark.stress
@pytest.mark.parametrize("kind", KINDS.split(","))
@pytest.mark.parametrize("there", [True, False], ids=["an old folder", "a new folder"])
def test_any_call_may_come_late(tmp_path: Path, kind: str, there: bool) -> None:
    """The same with other calls delayed, by a different time for each run."""
    library = shim(tmp_path)
    problems = []
    for number in range(4):
        folder = tmp_path / f"here_{number}"
        set_up(folder, there=there)
        envs = [slowed(library, folder, kind, 10 * place) for place in range(4)]
        processes = [begin(folder, SPLIT, run, env) for run, env in zip(RUNS, envs, strict=True)]
        problems += ended(processes) + problems_of_sides(folder, killed=False)
    assert problems == []


@pytest.mark.parametrize("there", [True, False], ids=["an old file", "a new file"])
def test_a_file_and_its_summary_are_of_one_run(tmp_path: Path, there: bool) -> None:
    """A run waits while another one renames its two files: the counts match the rows."""
    library, folder = shim(tmp_path), tmp_path / "here"
    set_up(folder, there=there)
    before = (folder / "out.jsonl").read_bytes() if there else b""
    fault = Fault("rename", 2, "delay", 1500)
    env = {"LD_PRELOAD": str(library), "FAULT_FOLDER": str(folder), **fault.told}
    slow = begin(folder, FILE, "a", env)
    while not (folder / "out.jsonl").exists() or (folder / "out.jsonl").read_bytes() == before:
        time.sleep(0.01)
    assert ended([begin(folder, FILE, "b", {}), slow]) == []
    rows = len((folder / "out.jsonl").read_bytes().splitlines())
    assert json.loads((folder / "summary.json").read_bytes())["pairs"] == rows
    assert litter(folder, killed=False) == []


@pytest.mark.stress
@pytest.mark.parametrize("words", [SPLIT, EXPORT, CUSTOMIZER, RECIPE])
def test_runs_that_are_killed_among_others(tmp_path: Path, words: str) -> None:
    """If some of the runs are killed, the files come from one run; one more run completes them."""
    library = shim(tmp_path)
    draw = random.Random(f"{SEED} {words}")  # noqa: S311 - moments, no secrets
    problems = []
    for number in range(6):
        folder = tmp_path / f"here_{number}"
        set_up(folder, there=words is SPLIT)
        env = slowed(library, folder, "rename", 40)
        processes = [begin(folder, words, run, env) for run in RUNS]
        for process in draw.sample(processes, 2):
            time.sleep(draw.uniform(0, 0.4))
            process.kill()
        problems += ended(processes)
        if words is SPLIT:
            problems += problems_of_sides(folder, killed=True)
        problems += ended([begin(folder, words, "a", {})])
        if words is not RECIPE:
            problems += litter(folder, killed=False)
        if words is RECIPE:
            problems += ended([_verify(folder)])
        if words in (SPLIT, RECIPE):
            sides = runs_in(folder / "data", "train.jsonl", "val.jsonl")
            problems += [] if all(found == {"a"} for found in sides.values()) else [f"{sides}"]
    assert problems == []


def _verify(folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command("verify m/manifest.json"),
        cwd=folder,
        stderr=subprocess.PIPE,
        env=surroundings(folder),
    )


def test_no_lock_outlives_its_run(tmp_path: Path) -> None:
    """A run that was killed while it held the lock does not block the next one."""
    library = shim(tmp_path)
    set_up(tmp_path / "here", there=True)
    env = slowed(library, tmp_path / "here", "rename", 60_000)
    slow = begin(tmp_path / "here", SPLIT, "a", env)
    while not [*(tmp_path / "here" / "data").glob(".old.*")]:
        time.sleep(0.01)
    slow.kill()
    slow.communicate()
    start = time.monotonic()
    assert ended([begin(tmp_path / "here", SPLIT, "b", {})]) == []
    assert time.monotonic() - start < 10
    assert problems_of_sides(tmp_path / "here", killed=False) == []
    assert os.listdir(tmp_path / "here" / "data") != []
