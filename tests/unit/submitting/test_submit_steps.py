"""`submit`: the steps and their requests, also if something already exists."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from submit_kit import MODEL, PATHS, events, record_of, submit, told, write_dataset

from customizer_double import running_double

DEPLOY = ("--deploy-on-completion", "true")

FIRST = [
    "POST /v1/namespaces",
    "POST /v1/datastore/namespaces",
    "POST /v1/hf/api/repos/create",
    "GET /v1/hf/api/datasets/games/moves/tree/main",
    "POST /v1/hf/api/datasets/games/moves/preupload/main",
    "POST /v1/hf/api/datasets/games/moves/commit/main",
    "GET /v1/hf/api/datasets/games/moves/tree/main",
    "POST /v1/datasets",
    "POST /v1/customization/jobs",
    "GET /v1/customization/jobs/cust-1/status",
    "POST /v1/deployment/configs",
    "POST /v1/deployment/model-deployments",
    "GET /v1/deployment/model-deployments/games/NAME-deployment",
    "GET /v1/deployment/model-deployments/games/NAME-deployment",
]
_WORKSPACE = "/v2/workspaces/games"
SECOND = [
    "POST /apis/entities/v2/workspaces",
    f"POST /apis/files{_WORKSPACE}/filesets",
    f"GET /apis/files{_WORKSPACE}/filesets/moves/files",
    f"PUT /apis/files{_WORKSPACE}/filesets/moves/-/training.jsonl",
    f"PUT /apis/files{_WORKSPACE}/filesets/moves/-/validation.jsonl",
    f"GET /apis/files{_WORKSPACE}/filesets/moves/files",
    f"GET /apis/files{_WORKSPACE}/filesets/moves/-/training.jsonl",
    f"GET /apis/files{_WORKSPACE}/filesets/moves/-/validation.jsonl",
    f"POST /apis/customization{_WORKSPACE}/rl/jobs",
    f"GET /apis/customization{_WORKSPACE}/rl/jobs/rl-1/status",
    f"POST /apis/models{_WORKSPACE}/deployment-configs",
    f"POST /apis/models{_WORKSPACE}/deployments",
    f"GET /apis/models{_WORKSPACE}/deployments/NAME-deployment",
    f"GET /apis/models{_WORKSPACE}/deployments/NAME-deployment",
]
LINES = {"customizer": FIRST, "customizer-rl": SECOND}

both = pytest.mark.parametrize("to", ["customizer", "customizer-rl"])


@both
def test_from_a_dataset_to_a_deployed_model(to: str, tmp_path: Path) -> None:
    """The requests are in order, the files arrive, and the record has all steps."""
    folder = write_dataset(tmp_path, to)
    with running_double() as double:
        done = submit(double, folder, *DEPLOY, to=to)
    assert (done.returncode, done.stderr) == (0, "")
    name = record_of(folder)["name"]
    assert [line.replace(name, "NAME") for line in double.lines()] == LINES[to]
    files = double.repositories["games/moves"]
    for path in PATHS[to]:
        assert files[path] == (folder / path).read_bytes()
    assert [event["step"] for event in events(done)][-1] == "ready"
    assert record_of(folder)["deployment"]["state"] == "ready"


@both
def test_a_dry_run_shows_the_requests_of_a_run(to: str, tmp_path: Path) -> None:
    """--dry-run shows all requests with bodies, except waiting; nothing connects or is written."""
    folder = write_dataset(tmp_path, to)
    with running_double(token="sekret") as double:  # noqa: S106
        words = (*DEPLOY, "--token-from", "env:TOK")
        env = {"TOK": "sekret"}
        dry = submit(double, folder, *words, "--dry-run", to=to, env=env)
        assert double.seen == []
        assert not (folder / "submission.json").exists()
        done = submit(double, folder, *words, to=to, env=env)
        assert (dry.returncode, done.returncode) == (0, 0)
        job = next(iter(double.jobs))
        real = [seen.line for seen in double.seen]
    told_lines = [line[12:] for line in dry.stdout.splitlines()]
    shown = [line.replace(double.url, "") for line in told_lines if double.url in line]
    name = record_of(folder)["name"]
    expected = [line.replace(name, "prefpairs-NAME").replace(job, "JOB") for line in real]
    assert [line.partition("?")[0] for line in shown] == expected[:-1]
    assert "sekret" not in dry.stdout + dry.stderr
    assert "Authorization: Bearer *** (from env:TOK)" in told_lines
    assert any(MODEL in line and '"epochs": 3' in line for line in told_lines)


def test_the_bodies_of_the_first_generation(tmp_path: Path) -> None:
    """Each field is as expected."""
    folder = write_dataset(tmp_path)
    with running_double() as double:
        assert submit(double, folder, *DEPLOY).returncode == 0
    name = record_of(folder)["name"]
    assert double.bodies("POST /v1/customization/jobs") == [
        {
            "config": MODEL,
            "dataset": {"name": "moves", "namespace": "games"},
            "hyperparameters": {
                "training_type": "dpo",
                "finetuning_type": "all_weights",
                "epochs": 3,
                "batch_size": 4,
                "learning_rate": 5e-05,
                "dpo": {
                    "ref_policy_kl_penalty": 0.1,
                    "preference_loss_weight": 1.0,
                    "preference_average_log_probs": False,
                    "sft_loss_weight": 0.0,
                },
            },
            "name": name,
            "namespace": "games",
            "custom_fields": {"prefpairs_submission": name},
        }
    ]
    assert double.bodies("POST /v1/datasets") == [
        {
            "files_url": "hf://datasets/games/moves",
            "description": f"Preference pairs of {name}",
            "name": "moves",
            "namespace": "games",
        }
    ]
    assert double.bodies("POST /v1/deployment/configs") == [
        {
            "description": "Fine-tuned model deployment",
            "model": "default/tuned@cust-1",
            "name": f"{name}-config",
            "namespace": "games",
            "nim_deployment": {
                "image_name": "nvcr.io/nim/meta/llama-3.1-8b-instruct",
                "image_tag": "latest",
                "gpu": 1,
            },
        }
    ]
    commit = next(seen for seen in double.seen if seen.path.endswith("/commit/main"))
    rows = [json.loads(line) for line in commit.body.splitlines()]
    assert [row["key"] for row in rows] == ["header", "file", "file"]
    content = base64.b64decode(rows[1]["value"]["content"])
    assert content == (folder / PATHS["customizer"][0]).read_bytes()


def test_large_files_go_by_lfs(tmp_path: Path) -> None:
    """Uploaded by SHA-256 where the store says, with its headers and without the user's token."""
    folder = write_dataset(tmp_path, count=500)
    with running_double(token="sekret", lfs_from=5000) as double:  # noqa: S106
        done = submit(double, folder, "--token-from", "env:TOK", env={"TOK": "sekret"})
        assert (done.returncode, done.stderr) == (0, "")
        sent = (folder / PATHS["customizer"][0]).read_bytes()
        assert double.objects[hashlib.sha256(sent).hexdigest()] == sent
        puts = [seen for seen in double.seen if seen.method == "PUT"]
        assert [seen.headers["x-upload"] for seen in puts] == ["signed-sekret"] * 2
        assert double.repositories["games/moves"][PATHS["customizer"][0]] == sent
        assert "sekret" not in done.stdout


