"""Faults of the service: no second job, no lost job, no secret anywhere."""

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from submit_kit import PATHS, events, options_for, record_of, started, submit, told, write_dataset

from customizer_double import Double, running_double
from prefpairs.cli.main import main

DEPLOY = ("--deploy-on-completion", "true")
WITH_TOKEN = ("--token-from", "env:TOK")
ENV = {"TOK": "sekret-token"}
REQUESTS = 14
"""The number of requests per generation, which test_submit_steps lists."""
KINDS = ("429", "500", "503", "before", "after", "500 after")

both = pytest.mark.parametrize("to", ["customizer", "customizer-rl"])


def assert_done_once(double: Double) -> None:
    """One job, one deployment."""
    assert (len(double.jobs), len(double.configs), len(double.deployments)) == (1, 1, 1)


@both
@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_at_each_request(to: str, kind: str, tmp_path: Path) -> None:
    """Each request fails once, and the run continues to its end."""
    for number in range(REQUESTS):
        folder = write_dataset(tmp_path / str(number), to)
        with running_double(faults={number: kind}) as double:
            done = submit(double, folder, *DEPLOY, to=to)
            assert (number, done.returncode, done.stderr) == (number, 0, "")
            assert_done_once(double)


@both
@pytest.mark.full
@pytest.mark.parametrize("kind", ["500", "before", "after"])
def test_an_outage_at_each_request(to: str, kind: str, tmp_path: Path) -> None:
    """If the service is down from one request on, exit 5; --resume continues later."""
    for number in range(REQUESTS):
        folder = write_dataset(tmp_path / str(number), to)
        with running_double(faults=dict.fromkeys(range(number, number + 50), kind)) as double:
            done = submit(double, folder, *DEPLOY, to=to)
            assert (number, done.returncode) == (number, 5)
            double.faults.clear()
            again = submit(double, folder, *DEPLOY, "--resume", to=to)
            assert (number, again.returncode, again.stderr) == (number, 0, "")
            assert_done_once(double)


def test_a_slow_answer_is_not_waited_for(tmp_path: Path) -> None:
    """A job whose answer was too slow is found, not submitted again."""
    folder = write_dataset(tmp_path)
    with running_double(faults={8: "slow"}) as double:
        done = submit(double, folder, "--request-timeout-seconds", "0.2")
        assert (done.returncode, len(double.jobs)) == (0, 1)


def test_a_refused_job_may_be_submitted_with_other_options(tmp_path: Path) -> None:
    """A rejected job shows the service's message and exits 1; other options may be submitted."""
    folder = write_dataset(tmp_path)
    with running_double(faults={8: "422"}) as double:
        done = submit(double, folder)
        assert done.returncode == 1
        assert done.stderr == (
            f"error: submit: POST {double.url}/v1/customization/jobs: HTTP 422: "
            "told to answer 422\n"
        )
        assert record_of(folder)["job"] is None
        again = submit(double, folder, "--resume", "--epochs", "1")
        assert again.returncode == 0
        assert double.bodies("POST /v1/customization/jobs")[-1]["hyperparameters"]["epochs"] == 1


def test_a_lost_job_is_found_on_a_later_page(tmp_path: Path) -> None:
    """A lost job is found on a later page of jobs, whatever the page size."""
    folder = write_dataset(tmp_path)
    faults = dict.fromkeys(range(8, 60), "after")
    with running_double(faults=faults) as double:
        assert submit(double, folder).returncode == 5
        double.faults.clear()
        for number in range(5):
            double.jobs[f"other-{number}"] = {"id": f"other-{number}", "name": "other"}
        assert submit(double, folder, "--resume").returncode == 0
        assert [job for job in double.jobs if job.startswith("cust")] == ["cust-1"]


def test_again_forgets_no_job(tmp_path: Path) -> None:
    """--again keeps earlier jobs in the record, including one whose creation is in doubt."""
    folder = write_dataset(tmp_path)
    with running_double() as double:
        assert submit(double, folder).returncode == 0
        assert submit(double, folder, "--again").returncode == 0
        assert record_of(folder)["earlier_jobs"] == ["cust-1"]
        job = len(double.seen) + 7
        double.faults = dict.fromkeys(range(job, job + 60), "before")
        assert submit(double, folder, "--again").returncode == 5
        in_doubt = record_of(folder)
        assert in_doubt["job"] == {"state": "asked"}
        assert submit(double, folder, "--again").returncode == 5
        assert record_of(folder) == in_doubt


def change(folder: Path, to: str) -> None:
    """Drop the first row of the training file."""
    path = folder / PATHS[to][0]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))


def submitted_in_doubt(double: Double, folder: Path, to: str, fault: str) -> None:
    """Submit until the request for the job fails; then the service works again."""
    double.faults = dict.fromkeys(range(8, 60), fault)
    assert submit(double, folder, to=to).returncode == 5
    assert record_of(folder)["job"] == {"state": "asked"}
    double.faults = {}


