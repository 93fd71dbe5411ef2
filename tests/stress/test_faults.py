"""Every system call about files that can fail does, once: nothing is lost, and the run says so."""

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
"""What is done to calls of each kind: action, error number, and whether it goes on."""

RETRIED = {"open", "read", "write", "fsync", "truncate", "lock"}
"""What is asked again when a signal came between: the run must not even notice."""

HARMLESS = {"link", "close", "chmod", "stat", "seek", "unlink", "lock"}
"""What may fail and change nothing: then the run may end well, with all that it should write."""

_MOST = {"read": 3, "seek": 2}
"""So many of the calls of a kind about a file are struck; of the others four."""

_QUICK = ("open", "read", "write", "fsync", "rename", "unlink", "stat")

QUICK = ("pair of agents", "split, over an old one", "run, a folder")

every_scene = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.stress) for name in SCENES],
)

SENTENCE = re.compile(r"error: [^\n:]+: [^\n]+\n(\nhint: [^\n]+\n)?")


def places_of(given: Stage, kind: str, who: str, most: int) -> list[int]:
    """The numbers of calls to strike: so many at most of each system call about each file."""
    calls = given.calls_of(kind, who=who)
    alike: dict[tuple[str, str], list[int]] = {}
    for at, call in enumerate(calls, 1):
        # What is asked about outputs decides about them; of inputs it is asked too often.
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
    """What a run did wrong when it met a fault."""
    struck = [call for call in done.calls if call.struck]
    if not struck:
        return ["the fault was not met"]
    if "<no Python frame>" in done.stderr:
        return []  # the interpreter looks at its own descriptors before it runs anything
    root = os.path.commonpath([call.path for call in done.calls])
    around = {os.path.relpath(call.path, root) for call in struck if call.kind == "unlink"}
    around |= {os.path.dirname(path) for path in around if "/.old." in path}
    if fault.kind == "rename" and fault.sticky:  # nor can old files come back: they stay aside
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
    """One sentence that names a file and says what the system said."""
    if not SENTENCE.fullmatch(done.stderr):
        yield "standard error is not one sentence that names a file"
    elif fault.kind != "stat" and os.strerror(fault.number) not in done.stderr:
        yield "the sentence does not say what the system said"


def _codes(fault: Fault, calls: Sequence[Call]) -> set[int]:
    """The exit codes that are right for a fault."""
    if fault.action == "short" or (fault.number == errno.EINTR and fault.kind in RETRIED):
        return {0}
    if fault.kind in HARMLESS or fault.who == "worker":
        return {0, 5}
    struck = next(call for call in calls if call.struck)
    if struck.call.startswith("pread") and not fault.sticky and native_core() is not None:
        return {0, 5}  # what the core cannot read, Python reads again
    # A folder may be of a kind that cannot be synced; a folder for a file without a name may be
    # unable to hold one, and a file with a name takes its place; and one that is already there
    # need not be made.
    asked_before = any(call.kind == "mkdir" and call.path in struck.path for call in calls)
    return {0, 5} if _is_folder(struck, calls) or asked_before else {5}


def _is_folder(struck: Call, calls: Sequence[Call]) -> bool:
    path = os.path.normpath(struck.path)
    return any(os.path.dirname(call.path) == path for call in calls)


@pytest.mark.stress
@pytest.mark.parametrize("kind", ACTIONS)
@pytest.mark.parametrize("name", SCENES)
def test_no_fault_loses_anything(name: str, kind: str, rig: Rig) -> None:
    """Exit 5 with one sentence, or 0 with all that is right; files are old or new; no litter."""
    given = rig.set(name)
    faults = [*faults_of(given, kind)]
    met = ((fault, rig.meet(given, fault)) for fault in faults)
    problems = [problem for fault, done in met for problem in problems_of(given, fault, done)]
    rig.tell("faults", len(faults))
    assert problems == []


@pytest.mark.parametrize("name", ["pair", "split, over an old one"])
def test_hardly_any_fault_loses_anything(name: str, rig: Rig) -> None:
    """The quick part of the test above: one call of each kind about each file."""
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
    """A write to a pipe that fails is exit 5; one that falls short is gone on with."""
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
    """Before a file gets its name its bytes are synced, and afterwards its folder is."""
    calls = [call for call in rig.set(name).calls if call.who == "main"]
    moved = [at for at, call in enumerate(calls) if call.kind == "rename"]
    for at in moved:
        path, target = calls[at].path, calls[at].target or ""
        assert _unsynced(calls[:at], path) == set()
        folder = os.path.dirname(target)
        if os.path.basename(folder).startswith(".old."):
            continue  # put aside until the new ones have come; nobody looks for it there
        assert any(call.kind == "fsync" and call.path == folder for call in calls[at:])
    root = os.path.commonpath([call.path for call in calls])
    inputs = {os.path.join(root, given) for given in SCENES[name].inputs}
    written = {call.path for call in calls if call.kind == "write" and "#" not in call.path}
    assert bool(moved) or SCENES[name].redirected or "-o" not in SCENES[name].words
    assert not written & inputs


def _unsynced(calls: Sequence[Call], path: str) -> set[str]:
    """What was written below a path, and not synced since."""
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
    """A disk that cannot be read is not mistaken for the one that is written to."""
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
    """Where an old file may not go, or a new one not come, all old ones stand there again."""
    given = rig.set(name)
    halves = []
    for at in range(1, given.count(kind) + 1):
        done = rig.meet(given, Fault(kind, at, "errno", errno.EACCES))
        there = {path: content for path, content in done.tree.items() if "tmp" not in path}
        if there not in (given.old, given.new):
            halves.append((at, sorted(there)))
    assert halves == []