@pytest.mark.full
@pytest.mark.parametrize("lfs_from", [1, 10**9])
def test_files_of_many_blocks(lfs_from: int, tmp_path: Path) -> None:
    """Half a megabyte arrives unchanged, as base64 and by LFS, with any size of the last block."""
    for count in (4000, 4001, 4002):
        folder = write_dataset(tmp_path / str(count), count=count)
        with running_double(lfs_from=lfs_from) as double:
            assert submit(double, folder).returncode == 0
            for path in PATHS["customizer"]:
                sent = (folder / path).read_bytes()
                assert len(sent) > 400_000
                assert double.repositories["games/moves"][path] == sent


def test_the_token_goes_to_the_data_store_only(tmp_path: Path) -> None:
    """Only the Data Store gets the token; without a token, there is no such header."""
    folder = write_dataset(tmp_path)
    with running_double() as double:
        assert submit(double, folder).returncode == 0
        assert [seen.line for seen in double.seen if "authorization" in seen.headers] == []
        double.seen.clear()
        words = ("--again", "--token-from", "env:TOK")
        assert submit(double, folder, *words, env={"TOK": "sekret"}).returncode == 0
        with_token = {seen.path for seen in double.seen if "authorization" in seen.headers}
    assert with_token == {
        "/v1/datastore/namespaces",
        "/v1/hf/api/repos/create",
        "/v1/hf/api/datasets/games/moves/tree/main",
    }


