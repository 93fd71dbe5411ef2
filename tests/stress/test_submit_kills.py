"""`submit`, killed at each of its requests, continues with --resume: one job, one deployment."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from customizer_double import Double, running_double

sys.path.append(str(Path(__file__).parents[1] / "unit"))
from submit_kit import PATHS, record_of, started, submit, write_dataset

DEPLOY = ("--deploy-on-completion", "true")
REQUESTS = 14
"""The number of requests of a run; they are listed in test_submit_steps."""

both = pytest.mark.parametrize("to", ["customizer", "customizer-rl"])


def killed_at(number: int, kind: str, to: str, folder: Path) -> Callable[[Double], None]:
    """Run a submission that is killed with `kill -9` at a request."""

    def run(double: Double) -> None:
        double.faults = {number: kind}
        process = started(double, folder, *DEPLOY, to=to)
        double.kill = process.kill
        _, error = process.communicate(timeout=60)
        assert (process.returncode, error) == (-9, "")

    return run


def assert_done_once(double: Double, folder: Path, to: str) -> None:
    """Resume, and check that there is one job, one configuration and one deployment."""
    done = submit(double, folder, *DEPLOY, "--resume", to=to)
    assert (done.returncode, done.stderr) == (0, "")
    assert (len(double.jobs), len(double.configs), len(double.deployments)) == (1, 1, 1)
    for path in PATHS[to]:
        assert double.repositories["games/moves"][path] == (folder / path).read_bytes()
    assert record_of(folder)["deployment"]["state"] == "ready"
    assert [path.name for path in folder.iterdir() if path.suffix == ".tmp"] == []


@both
@pytest.mark.stress
@pytest.mark.parametrize("kind", ["kill before", "kill after"])
@pytest.mark.parametrize("number", range(REQUESTS))
def test_kill_at_each_request(number: int, kind: str, to: str, tmp_path: Path) -> None:
    """Killed before or after the service carries out a request, the submission can be resumed."""
    folder = write_dataset(tmp_path / "data", to)
    with running_double() as double:
        killed_at(number, kind, to, folder)(double)
        assert_done_once(double, folder, to)


@both
@pytest.mark.full
def test_kill_after_the_job_is_created(to: str, tmp_path: Path) -> None:
    """A kill right after the job was created neither loses it nor submits it twice."""
    folder = write_dataset(tmp_path / "data", to)
    with running_double() as double:
        killed_at(8, "kill after", to, folder)(double)
        assert len(double.jobs) == 1
        assert record_of(folder)["job"] == {"state": "asked"}
        assert_done_once(double, folder, to)


@both
@pytest.mark.stress
def test_kill_twice(to: str, tmp_path: Path) -> None:
    """A second kill, during the resumed run, is survived, too."""
    for number in range(1, REQUESTS):
        folder = write_dataset(tmp_path / str(number), to)
        with running_double() as double:
            killed_at(8, "kill after", to, folder)(double)
            before = len(double.seen)
            double.faults = {before + number: "kill after"}
            process = started(double, folder, *DEPLOY, "--resume", to=to)
            double.kill = process.kill
            process.communicate(timeout=60)
            assert process.returncode in (0, -9)
            double.faults = {}
            assert_done_once(double, folder, to)
