"""A disk that is really full, and a file that may really not grow, without the shim."""

import io
import resource
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from stress_kit import Rig, Stage, Tree, command, problems_of_tree, surroundings, tree_of

NAMES = (
    "extract",
    "pair",
    "pair from gzip",
    "pair to a dataset",
    "sample",
    "split, a new folder",
    "split, over an old one",
    "export to Parquet",
    "export, a new folder",
    "run, a folder",
    "bad rows put aside",
)
QUICK = "split, over an old one"

every_name = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == QUICK else pytest.mark.stress) for name in NAMES],
)

_ON_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size=$1 tmpfs "$2"
cp -r "$3/." "$2"
cd "$2"
shift 3
set +e
"$@" 1>&2
echo $? > "$CODE"
tar -cf - .
"""
"""Runs on a tmpfs of a given size; the final files are returned as an archive."""


def sizes_of(given: Stage) -> list[int]:
    """Sizes smaller than the largest file that is written."""
    changed = [name for name in given.new if given.new[name] != given.old.get(name)]
    largest = max(len(given.new[name] or b"") for name in changed)
    return [0, 1, 4096, largest // 2, largest - 1]


def problems_of(given: Stage, code: int, stderr: str, tree: Tree, said: str) -> list[str]:
    """The promises that a run broke when there was no space."""
    problems = problems_of_tree(given, tree)
    if code == 0 and tree != given.new:
        problems.append("it ended well without all it should write")
    if code and (code != 5 or stderr.count("\n") != 1 or not stderr.endswith(f": {said}\n")):
        problems.append("it is not exit 5 with one sentence")
    return [f"exit {code}: {problem}; {stderr!r}" for problem in problems]


@every_name
def test_a_file_that_may_not_grow_is_an_error(name: str, rig: Rig) -> None:
    """`ulimit -f` exits 5, and the old files stay."""
    given = rig.set(name, counted=False)
    problems = []
    for size in sizes_of(given):
        folder = given.setting(rig.here)
        done = subprocess.run(
            command(given.scene.words),
            cwd=folder,
            env=surroundings(folder),
            capture_output=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),  # noqa: B023 - at once
            check=False,
        )
        assert done.returncode == 5
        found = problems_of(given, 5, done.stderr.decode(), tree_of(folder), "File too large")
        problems += [f"{size} bytes: {problem}" for problem in found]
    rig.tell("faults", len(sizes_of(given)))
    assert problems == []


@pytest.mark.stress
@pytest.mark.parametrize("name", NAMES)
def test_a_disk_that_is_full_is_an_error(name: str, rig: Rig, tmp_path: Path) -> None:
    """On ever smaller disks, runs exit 5 and keep the old files, or write everything."""
    if not _can_mount(tmp_path):
        pytest.skip("nobody but root may mount anything here")
    given = rig.set(name, counted=False)
    told = 0
    room = sum(len(content or b"") + 4096 for content in given.old.values())
    problems, codes = [], set()
    for extra in (0, 8192, 65536, *(1 << size for size in range(17, 23))):
        code, stderr, tree = _on_a_small_disk(given, room + extra, rig.here, tmp_path)
        codes.add(code)
        found = problems_of(given, code, stderr, tree, "No space left on device")
        problems += [f"{extra:,} bytes left: {problem}" for problem in found]
        told += code != 0
    rig.tell("faults", told)
    assert problems == []
    assert codes == {0, 5}


def _can_mount(folder: Path) -> bool:
    unshare = shutil.which("unshare")
    mount = ["mount", "-t", "tmpfs", "tmpfs", str(folder)]
    return (
        unshare is not None
        and not subprocess.run(
            [unshare, "-Urm", *mount], capture_output=True, check=False
        ).returncode
    )


def _on_a_small_disk(given: Stage, size: int, here: Path, base: Path) -> tuple[int, str, Tree]:
    given.setting(here)
    disk = base / "disk"
    disk.mkdir(exist_ok=True)
    words = [str(size), str(disk), str(here), *command(given.scene.words)]
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", _ON_A_SMALL_DISK, "sh", *words],
        env={**surroundings(here), "CODE": str(base / "code")},
        capture_output=True,
        check=True,
    )
    ended = int((base / "code").read_text())
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(base / "seen", filter="data")
    tree = tree_of(base / "seen")
    shutil.rmtree(base / "seen")
    return ended, done.stderr.decode(), tree