@both
def test_what_exists_is_left_as_it_is(to: str, tmp_path: Path) -> None:
    """A second submission of a dataset uploads no file again."""
    folder = write_dataset(tmp_path, to)
    with running_double() as double:
        assert submit(double, folder, to=to).returncode == 0
        commits = double.commits
        done = submit(double, folder, "--again", to=to)
        assert done.returncode == 0
        assert len(double.jobs) == 2
        assert double.commits == commits
    upload = next(event for event in events(done) if event["step"] == "upload")
    assert (upload["sent"], upload["files"]) == (0, 2)


@both
def test_files_of_another_run_are_not_overwritten_unasked(to: str, tmp_path: Path) -> None:
    """Files of another run are not overwritten, nor others left there, without --overwrite."""
    folder = write_dataset(tmp_path / "a", to)
    other = write_dataset(tmp_path / "b", to, count=5)
    with running_double() as double:
        assert submit(double, folder, to=to).returncode == 0
        stale = PATHS[to][0].replace(".jsonl", "_old.jsonl")
        double.repositories["games/moves"][stale] = b"{}\n"
        before = dict(double.repositories["games/moves"])
        refused = submit(double, other, to=to)
        assert refused.returncode == 1
        assert double.repositories["games/moves"] == before
        assert len(double.jobs) == 1
        assert f"games/moves has files of another run: {PATHS[to][0]}" in refused.stderr
        assert "hint: --dataset-name NAME takes another name" in refused.stderr
        done = submit(double, other, "--resume", "--overwrite", to=to)
        assert (done.returncode, done.stderr) == (0, "")
        files = double.repositories["games/moves"]
        assert files[PATHS[to][0]] == (other / PATHS[to][0]).read_bytes()
        assert stale not in files


def test_validation_of_another_run_is_not_used(tmp_path: Path) -> None:
    """Without a validation file, one from an earlier run must not be used."""
    train, val = PATHS["customizer"]
    folder = write_dataset(tmp_path / "a")
    other = write_dataset(tmp_path / "b", count=5)
    (other / val).unlink()
    with running_double() as double:
        assert submit(double, folder).returncode == 0
        stale = dict(double.repositories["games/moves"])[val]
        double.repositories["games/moves"] = {val: stale}
        refused = submit(double, other)
        assert refused.returncode == 1
        assert f"games/moves has files of another run: {val}" in refused.stderr
        done = submit(double, other, "--resume", "--overwrite")
        assert done.returncode == 0
        assert [*double.repositories["games/moves"]] == [train]


def test_a_dataset_of_other_files_under_the_same_name(tmp_path: Path) -> None:
    """A name registered with other files is rejected, since these would be trained on."""
    folder = write_dataset(tmp_path)
    with running_double() as double:
        double.datasets["games/moves"] = {"files_url": "hf://datasets/others/moves"}
        done = submit(double, folder)
    assert done.returncode == 1
    assert "registered with other files: hf://datasets/others/moves" in done.stderr
    assert double.jobs == {}


def test_a_dataset_that_would_be_lost_is_not_sent(tmp_path: Path) -> None:
    """A dataset that `validate` rejects is not sent."""
    folder = write_dataset(tmp_path)
    (folder / PATHS["customizer"][0]).write_text('{"prompt": "x", "chosen": "a"}\n')
    with running_double() as double:
        done = submit(double, folder)
        assert double.seen == []
    assert done.returncode == 4
    assert f"hint: prefpairs validate --to customizer {folder}" in done.stderr


def test_a_job_under_its_own_name(tmp_path: Path) -> None:
    """Both names are sent; an existing deployment with that name is not changed."""
    folder = write_dataset(tmp_path)
    words = (*DEPLOY, "--output-model", "games/tuned", "--deployment-name", "player")
    with running_double() as double:
        double.configs["games/other"] = {}
        double.deployments["games/player"] = {"config": "games/other", "name": "player"}
        done = submit(double, folder, *words)
        assert done.returncode == 1
        assert "deployment player exists already, of another model" in done.stderr
        del double.deployments["games/player"]
        again = told("submit", "watch", str(folder))
        assert (again.returncode, again.stderr) == (0, "")
        assert double.deployments["games/player"]["config"].startswith("games/prefpairs-")
        assert double.bodies("POST /v1/customization/jobs")[0]["output_model"] == "games/tuned"
        assert len(double.jobs) == 1


def test_no_validation_file(tmp_path: Path) -> None:
    """The service splits off validation rows itself, and a note says so."""
    folder = write_dataset(tmp_path)
    (folder / PATHS["customizer"][1]).unlink()
    with running_double() as double:
        done = submit(double, folder)
    assert done.returncode == 0
    assert "note: there is no validation file" in done.stderr


