"""prefpairs submit: a dataset goes to a training service, which trains and deploys a model."""

import dataclasses
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from prefpairs.cli.commands.validate import ValidateOptions
from prefpairs.cli.submit_config import Configured, configured
from prefpairs.cli.terminal.safe_text import printable, write_stderr
from prefpairs.cli.terminal.submit_text import Teller, dry_run_text, watch_text
from prefpairs.engine.validate import validate as run_checks
from prefpairs.errors import OptionNeeds, ServiceRefused, UsageError, WouldBeLost
from prefpairs.files.file_lock import locked_file
from prefpairs.files.file_system import exists
from prefpairs.files.output import open_output
from prefpairs.files.standard_output import STDOUT
from prefpairs.ledger import ValidationLedger
from prefpairs.model.json_codec import encode_line
from prefpairs.option import REQUIRED, argument, one_of, options, options_in
from prefpairs.submit.dataset_files import files_of_dataset, listed
from prefpairs.submit.dry_run import DryRun
from prefpairs.submit.microservices import Microservices
from prefpairs.submit.platform_service import PlatformService
from prefpairs.submit.service import connect
from prefpairs.submit.service_token import Token
from prefpairs.submit.submission import (
    NAME,
    Submission,
    new_name,
    read_submission,
    record_path,
)
from prefpairs.submit.submit_dataset import Run, deploy_model, submit_dataset, watch_job
from prefpairs.submit.submit_options import ONLY_TYPED, SubmitOptions
from prefpairs.submit.training_service import TrainingService
from prefpairs.targets import target_named

SERVICES: dict[str, type[Microservices] | type[PlatformService]] = {
    "customizer": Microservices,
    "customizer-rl": PlatformService,
}
_ACTIONS = ("status", "watch", "cancel")


@options
class WhatToSubmit:
    """What is done, and with what."""

    action: str = argument(
        REQUIRED,
        metavar="customizer|customizer-rl|status|watch|cancel",
        help="Where to submit a dataset to; or what to do about a job.",
    )
    subject: str = argument(
        REQUIRED,
        metavar="DATASET|JOB",
        help="The directory of a dataset. For a job: the directory that was submitted, or its id.",
    )


def submit(*, words: WhatToSubmit, asked: SubmitOptions) -> None:
    """Submit a dataset to a training service, watch the job, deploy the model.

    Checks the dataset as `validate` does, creates namespace and dataset, uploads the files and
    verifies them, submits the job, watches it, and deploys the model if asked to. submission.json,
    in the directory of the dataset, says what was done: after an interruption, --resume goes on,
    and no job is submitted twice. Ctrl-C leaves the job running; `submit cancel` cancels it.

    Progress is shown on a terminal; otherwise, standard output gets a JSON object per step. Exit
    codes: 1 if the service refused something or the job failed, 5 if it cannot be reached, 6 if
    the job was cancelled, 7 if the model was not deployed in time. Only the hosts that are named
    are contacted, and no redirect is followed.

    Memory: constant.

        # every request that would be made
        prefpairs submit customizer data --config job.toml --dry-run

        prefpairs submit customizer data --config job.toml

        # after an interruption
        prefpairs submit customizer data --config job.toml --resume

        prefpairs submit watch data
        prefpairs submit cancel data
    """
    action = one_of("what to submit to, or action", words.action, *SERVICES, *_ACTIONS)
    if action in SERVICES:
        submit_folder(words.subject, action, asked)
    else:
        _about_job(action, words.subject, asked)


def submit_folder(
    folder: str, to: str, asked: SubmitOptions, carried_out: Collection[str] = ()
) -> None:
    """Submit the dataset in a directory, and see it through.

    What of a configuration belongs to other steps is noted, unless those carried it out.
    """
    given = configured(asked)
    check_options(given.options, to)
    teller = Teller(quiet=given.options.quiet or given.options.dry_run)
    for key, note in given.notes.items():
        if key not in carried_out:
            teller.note(note)
    files = files_of_dataset(folder, target_named(to))
    rows = _check_dataset(folder, to)
    teller.tell("check", {"rows": rows, "files": listed(files)})
    if len(files) == 1:
        teller.note("there is no validation file: the service splits off rows on its own")
    if given.options.dry_run:
        _show_requests(folder, to, given)
        return
    with locked_file(files[0].path, f"{printable(folder)}: another `submit`"):
        submission = _begun(folder, to, given, listed(files), teller)
        run = _run(submission, given.options, given.token, teller)
        with _detaching(run, teller):
            submit_dataset(run, files)
    if given.options.wait_for_completion:
        with _detaching(run, teller):
            _see_through(run)
    teller.end()


