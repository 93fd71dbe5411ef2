"""Each system call about files fails once: no data is lost, and the run reports the failure."""

import errno
import os
import re
from collections.abc import Iterator, Sequence

import pytest
from stress_kit import Done, Rig, Stage, problems_of_tree, spots
from stress_scenes import SCENES
from stress_shim import Call, Fault

from prefpairs.engine.native import native_core

ACTIONS: dict[str, list[tuple[str, int, bool]]] = {
    "open": [
        ("errno", errno.EACCES, False),
        ("errno", errno.EIO, False),
        ("errno", errno.EINTR, False),
    ],
    "read": [
        ("errno", errno.EIO, False),
        ("errno", errno.EIO, True),
        ("errno", errno.EINTR, False),
        ("short", 0, False),
    ],
    "write": [
        ("errno", errno.ENOSPC, False),
        ("errno", errno.ENOSPC, True),
        ("errno", errno.EIO, False),
        ("errno", errno.EINTR, False),
        ("short", 0, False),
        ("short", 0, True),
    ],
    "fsync": [
        ("errno", errno.EIO, False),
        ("errno", errno.ENOSPC, True),
        ("errno", errno.EINTR, False),
    ],
    "rename": [
        ("errno", errno.EIO, False),
        ("errno", errno.EACCES, False),
        ("errno", errno.ENOSPC, True),
        ("errno", errno.EINTR, False),
    ],
    "link": [("errno", errno.EPERM, False)],
    "unlink": [("errno", errno.EACCES, False), ("errno", errno.EIO, True)],
    "close": [("errno", errno.EIO, False), ("errno", errno.EINTR, False)],
    "mkdir": [("errno", errno.ENOSPC, False), ("errno", errno.EACCES, False)],
    "truncate": [("errno", errno.EIO, False)],
    "chmod": [("errno", errno.EACCES, False)],
    "stat": [("errno", errno.EIO, False)],
    "seek": [("errno", errno.EIO, False)],
    "lock": [("errno", errno.ENOLCK, True), ("errno", errno.EINTR, False)],
}
"""The faults for each kind of call: action, error number, and whether later calls fail, too."""

RETRIED = {"open", "read", "write", "fsync", "truncate", "lock"}
"""Calls that are repeated after EINTR, so that the run is not affected."""

HARMLESS = {"link", "close", "chmod", "stat", "seek", "unlink", "lock"}
"""Calls that may fail without effect: the run may then succeed with complete output."""

_MOST = {"read": 3, "seek": 2}
"""How many calls of a kind fail per file; four for other kinds."""

_QUICK = ("open", "read", "write", "fsync", "rename", "unlink", "stat")

QUICK = ("pair of agents", "split, over an old one", "run, a folder")

every_scene = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.stress) for name in SCENES],
)

SENTENCE = re.compile(r"error: [^\n:]+: [^\n]+\n(\nhint: [^\n]+\n)?")


def places_of(given: Stage, kind: str, who: str, most: int) -> list[int]:
    """The numbers of the calls that fail: at most this many per system call and file."""
    calls = given.calls_of(kind, who=who)
    alike: dict[tuple[str, str], list[int]] = {}
    for at, call in enumerate(calls, 1):
        # stat calls on outputs decide about them; those on inputs are too many.
        if kind != "stat" or os.path.basename(call.path) not in given.scene.inputs:
            alike.setdefault((call.call, call.path), []).append(at)
    return [places[spot - 1] for places in alike.values() for spot in spots(len(places), most)]


def faults_of(given: Stage, kind: str) -> Iterator[Fault]:
    """All faults of a kind."""
    for who in ("main", "worker"):
        for at in places_of(given, kind, who, _MOST.get(kind, 4)):
            for action, number, sticky in ACTIONS[kind]:
                yield Fault(kind, at, action, number, sticky, who)


