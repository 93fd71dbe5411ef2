"""Runs scenes: undisturbed, with one system call failing, or with a signal sent from outside."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from stress_scenes import SCENES, Scene, data
from stress_shim import Call, Fault, calls_in, shim

NOTHING = Fault("", 0, "errno")
"""A fault that affects no call."""

Tree = dict[str, bytes | None]
"""The contents of a folder: the bytes of each file, and None for folders."""


class Done(NamedTuple):
    """How a run ended, and the files it left."""

    code: int
    stdout: bytes
    stderr: str
    tree: Tree
    calls: list[Call]


@dataclass(frozen=True, slots=True)
class Stage:
    """A scene that is set up: its initial files, and the result of an undisturbed run."""

    scene: Scene
    old: Tree
    new: Tree
    stdout: bytes
    calls: tuple[Call, ...]

    def setting(self, folder: Path) -> Path:
        """A fresh folder as it is before the run."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in sorted(self.old.items()):
            if content is None:
                (folder / name).mkdir()
            else:
                (folder / name).write_bytes(content)
        return folder

    def calls_of(self, *kinds: str, who: str = "main") -> list[Call]:
        """The calls of these kinds by the process that makes most of them."""
        calls: dict[int, list[Call]] = {}
        for call in self.calls:
            if call.who == who and call.kind in kinds:
                calls.setdefault(call.process, []).append(call)
        return max(calls.values(), key=len, default=[])

    def count(self, *kinds: str) -> int:
        """The number of calls of these kinds."""
        return len(self.calls_of(*kinds))


@dataclass(frozen=True, slots=True)
class Rig:
    """The tools of a test: scenes that are set up, and a folder to run them in."""

    base: Path
    here: Path
    tell: Callable[[str, object], None]

    @property
    def library(self) -> Path:
        """The shim, compiled once per process."""
        return shim(self.base)

    def set(self, name: str, *, counted: bool = True) -> Stage:
        """A scene, set up once per process; its system calls are counted."""
        return _staged(name, self.base, counted)

    def meet(self, given: Stage, fault: Fault, **counting: str) -> Done:
        """Run a scene with a fault in a fresh folder."""
        return run(given.scene, given.setting(self.here), self.library, fault, counting)

    def meet_at_lines(self, given: Stage, number: int, most: int) -> list[tuple[Path, int, str]]:
        """Send a signal before lines of Python, one per run; return the folders and outcomes."""
        folders = [given.setting(self.here.with_name(f"here_{at}")) for at in range(most + 2)]
        asked = [given.scene.words.split(), number, [str(folder) for folder in folders]]
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("stress_lines.py"))],
            input=json.dumps(asked).encode(),
            env={**surroundings(self.here), "PYTHONPATH": str(Path(__file__).parent)},
            stdout=subprocess.PIPE,
            check=True,
        )
        ended = json.loads(done.stdout)
        return [(folder, *end) for folder, end in zip(folders[2:], ended, strict=True)]

    def begin(self, given: Stage) -> "subprocess.Popen[bytes]":
        """Start a run in a fresh folder."""
        return begin(given.scene, given.setting(self.here))