def check_options(chosen: SubmitOptions, to: str) -> None:
    """Raise if something is missing that a service needs, or if it does not take it."""
    needed = ["entity_host", "namespace", "customization_config"]
    needed += ["datastore_host"] * (to == "customizer")
    for name in needed:
        if getattr(chosen, name) is None:
            hint = f"--{name.replace('_', '-')}, or {name} in --config FILE"
            raise UsageError(f"submit {to} needs {name}", hint)
    if to != "customizer" and (chosen.finetuning_type, chosen.training_type) != (
        "all_weights",
        "dpo",
    ):
        problem = f"{to} trains all weights with DPO"
        raise UsageError(problem, "omit --finetuning-type and --training-type")
    if chosen.deploy_on_completion and not chosen.wait_for_completion:
        raise OptionNeeds("--deploy-on-completion true", "--wait-for-completion true")


def _check_dataset(folder: str, to: str) -> int:
    """The rows of a dataset, if all of them will be trained on."""
    plan = ValidateOptions(to=to, inputs=[folder]).plan()
    ledger = ValidationLedger(files=[given.label for given in plan.inputs])
    for _ in run_checks(plan, ledger):
        pass
    if ledger.rows_lost or ledger.files_lost:
        hint = f"prefpairs validate --to {to} {printable(folder)}"
        files = [printable(name) for name in ledger.files_lost]
        raise WouldBeLost(ledger.rows_lost, ledger.rows_read, to, files, hint)
    return ledger.rows_read


def _show_requests(folder: str, to: str, given: Configured) -> None:
    files = files_of_dataset(folder, target_named(to))
    record = Submission(path="", service=to, name="prefpairs-NAME", files={}, options={})
    asks = DryRun(files)
    run = Run(
        submission=record,
        service=_service_of(record, given.options),
        asks=asks,
        looks=asks,
        options=given.options,
        tell=lambda _step, _facts: None,
    )
    submit_dataset(run, files)
    if given.options.wait_for_completion:
        watch_job(run)
        if given.options.deploy_on_completion:
            deploy_model(run)
    with open_output(STDOUT) as output:
        output.write(dry_run_text(asks.requests, given.token.origin, files).encode())


def _service_of(submission: Submission, chosen: SubmitOptions) -> TrainingService:
    return SERVICES[submission.service](chosen, submission.name)


def _run(submission: Submission, chosen: SubmitOptions, token: Token, teller: Teller) -> Run:
    asks = connect(chosen, token, teller.sent)
    return Run(
        submission=submission,
        service=_service_of(submission, chosen),
        asks=asks,
        looks=dataclasses.replace(asks, attempts=1),
        options=chosen,
        tell=teller.tell,
    )


def _begun(
    folder: str, to: str, given: Configured, files: dict[str, dict[str, Any]], teller: Teller
) -> Submission:
    """The record of this submission: a new one, or that of an interrupted one."""
    path, chosen = os.path.join(folder, NAME), given.options
    earlier = read_submission(path)
    if earlier is None:
        return _new_record(path, to, chosen, files)
    changed = earlier.service != to or earlier.files != files
    if chosen.again:
        found = earlier.is_in_doubt and _finds_job(earlier, given, teller)
        if found and not changed:
            # the user who typed --again did not know that the job exists
            problem = f"{path}: this dataset was submitted after all (job {earlier.job_id})"
            raise UsageError(problem, "--resume goes on with it, --again submits it once more")
        known = [earlier.job_id] if earlier.job_id else []
        return _new_record(path, to, chosen, files, [*earlier.earlier_jobs, *known])
    if changed:
        problem = f"{path}: the dataset is not the one that was submitted"
        hint = (
            "--again --overwrite submits this one in its place; "
            "--again --dataset-name NAME keeps both"
        )
        raise UsageError(problem, hint)
    if not chosen.resume:
        if earlier.is_in_doubt:
            problem = f"{path}: it is not known yet whether its job was submitted"
            raise UsageError(problem, "--resume finds out")
        job = f" (job {earlier.job_id})" if earlier.job_id else ""
        problem = f"{path}: this dataset was submitted before{job}"
        raise UsageError(problem, "--resume goes on with it, --again submits it once more")
    if earlier.job is None:
        earlier.options = _noted(chosen)
        earlier.save()
    elif _places(earlier.options) != _places(_noted(chosen)):
        problem = f"{path}: its job was submitted to another place"
        raise UsageError(problem, "--resume needs the same hosts, namespace and dataset_name")
    return earlier