@both
@pytest.mark.parametrize(("fault", "before"), [("after", 1), ("before", 0)])
def test_changed_while_the_job_is_in_doubt(
    to: str, fault: str, before: int, tmp_path: Path
) -> None:
    """--again looks for the job: one that exists is recorded, then the new one is submitted."""
    folder = write_dataset(tmp_path, to)
    with running_double() as double:
        submitted_in_doubt(double, folder, to, fault)
        earlier = [*double.jobs]
        assert len(earlier) == before
        change(folder, to)
        for words in ((), ("--resume",)):
            refused = submit(double, folder, *words, to=to)
            assert refused.returncode == 2
            assert "hint: --again --overwrite submits this one in its place" in refused.stderr
        done = submit(double, folder, "--again", "--overwrite", to=to)
        assert done.returncode == 0, done.stderr
        found = "".join(f"note: job {job} of the earlier submission was found\n" for job in earlier)
        assert done.stderr == found
        assert len(double.jobs) == before + 1
        assert record_of(folder)["earlier_jobs"] == earlier
        assert record_of(folder)["job"]["id"] == [*double.jobs][-1]


@both
def test_again_submits_no_second_job_by_accident(to: str, tmp_path: Path) -> None:
    """If the job in doubt exists, it is recorded, and the user decides."""
    folder = write_dataset(tmp_path, to)
    with running_double() as double:
        submitted_in_doubt(double, folder, to, "after")
        plain = submit(double, folder, to=to)
        assert (plain.returncode, "hint: --resume finds out" in plain.stderr) == (2, True)
        (job,) = double.jobs
        refused = submit(double, folder, "--again", to=to)
        assert refused.returncode == 2
        assert f"was submitted after all (job {job})" in refused.stderr
        assert record_of(folder)["job"]["id"] == job
        assert submit(double, folder, "--resume", to=to).returncode == 0
        assert len(double.jobs) == 1
        assert submit(double, folder, "--again", to=to).returncode == 0
        assert len(double.jobs) == 2


def test_again_looks_where_the_job_was_asked_for(tmp_path: Path) -> None:
    """--again looks in the job's namespace, and rejects another host, naming the right one."""
    folder = write_dataset(tmp_path, "customizer-rl")
    with running_double() as double, running_double() as other:
        submitted_in_doubt(double, folder, "customizer-rl", "after")
        change(folder, "customizer-rl")
        in_doubt = record_of(folder)
        refused = submit(other, folder, "--again", to="customizer-rl")
        assert refused.returncode == 2
        assert f"hint: --entity-host {double.url} looks for it there" in refused.stderr
        assert (other.seen, record_of(folder)) == ([], in_doubt)
        looks = len(double.seen)
        options = options_for(double, "customizer-rl")
        options[options.index("games")] = "elsewhere"
        done = told("submit", "customizer-rl", str(folder), *options, "--again")
        assert done.returncode == 0, done.stderr
        assert double.seen[looks].line.endswith("/workspaces/games/rl/jobs")
        assert record_of(folder)["earlier_jobs"] == [next(iter(double.jobs))]
        assert (len(double.jobs), record_of(folder)["options"]["namespace"]) == (2, "elsewhere")


@pytest.mark.parametrize("kind", ["401", "403"])
def test_no_entry(kind: str, tmp_path: Path) -> None:
    """Exits 5 and says how to pass a token."""
    folder = write_dataset(tmp_path)
    with running_double(faults={2: kind}) as double:
        done = submit(double, folder)
    assert done.returncode == 5
    assert f"HTTP {kind}" in done.stderr
    assert "hint: --token-from env:NAME" in done.stderr


def test_a_token_that_expires_is_read_again(tmp_path: Path) -> None:
    """A token that expires is read again from its file."""
    folder = write_dataset(tmp_path / "data")
    place = tmp_path / "token"
    place.write_text("old-token\n")
    with running_double(token="old-token", script=[{"status": "running"}]) as double:  # noqa: S106
        process = started(double, folder, "--token-from", str(place), to="customizer")
        while not double.looks:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        double.token = "new-token"  # noqa: S105
        done = submit(double, folder, "--again", "--token-from", str(place))
        assert done.returncode == 5
        assert "old-token" not in done.stderr
        place.write_text("new-token\n")
        words = ("--resume", "--no-wait", "--token-from", str(place))
        assert submit(double, folder, *words).returncode == 0
        assert len(double.jobs) == 2