def tree_of(folder: Path) -> Tree:
    """The contents of a folder."""
    return {
        str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of a run: no code or settings are loaded from the folder."""
    return {**os.environ, "PYTHONSAFEPATH": "1", "TMPDIR": str(folder.parent)}


def command(words: str) -> list[str]:
    """The command line of the program with these arguments."""
    return [sys.executable, "-m", "prefpairs", *words.split()]


def run(
    scene: Scene,
    folder: Path,
    library: Path | None = None,
    fault: Fault = NOTHING,
    counting: Mapping[str, str] | None = None,
) -> Done:
    """Run a scene to its end, with at most one fault.

    Calls about the folder count, unless `counting` tells the shim otherwise.
    """
    trace = folder.parent / f"{folder.name}.trace"
    trace.unlink(missing_ok=True)
    env = surroundings(folder)
    if library is not None:
        env |= {"LD_PRELOAD": str(library), "FAULT_TRACE": str(trace), "FAULT_FOLDER": str(folder)}
        env |= {**fault.told, **(counting or {})}
    with ExitStack() as stack:
        ended = subprocess.run(
            command(scene.words),
            input=(folder / scene.fed).read_bytes() if scene.fed else b"",
            stdout=stack.enter_context(open(folder / scene.redirected, "wb"))
            if scene.redirected
            else subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=env,
            timeout=60,
            check=False,
        )
    calls = calls_in(trace) if library else []
    stderr = ended.stderr.decode()
    return Done(ended.returncode, ended.stdout or b"", stderr, tree_of(folder), calls)


def begin(scene: Scene, folder: Path) -> "subprocess.Popen[bytes]":
    """Start a run in a process group of its own."""
    return subprocess.Popen(
        command(scene.words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=surroundings(folder),
        start_new_session=True,
    )


def gone(group: int) -> bool:
    """Whether all processes of a group end within a few seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


@cache
def _staged(name: str, base: Path, counted: bool) -> Stage:
    here = base / f"scene_{[*SCENES].index(name)}_{counted}"
    here.mkdir()
    return stage(SCENES[name], here, shim(base) if counted else None)


def stage(scene: Scene, here: Path, library: Path | None = None) -> Stage:
    """Set up a scene: an earlier run over more rows, then the inputs, then the expected result."""
    if scene.before is not None:
        more = data(2)
        for given in scene.inputs:
            (here / given).parent.mkdir(parents=True, exist_ok=True)
            (here / given).write_bytes(more[given])
        subprocess.run(
            command(scene.before),
            cwd=here,
            env=surroundings(here),
            capture_output=True,
            check=True,
        )
    for given in scene.inputs:
        (here / given).parent.mkdir(parents=True, exist_ok=True)
        (here / given).write_bytes(data()[given])
    old = tree_of(here)
    done = run(scene, here, library)
    assert (done.code, "error" in done.stderr) == (0, False), done.stderr
    return Stage(scene, old, done.tree, done.stdout, tuple(done.calls))


def spots(count: int, most: int) -> list[int]:
    """Numbers from 1 to a count: all, or this many of them, including the first and the last.

    >>> spots(3, 9), spots(101, 5)
    ([1, 2, 3], [1, 26, 51, 76, 101])
    """
    if count <= most:
        return [*range(1, count + 1)]
    return [1 + round((count - 1) * place / max(1, most - 1)) for place in range(most)]


def problems_of_tree(given: Stage, tree: Tree, allowed: frozenset[str] = frozenset()) -> list[str]:
    """Find what is wrong in a folder: each file must be completely old or completely new.

    The files of a family must all be from the old run or all from the new one. Files that begin
    with
    one of the `allowed` names may be left over.
    """
    scene, old, new = given.scene, given.old, given.new
    problems = [
        f"{name} was left behind"
        for name in tree
        if name not in old and name not in new and not any(map(name.startswith, allowed))
    ]
    problems += [
        f"input {name} was changed" for name in scene.inputs if tree.get(name) != old[name]
    ]
    family = [name for name in {**old, **new} if _is_of(name, scene.family)]
    for name in {**old, **new}:
        if name == scene.redirected or (name == scene.summary and _is_json(tree.get(name))):
            continue  # a failed run writes a summary, too
        if name in tree and tree[name] not in (old.get(name, b"?"), new.get(name, b"?")):
            problems.append(f"{name} is neither the old nor the new one")
        if name not in family and name not in tree and name in old and name in new:
            problems.append(f"{name} is gone")
    there = {name: tree[name] for name in family if name in tree}
    if not (there.items() <= old.items() or there.items() <= new.items()):
        problems.append(f"{scene.family} holds old and new files: {sorted(there)}")
    if scene.family and scene.family not in old and there:
        missing = [name for name in family if name not in there]
        if missing:
            problems.append(f"{scene.family} appeared without {missing}")
    return problems


def _is_json(content: bytes | None) -> bool:
    try:
        json.loads(content or b"")
    except ValueError:
        return False
    return True


def _is_of(name: str, family: str | None) -> bool:
    """Whether a file is one of those that appear together, including the manifest."""
    return family is not None and name.startswith(f"{family}/")