def _new_record(
    path: str,
    to: str,
    chosen: SubmitOptions,
    files: dict[str, dict[str, Any]],
    earlier_jobs: Collection[str] = (),
) -> Submission:
    submission = Submission(
        path=path,
        service=to,
        name=new_name(),
        files=files,
        options=_noted(chosen),
        earlier_jobs=[*earlier_jobs],
    )
    submission.save()
    return submission


def _finds_job(earlier: Submission, given: Configured, teller: Teller) -> bool:
    """Whether a job whose answer got lost is at the service; if so, the record gets it."""
    host = earlier.options.get("entity_host")
    if host != given.options.entity_host:
        problem = (
            f"{earlier.path}: it is not known yet whether its job was submitted, to another host"
        )
        raise UsageError(problem, f"--entity-host {host} looks for it there")
    there = dataclasses.replace(given.options, namespace=earlier.options.get("namespace"))
    run = _run(earlier, there, given.token, teller)
    job = run.service.find_job(run.asks)
    if job is None:
        return False
    earlier.record_job(job)
    teller.note(f"job {printable(str(earlier.job_id))} of the earlier submission was found")
    return True


def _noted(chosen: SubmitOptions) -> dict[str, Any]:
    """The options for the record. None of them is a secret: it has only the place of a token."""
    return {
        known.key: getattr(chosen, known.field)
        for known in options_in(SubmitOptions)
        if known.key not in ONLY_TYPED and getattr(chosen, known.field) is not None
    }


def _places(noted: dict[str, Any]) -> dict[str, Any]:
    places = ("entity_host", "datastore_host", "namespace", "dataset_name")
    return {name: noted.get(name) for name in places}


def _see_through(run: Run) -> None:
    """Watch a job until it ends, and deploy its model if that was asked for."""
    watch_job(run)
    if run.options.deploy_on_completion:
        deploy_model(run)


@contextmanager
def _detaching(run: Run, teller: Teller) -> Iterator[None]:
    """Say how to go on if the user interrupts: the job does not end with us."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        folder = printable(os.path.dirname(run.submission.path) or ".")
        teller.end()
        if run.submission.job_id is None:
            write_stderr("note: interrupted; the same command with --resume goes on\n")
        else:
            write_stderr(
                f"note: job {printable(run.submission.job_id)} goes on without us\n"
                f"  look:   prefpairs submit watch {folder}\n"
                f"  cancel: prefpairs submit cancel {folder}\n"
            )
        raise
    except BaseException:
        teller.end()
        raise


def _about_job(action: str, subject: str, asked: SubmitOptions) -> None:
    """Look at a job, watch it, or cancel it."""
    given, submission = _job_of(subject, asked)
    teller = Teller(quiet=given.options.quiet)
    run = _run(submission, given.options, given.token, teller)
    job = str(submission.job_id)
    if action == "cancel":
        run.service.cancel(run.asks, job)
    if action == "watch":
        with _detaching(run, teller):
            _see_through(run)
        teller.end()
    else:
        _say_state({"job": job, **run.service.job_state(run.asks, job).facts()})


def _say_state(facts: dict[str, Any]) -> None:
    """The state of a job: a line on a terminal, else a JSON object."""
    to_screen = sys.stdout is not None and sys.stdout.isatty()
    line = f"{facts['job']}: {watch_text(facts)}\n".encode() if to_screen else encode_line(facts)
    with open_output(STDOUT) as output:
        output.write(line)


def _job_of(subject: str, asked: SubmitOptions) -> tuple[Configured, Submission]:
    """The options and the record of a job, by its directory or by its id."""
    path = record_path(subject)
    if exists(path):
        record = read_submission(path)
        if record is None:
            raise UsageError(f"{path} is no file")
        if record.job_id is None:
            problem = f"{path}: no job is known yet"
            raise ServiceRefused(
                "submit", problem, "--resume of the submission finds or submits it"
            )
        fields = {known.key: known.field for known in options_in(SubmitOptions)}
        noted = {fields[key]: value for key, value in record.options.items() if key in fields}
        given = configured(asked.over(SubmitOptions(**noted)))
        return given, record
    given = configured(asked)
    if given.options.entity_host is None:
        problem = f"{subject} is no submitted directory; if it is a job, where is its service?"
        hint = "--config FILE, or --entity-host URL (and, for customizer, --datastore-host URL)"
        raise UsageError(problem, hint)
    kind = "customizer" if given.options.datastore_host is not None else "customizer-rl"
    chosen = dataclasses.replace(given.options, namespace=given.options.namespace or "default")
    job = {"state": "submitted", "id": subject}
    record = Submission(path="", service=kind, name=subject, files={}, options={}, job=job)
    return given._replace(options=chosen), record
