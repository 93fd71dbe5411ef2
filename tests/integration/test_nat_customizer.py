"""NAT's own trainer adapter and our `submit`, against the same double of the services.

So the double is not tailored to our client, and we send what NAT sends for the same pairs.
"""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from customizer_double import Double, running_double

CONSUMERS = Path(__file__).parents[1] / "consumers"
TOKEN = "sekret"  # noqa: S105 - the double wants it
IMAGE = "nvcr.io/nim/nvidia/nemotron-3.5-lightning-30b-a3b"
"""What NAT 1.9.0 deploys by default; its documentation names our default."""
OURS = {"name", "namespace", "custom_fields"}
"""Fields that identify a job whose answer was lost; NAT sends none of them."""

sys.path += [str(CONSUMERS), str(Path(__file__).parents[1] / "unit")]
from submit_kit import PATHS, submit, write_dataset  # noqa: E402
from venvs import python_of  # noqa: E402 - a program, not a package

asked = pytest.mark.skipif(
    os.environ.get("TRAINERS") not in ("quick", "all"),
    reason="`make test-integration` runs it, with TRAINERS=all or quick",
)
DEPLOY = ("--deploy-on-completion", "true", "--token-from", "env:TOK")
SCRIPT = [
    {"status": "created", "percentage_done": 0.0},
    {"status": "running", "percentage_done": 50.0, "epochs_completed": 1},
    {"status": "completed", "percentage_done": 100.0, "epochs_completed": 3},
]


def nat(double: Double, folder: Path, *words: str) -> dict[str, Any]:
    """What NAT's adapter, or only its SDKs, reported."""
    command = [python_of("nat_customizer"), str(CONSUMERS / "nat_customizer.py"), str(folder)]
    command += ["--url", double.url, "--token", TOKEN, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["error"] is None, answer["error"]
    facts: dict[str, Any] = answer["facts"]
    return facts


def dataset(folder: Path) -> Path:
    """Eight training rows and two validation rows, as NAT splits ten rows."""
    write_dataset(folder, count=8)
    path = folder / PATHS["customizer"][1]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    return folder


def rows_of(double: Double) -> dict[str, list[Any]]:
    """The rows that the service received."""
    files = double.repositories["games/moves"]
    return {
        path: [json.loads(line) for line in files[path].splitlines()]
        for path in PATHS["customizer"]
    }


def same(double: Double, line: str, besides: set[str]) -> list[dict[str, Any]]:
    """The bodies of requests without the fields that name a run."""
    return [
        {name: value for name, value in body.items() if name not in besides}
        for body in double.bodies(line)
    ]


def committed(double: Double) -> list[Any]:
    """The lines of all commits, without their messages."""
    seen = [one for one in double.seen if one.path.endswith("/commit/main")]
    lines = [json.loads(line) for one in seen for line in one.body.splitlines()]
    for line in lines:
        if line["key"] == "file":
            content = base64.b64decode(line["value"]["content"]).splitlines()
            line["value"]["content"] = [json.loads(row) for row in content]
    return [line for line in lines if line["key"] != "header"]


@asked
def test_the_same_requests(tmp_path: Path) -> None:
    """The bodies equal NAT's, except names, three fields of the job, and one commit, not two."""
    folder = dataset(tmp_path)
    with running_double(token=TOKEN, script=SCRIPT) as theirs:
        reference = nat(theirs, folder)["reference"]
        assert reference["status"] == "completed"
        assert reference["output_model"] == "default/tuned@cust-1"
    with running_double(token=TOKEN, script=SCRIPT) as ours:
        done = submit(ours, folder, *DEPLOY, "--image-name", IMAGE, env={"TOK": TOKEN})
        assert (done.returncode, done.stderr) == (0, "")
    assert rows_of(ours) == rows_of(theirs)
    assert committed(ours) == committed(theirs)
    for line, besides in {
        "POST /v1/namespaces": {"description"},
        "POST /v1/hf/api/repos/create": set[str](),
        "POST /v1/datasets": {"description"},
        "POST /v1/customization/jobs": OURS,
        "POST /v1/deployment/configs": {"name"},
        "POST /v1/deployment/model-deployments": {"name", "config"},
    }.items():
        assert same(ours, line, besides), line
        assert same(ours, line, besides) == same(theirs, line, besides)
        fields = [{*body} for body in ours.bodies(line)]
        extra = OURS if line.endswith("/jobs") else set()
        assert fields == [{*body} | extra for body in theirs.bodies(line)]


@asked
@pytest.mark.parametrize("lfs_from", [1, 10**9])
def test_the_sdks_read_what_we_created(lfs_from: int, tmp_path: Path) -> None:
    """The SDKs read our job, deployment, registered dataset and files, with LFS and without."""
    folder = dataset(tmp_path)
    with running_double(token=TOKEN, lfs_from=lfs_from) as double:
        done = submit(double, folder, *DEPLOY, env={"TOK": TOKEN})
        assert (done.returncode, done.stderr) == (0, "")
        facts = nat(double, folder, "--only-read")
    name = json.loads((folder / "submission.json").read_text())["name"]
    assert facts["jobs"] == [
        {
            "id": "cust-1",
            "output_model": "default/tuned@cust-1",
            "fields": {"prefpairs_submission": name},
        }
    ]
    deployment = {"name": f"{name}-deployment", "config": f"games/{name}-config"}
    assert facts["deployments"] == [{**deployment, "status": "ready"}]
    assert facts["files_url"] == "hf://datasets/games/moves"
    for path in PATHS["customizer"]:
        assert facts["files"][path]["size"] == (folder / path).stat().st_size
        assert (facts["files"][path]["sha256"] is not None) == (lfs_from == 1)


@asked
def test_nat_by_lfs(tmp_path: Path) -> None:
    """Large files of the adapter go through the double's LFS, too."""
    folder = dataset(tmp_path)
    with running_double(token=TOKEN, lfs_from=1, script=SCRIPT) as double:
        assert nat(double, folder)["reference"]["status"] == "completed"
        assert len(double.objects) == 2
