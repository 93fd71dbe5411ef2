"""From a dataset to a job, and from a job to a deployed model: the steps in their order.

Each step may be repeated: what exists already is left as it is, and a file that is there already is
not sent again. What is about to be created is written down first (submission.py), so that a run
that was killed goes on where it was, and submits no second job.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prefpairs.errors import (
    JobCancelled,
    JobFailed,
    NotReadyInTime,
    ServiceRefused,
    ServiceUnreachable,
)
from prefpairs.submit.dataset_files import DatasetFile
from prefpairs.submit.job_state import DeploymentState, JobState
from prefpairs.submit.service import Asks
from prefpairs.submit.submission import Submission
from prefpairs.submit.submit_options import SubmitOptions
from prefpairs.submit.training_service import TrainingService

Tell = Callable[[str, dict[str, Any]], None]
"""Takes what happened: the name of the step, and facts."""

_SIDES = ("train", "val", "dev")
"""How the names of files and folders begin that services look for data in."""

_GROWTH = 1.5
"""By so much the pauses between looks grow while a service does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A submission, its service, and the listener to its steps."""

    submission: Submission
    service: TrainingService
    asks: Asks
    looks: Asks
    """Asks once instead of repeatedly, for looks at a status."""
    options: SubmitOptions
    tell: Tell


def submit_dataset(run: Run, files: list[DatasetFile]) -> str:
    """Bring the files to the service and submit the job; the result is the job."""
    submission, service = run.submission, run.service
    if submission.job_id is None:
        if run.options.create_namespace_if_missing:
            created = service.create_namespace(run.asks)
            run.tell("namespace", {"name": run.options.namespace, "created": created})
            submission.finish("namespace")
        created = service.create_dataset(run.asks)
        run.tell("dataset", {"name": service.dataset, "created": created})
        submission.finish("dataset")
        _upload(run, files)
        submission.finish("upload")
        if (created_entry := service.register(run.asks)) is not None:
            run.tell("register", {"name": service.dataset, "created": created_entry})
        submission.finish("register")
        _submit(run)
    job = str(submission.job_id)
    run.tell("submit", {"job": job, "output_model": _model(submission)})
    return job


def _upload(run: Run, files: list[DatasetFile]) -> None:
    """Send what is not there yet; then all of it must be there, by size and digest."""
    before = {file.name: file for file in run.service.stored_files(run.asks, files)}
    ours = {file.name for file in files}
    missing = [
        file for file in files if not (file.name in before and before[file.name].is_copy_of(file))
    ]
    changed = [file.name for file in missing if file.name in before]
    unwanted = [name for name in before if name not in ours and _may_be_read(name, ours)]
    if (changed or unwanted) and not run.options.overwrite:
        problem = f"{run.service.dataset} has files of another run: "
        raise ServiceRefused(
            "upload",
            problem + ", ".join(sorted([*changed, *unwanted])),
            "--dataset-name NAME takes another name; --overwrite replaces them",
        )
    if missing or unwanted:
        sizes = {"files": len(missing), "bytes": sum(file.size for file in missing)}
        run.tell("uploading", sizes)
        run.service.upload(run.asks, missing, unwanted)
    after = {file.name: file for file in run.service.stored_files(run.asks, files)}
    for file in files:
        if file.name not in after or not after[file.name].is_copy_of(file):
            problem = f"{file.name} is not in {run.service.dataset} as it was sent"
            raise ServiceRefused("upload", problem, "--resume sends it again")
    facts = {"sent": len(missing), "files": len(files), "bytes": sum(file.size for file in files)}
    run.tell("upload", {**facts, "deleted": unwanted} if unwanted else facts)


def _may_be_read(name: str, ours: set[str]) -> bool:
    """Whether a service reads a file as data: next to ours, or under a name of training data.

    Without a validation file of ours, one of an earlier run would be taken for it.
    """
    folder = name.rpartition("/")[0]
    beside = folder in {ours_name.rpartition("/")[0] for ours_name in ours}
    return name.endswith(".jsonl") and (beside or name.startswith(_SIDES))


def _submit(run: Run) -> None:
    """Submit the job: written down before the request, found again if the answer got lost."""
    submission = run.submission
    job = run.service.find_job(run.asks) if submission.job is not None else None
    if job is None:
        submission.job = {"state": "asked"}
        submission.save()
        try:
            job = run.service.submit(run.asks)
        except ServiceRefused as error:
            if error.did_nothing:
                submission.job = None
                submission.save()
            raise
    submission.record_job(job)


def _model(submission: Submission) -> Any:
    return None if submission.job is None else submission.job.get("output_model")


def watch_job(run: Run) -> JobState:
    """Look at the job until it ends; raises if it failed or was cancelled."""
    submission = run.submission
    job, failures, last = str(submission.job_id), 0, None
    while True:
        try:
            state = run.service.job_state(run.looks, job)
        except ServiceUnreachable as error:
            failures += 1
            if failures >= run.options.max_consecutive_status_failures:
                hint = f"the job goes on; `prefpairs submit watch {submission.subject}` looks again"
                error.hint = error.hint or hint
                raise
            run.tell("unanswered", {"problem": error.problem, "failures": failures})
            time.sleep(run.options.poll_interval_seconds * _GROWTH**failures)
            continue
        failures = 0
        if state != last:
            run.tell("watch", {"job": job, **state.facts()})
        last = state
        if state.outcome != "running":
            break
        time.sleep(run.options.poll_interval_seconds)
    submission.job = {**(submission.job or {}), "status": state.status}
    submission.save()
    if state.outcome == "failed":
        raise JobFailed(
            "watch", f"job {job} failed: {state.message or 'the service gives no reason'}"
        )
    if state.outcome == "cancelled":
        raise JobCancelled("watch", f"job {job} was cancelled")
    return state


def deploy_model(run: Run) -> DeploymentState:
    """Deploy the model of a job that is done, and wait until it is ready."""
    submission = run.submission
    model = _model(submission)
    if not model:
        problem = "the service named no output model, so there is nothing to deploy"
        raise ServiceRefused(
            "deploy", problem, "--again --output-model NAME trains one with a name"
        )
    submission.deployment = {"model": model, "state": "asked"}
    submission.save()
    configuration = run.service.configure_deployment(run.asks, str(model))
    run.service.deploy(run.asks, configuration)
    submission.deployment = {"model": model, "state": "created", "configuration": configuration}
    submission.finish("deploy")
    state = _until_ready(run)
    submission.deployment = {**submission.deployment, "state": "ready", "url": state.url}
    submission.finish("ready")
    run.tell("ready", {"model": model, "url": state.url})
    return state


def _until_ready(run: Run) -> DeploymentState:
    until = time.monotonic() + run.options.deployment_timeout_seconds
    last, failures = None, 0
    while True:
        try:
            state = run.service.deployment_state(run.looks)
            failures = 0
        except ServiceUnreachable as error:
            failures += 1
            if failures >= run.options.max_consecutive_status_failures:
                raise
            run.tell("unanswered", {"problem": error.problem, "failures": failures})
        else:
            if state != last:
                facts = {"status": state.status, "message": state.message}
                run.tell("deploy", {name: value for name, value in facts.items() if value})
            last = state
            if state.outcome == "ready":
                return state
            if state.outcome == "failed":
                told = state.message or "the service gives no reason"
                raise JobFailed("deploy", f"the deployment failed ({state.status}): {told}")
        if time.monotonic() >= until:
            seconds = run.options.deployment_timeout_seconds
            problem = f"the model was not ready within {seconds:g} seconds"
            hint = f"`prefpairs submit watch {run.submission.subject}` waits again"
            raise NotReadyInTime("deploy", problem, hint)
        time.sleep(run.options.poll_interval_seconds)
