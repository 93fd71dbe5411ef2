"""The data repository of examples/, run as its README says; a second run does nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "data-repo"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the example, like a fresh clone."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "repo"))


def _run(repository: Path, *command: str) -> str:
    """The standard output of a command, with prefpairs on the PATH."""
    scripts = Path(sys.executable).parent
    surroundings = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MAKE")  # of the make that runs us
    }
    done = subprocess.run(
        command,
        cwd=repository,
        capture_output=True,
        text=True,
        env={
            **surroundings,
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "DVC_NO_ANALYTICS": "1",
        },
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_make_twice(repository: Path) -> None:
    """Single steps and the recipe give the same splits; a second make does nothing."""
    _run(repository, "make")
    for side in ("train.jsonl", "val.jsonl"):
        stepwise = (repository / "steps" / side).read_bytes()
        assert stepwise == (repository / "recipe" / side).read_bytes()
        assert stepwise
    assert _run(repository, "make") == "make: Nothing to be done for 'all'.\n"
    _run(repository, "make", "verify")


def test_make_after_a_change_that_changes_nothing(repository: Path) -> None:
    """After a change without effect, the recipe runs again; steps on unchanged splits do not."""
    _run(repository, "make")
    rollouts = repository / "rollouts" / "step-200.jsonl"
    rollouts.write_bytes(rollouts.read_bytes() + b"\n")
    said = _run(repository, "make")
    assert "prefpairs run recipe.toml" in said
    assert "recipe/count.txt" not in said
    assert _run(repository, "make") == "make: Nothing to be done for 'all'.\n"


def test_dvc_twice(repository: Path) -> None:
    """DVC runs every step once."""
    dvc = shutil.which("dvc")
    if dvc is None:
        assert "EXAMPLES" not in os.environ, "`make examples` runs this with DVC"
        pytest.skip("DVC is not installed")
    _run(repository, dvc, "init", "--no-scm", "--quiet")
    assert "Running stage 'split'" in _run(repository, dvc, "repro")
    assert "Data and pipelines are up to date." in _run(repository, dvc, "repro")