def problems_of(given: Stage, fault: Fault, done: Done) -> list[str]:
    """The promises that a run broke when it met a fault."""
    struck = [call for call in done.calls if call.struck]
    if not struck:
        return ["the fault was not met"]
    if "<no Python frame>" in done.stderr:
        return []  # the interpreter checks its own descriptors before it runs any code
    root = os.path.commonpath([call.path for call in done.calls])
    around = {os.path.relpath(call.path, root) for call in struck if call.kind == "unlink"}
    around |= {os.path.dirname(path) for path in around if "/.old." in path}
    if fault.kind == "rename" and fault.sticky:  # nor can old files be moved back
        around |= {name for name in done.tree if "/.old." in name}
    problems = problems_of_tree(given, done.tree, frozenset(around))
    codes = _codes(fault, done.calls)
    if done.code not in codes:
        problems.append(f"exit code {done.code} is not of {codes}")
    if done.code == 0:
        wrong = {name for name in given.new if done.tree.get(name, b"?") != given.new[name]}
        problems += [f"it ended well without the right {name}" for name in sorted(wrong)]
        if done.stdout != given.stdout:
            problems.append("it ended well with another standard output")
    else:
        problems += _problems_of_words(fault, done)
        if not given.stdout.startswith(done.stdout):
            problems.append("standard output is no part of the right one")
    where = f"{struck[0].call} {os.path.basename(struck[0].path)}"
    return [f"{fault} ({where}): {problem}; {done.stderr!r}" for problem in problems]


def _problems_of_words(fault: Fault, done: Done) -> Iterator[str]:
    """The message must be one line that names a file and gives the system's error."""
    if not SENTENCE.fullmatch(done.stderr):
        yield "standard error is not one sentence that names a file"
    elif fault.kind != "stat" and os.strerror(fault.number) not in done.stderr:
        yield "the sentence does not say what the system said"


def _codes(fault: Fault, calls: Sequence[Call]) -> set[int]:
    """The exit codes that are correct for a fault."""
    if fault.action == "short" or (fault.number == errno.EINTR and fault.kind in RETRIED):
        return {0}
    if fault.kind in HARMLESS or fault.who == "worker":
        return {0, 5}
    struck = next(call for call in calls if call.struck)
    if struck.call.startswith("pread") and not fault.sticky and native_core() is not None:
        return {0, 5}  # Python reads again what the core cannot read
    # Some file systems cannot sync a folder. A folder may not support unnamed files; a named
    # file is used instead. A folder that already exists need not be created.
    asked_before = any(call.kind == "mkdir" and call.path in struck.path for call in calls)
    return {0, 5} if _is_folder(struck, calls) or asked_before else {5}


def _is_folder(struck: Call, calls: Sequence[Call]) -> bool:
    path = os.path.normpath(struck.path)
    return any(os.path.dirname(call.path) == path for call in calls)


@pytest.mark.stress
@pytest.mark.parametrize("kind", ACTIONS)
@pytest.mark.parametrize("name", SCENES)
def test_no_fault_loses_anything(name: str, kind: str, rig: Rig) -> None:
    """A failing call exits 5 with one error line, or 0 with complete output; no litter."""
    given = rig.set(name)
    faults = [*faults_of(given, kind)]
    met = ((fault, rig.meet(given, fault)) for fault in faults)
    problems = [problem for fault, done in met for problem in problems_of(given, fault, done)]
    rig.tell("faults", len(faults))
    assert problems == []


@pytest.mark.parametrize("name", ["pair", "split, over an old one"])
def test_hardly_any_fault_loses_anything(name: str, rig: Rig) -> None:
    """The quick part of the test above: one call of each kind per file."""
    given = rig.set(name)
    faults = [
        Fault(kind, at, *ACTIONS[kind][0])
        for kind in _QUICK
        for at in places_of(given, kind, "main", 1)
    ]
    met = ((fault, rig.meet(given, fault)) for fault in faults)
    problems = [problem for fault, done in met for problem in problems_of(given, fault, done)]
    rig.tell("faults", len(faults))
    assert problems == []