def test_no_wait(tmp_path: Path) -> None:
    """--no-wait submits the job without watching it."""
    folder = write_dataset(tmp_path)
    with running_double() as double:
        assert submit(double, folder, "--no-wait").returncode == 0
        assert double.looks == 0
        assert record_of(folder)["job"]["id"] == "cust-1"
        state = told("submit", "status", str(folder))
        assert json.loads(state.stdout) == {"job": "cust-1", "status": "completed"}


def test_a_job_by_its_id(tmp_path: Path) -> None:
    """A job without a dataset folder can be watched by its ID and host."""
    folder = write_dataset(tmp_path)
    with running_double(script=[{"status": "running"}]) as double:
        assert submit(double, folder, "--no-wait").returncode == 0
        hosts = ["--entity-host", double.url, "--datastore-host", double.url]
        assert json.loads(told("submit", "status", "cust-1", *hosts).stdout)["status"] == "running"
        assert json.loads(told("submit", "cancel", "cust-1", *hosts).stdout) == {
            "job": "cust-1",
            "status": "cancelled",
        }
        unknown = told("submit", "status", "cust-2", *hosts)
        assert unknown.returncode == 1
        assert "HTTP 404: job cust-2 not found" in unknown.stderr


def test_a_second_submission_needs_an_option(tmp_path: Path) -> None:
    """Submitting again requires --again; otherwise nothing is submitted."""
    folder = write_dataset(tmp_path)
    with running_double() as double:
        assert submit(double, folder).returncode == 0
        again = submit(double, folder)
        assert again.returncode == 2
        assert "this dataset was submitted before (job cust-1)" in again.stderr
        resumed = submit(double, folder, "--resume")
        assert resumed.returncode == 0
        assert len(double.jobs) == 1
        write_dataset(folder, count=7)
        changed = submit(double, folder, "--resume")
        assert changed.returncode == 2
        assert "the dataset is not the one that was submitted" in changed.stderr


_STATES: list[tuple[list[dict[str, Any]], int, str]] = [
    ([{"status": "created"}, {"status": "completed", "percentage_done": None}], 0, ""),
    (
        [
            {"status": "running", "percentage_done": "x", "train_loss": None},
            {"status": "ready"},
            {"status": "completed"},
        ],
        0,
        "",
    ),
    (
        [{"status": "failed", "status_logs": [{"detail": "CUDA out of memory"}]}],
        1,
        "error: watch: job cust-1 failed: CUDA out of memory\n",
    ),
    ([{"status": "cancelled"}], 6, "error: watch: job cust-1 was cancelled\n"),
    ([{"no": "status"}] * 9, 5, "has no status"),
]


@pytest.mark.parametrize(("script", "code", "error"), _STATES)
def test_how_a_job_ends(
    script: list[dict[str, Any]], code: int, error: str, tmp_path: Path
) -> None:
    """Each final state has its exit code; unknown ones do not crash."""
    folder = write_dataset(tmp_path)
    with running_double(script=script) as double:
        done = submit(double, folder)
    assert done.returncode == code
    assert error in done.stderr
    assert len(double.jobs) == 1


@pytest.mark.parametrize(("script", "code"), [(["pending"], 7), (["pending", "failed"], 1)])
def test_how_a_deployment_ends(script: list[str], code: int, tmp_path: Path) -> None:
    """A deployment may take too long or fail; `watch` waits again."""
    folder = write_dataset(tmp_path)
    with running_double(deployment_script=script) as double:
        done = submit(double, folder, *DEPLOY, "--deployment-timeout-seconds", "0.1")
        assert done.returncode == code
        double.deployment_script = ["ready"]
        again = told("submit", "watch", str(folder))
        assert (again.returncode, again.stderr) == (0, "")
    assert len(double.deployments) == 1


def test_what_a_watch_tells(tmp_path: Path) -> None:
    """Each change is printed once; fields that the service omits are omitted."""
    script: list[dict[str, object]] = [
        {"status": "created"},
        {"status": "created"},
        {"status": "running", "percentage_done": 33.3, "epochs_completed": 1, "train_loss": 0.61},
        {"status": "completed", "percentage_done": 100.0, "val_loss": 0.5},
    ]
    folder = write_dataset(tmp_path)
    with running_double(script=script) as double:
        done = submit(double, folder)
    watched = [event for event in events(done) if event["step"] == "watch"]
    job: dict[str, object] = {"step": "watch", "job": "cust-1"}
    assert watched == [job | script[0], job | script[2], job | script[3]]