@both
def test_secrets_are_nowhere(to: str, tmp_path: Path) -> None:
    """Secrets are in no output, error, record or dry run, even if the service repeats them."""
    folder = write_dataset(tmp_path, to)
    with running_double(token="another") as double:  # noqa: S106
        done = submit(double, folder, *WITH_TOKEN, to=to, env=ENV)
        assert done.returncode == 5
        assert "bad token Bearer ***" in done.stderr
        dry = submit(double, folder, *WITH_TOKEN, "--dry-run", to=to, env=ENV)
        assert any("sekret-token" in str(seen.headers) for seen in double.seen)
    record = (folder / "submission.json").read_text()
    for text in (done.stdout, done.stderr, dry.stdout, dry.stderr, record):
        assert "sekret-token" not in text


def test_a_bug_shows_no_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tracebacks have code and places, no values."""
    folder = write_dataset(tmp_path)

    def broken(*_: object) -> None:
        raise KeyError

    monkeypatch.setattr("prefpairs.submit.http_client.HttpClient._answer", broken)
    monkeypatch.setenv("TOK", "sekret-token")
    with running_double() as double:
        code = main(["submit", "customizer", str(folder), *options_for(double), *WITH_TOKEN])
    told_all = "".join(capsys.readouterr())
    assert code == 70
    assert "Traceback" in told_all
    assert "sekret-token" not in told_all


@pytest.mark.parametrize("token", ["two words", "new\nline", "caf\u00e9"])
def test_a_token_that_no_header_holds(token: str, tmp_path: Path) -> None:
    """An invalid token is rejected without being quoted."""
    folder = write_dataset(tmp_path)
    with running_double() as double:
        done = submit(double, folder, *WITH_TOKEN, env={"TOK": token})
        assert double.seen == []
    assert done.returncode == 2
    assert done.stderr.startswith("error: the variable TOK is no token")
    assert token not in done.stderr


def test_redirects_are_not_followed(tmp_path: Path) -> None:
    """Redirects are not followed, not even to a known host."""
    folder = write_dataset(tmp_path)
    with running_double() as other, running_double(redirect_to=other.url) as double:
        done = submit(double, folder, *WITH_TOKEN, env=ENV)
        assert other.seen == []
    assert done.returncode == 1
    assert "redirects to" in done.stderr


def test_uploads_go_to_named_hosts_only(tmp_path: Path) -> None:
    """Large files go to another host only if the user allowed it."""
    folder = write_dataset(tmp_path)
    with running_double() as storage, running_double(lfs_from=1, lfs_host=storage.url) as double:
        refused = submit(double, folder)
        assert refused.returncode == 1
        assert storage.seen == []
        assert f"hint: if it is right: --storage-host {storage.url}" in refused.stderr
        assert "signature" not in refused.stderr
        storage.objects = double.objects
        done = submit(double, folder, "--resume", "--storage-host", storage.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert {seen.method for seen in storage.seen} == {"PUT"}


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here")
def test_tls_is_verified(tmp_path: Path) -> None:
    """An untrusted certificate is rejected; one given by the user is accepted."""
    import ssl

    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out"]
    subprocess.run([*command.split(), *names, str(certificate)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    folder = write_dataset(tmp_path / "data")
    with running_double(tls=context) as double:
        done = submit(double, folder)
        assert done.returncode == 5
        assert "127.0.0.1 has no valid certificate" in done.stderr
        assert double.seen == []
        trusted = submit(double, folder, "--resume", env={"SSL_CERT_FILE": str(certificate)})
        assert (trusted.returncode, trusted.stderr) == (0, "")


def test_no_server(tmp_path: Path) -> None:
    """The command exits 5 after a few attempts if there is no server."""
    folder = write_dataset(tmp_path)
    with running_double() as double:
        pass
    done = submit(double, folder)
    assert done.returncode == 5
    assert done.stderr == (
        f"error: namespace: POST {double.url}/v1/namespaces: Connection refused, 4 times\n"
    )


def test_ctrl_c_leaves_the_job_alone(tmp_path: Path) -> None:
    """After Ctrl-C, the message says how to continue, and `watch` does."""
    folder = write_dataset(tmp_path)
    with running_double(script=[{"status": "running"}]) as double:
        process = started(double, folder)
        while double.looks < 3:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate()
        assert process.returncode == 130
        assert error == (
            f"note: job cust-1 goes on without us\n"
            f"  look:   prefpairs submit watch {folder}\n"
            f"  cancel: prefpairs submit cancel {folder}\n"
        )
        double.script = [{"status": "completed"}]
        again = told("submit", "watch", str(folder))
        assert [event["status"] for event in events(again)] == ["completed"]


def test_two_at_once(tmp_path: Path) -> None:
    """A second run at the same time is rejected until the job is submitted."""
    folder = write_dataset(tmp_path)
    with running_double(faults={8: "slow"}) as double:
        process = started(double, folder)
        while len(double.seen) < 9:
            time.sleep(0.01)
        done = submit(double, folder, "--again")
        process.communicate()
        assert done.returncode == 2
        assert f"{folder}: another `submit` is running already" in done.stderr
        assert len(double.jobs) == 1