@pytest.mark.stress
@pytest.mark.parametrize("at", range(1, 4))
@pytest.mark.parametrize("what", [("errno", errno.ENOSPC), ("short", 0)])
@pytest.mark.parametrize("sticky", [False, True])
def test_standard_output_is_written_whole_or_with_an_error(
    at: int, what: tuple[str, int], sticky: bool, rig: Rig
) -> None:
    """A failed write to a pipe exits 5; a short write is continued."""
    given = rig.set("pair to standard output")
    fault = Fault("write", at, *what, sticky)
    done = rig.meet(given, fault, FAULT_DESCRIPTOR="1")
    struck = any(call.struck for call in done.calls)
    right = 0 if what[0] == "short" or not struck else 5
    rig.tell("faults", int(struck))
    assert done.code == right
    assert (done.stdout == given.stdout) == (right == 0)
    assert given.stdout.startswith(done.stdout)
    assert right == 0 or done.stderr == "error: standard output: No space left on device\n"


@every_scene
def test_what_appears_is_on_the_disk(name: str, rig: Rig) -> None:
    """A file's bytes are synced before its rename, and its folder after it."""
    calls = [call for call in rig.set(name).calls if call.who == "main"]
    moved = [at for at, call in enumerate(calls) if call.kind == "rename"]
    for at in moved:
        path, target = calls[at].path, calls[at].target or ""
        assert _unsynced(calls[:at], path) == set()
        folder = os.path.dirname(target)
        if os.path.basename(folder).startswith(".old."):
            continue  # the old file, set aside; its content is no longer needed
        assert any(call.kind == "fsync" and call.path == folder for call in calls[at:])
    root = os.path.commonpath([call.path for call in calls])
    inputs = {os.path.join(root, given) for given in SCENES[name].inputs}
    written = {call.path for call in calls if call.kind == "write" and "#" not in call.path}
    assert bool(moved) or SCENES[name].redirected or "-o" not in SCENES[name].words
    assert not written & inputs


def _unsynced(calls: Sequence[Call], path: str) -> set[str]:
    """The writes to a path that were not synced since."""
    waiting = set()
    for call in calls:
        if call.kind == "write" and (call.path == path or call.path.startswith(f"{path}/")):
            waiting.add(call.path)
        if call.kind == "fsync":
            waiting.discard(call.path)
    return waiting


@pytest.mark.stress
@pytest.mark.parametrize(
    ("name", "kind"),
    [("pair", "read"), ("run, a folder", "read"), ("pair", "close"), ("filter", "close")],
)
def test_trouble_with_an_input_has_its_name(name: str, kind: str, rig: Rig) -> None:
    """A read error names the input, not the file being written."""
    given = rig.set(name)
    wrong = []
    for at in places_of(given, kind, "main", 3):
        fault = Fault(kind, at, "errno", errno.EIO)
        done = rig.meet(given, fault)
        struck = next(os.path.basename(call.path) for call in done.calls if call.struck)
        if done.code and struck in given.scene.inputs:
            wrong += [] if done.stderr.startswith(f"error: {struck}: ") else [(at, done.stderr)]
    assert wrong == []


@pytest.mark.stress
@pytest.mark.parametrize("kind", ["unlink", "rename"])
@pytest.mark.parametrize("name", ["split, over an old one", "export, over an old one"])
def test_a_folder_that_cannot_be_replaced_stays_as_it_was(name: str, kind: str, rig: Rig) -> None:
    """If an old file cannot be moved or a new one not renamed, all old files are restored."""
    given = rig.set(name)
    halves = []
    for at in range(1, given.count(kind) + 1):
        done = rig.meet(given, Fault(kind, at, "errno", errno.EACCES))
        there = {path: content for path, content in done.tree.items() if "tmp" not in path}
        if there not in (given.old, given.new):
            halves.append((at, sorted(there)))
    assert halves == []
