"""submission.json: the requests sent to a service, so that none is sent twice or lost.

It is written before and after each request that creates something. The name of a submission is
chosen before the first request; a job whose response was lost is found by it.
"""

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from typing import Any

from prefpairs.errors import BadInput
from prefpairs.files.file_stamps import read_small_input
from prefpairs.files.file_system import is_file, is_folder
from prefpairs.files.output import write_file

NAME = "submission.json"
_VERSION = 1


@dataclass(slots=True, kw_only=True)
class Submission:
    """A dataset on its way to a deployed model."""

    path: str
    service: str
    """The target whose service it is."""
    name: str
    files: dict[str, dict[str, Any]]
    """Size and SHA-256 of each file, by its name in the dataset."""
    options: dict[str, Any]
    """All options, secrets excluded."""
    done: list[str] = field(default_factory=list)
    """The steps that are done."""
    job: dict[str, Any] | None = None
    """The job; its `state` is `asked` until its answer has come, then `submitted`."""
    deployment: dict[str, Any] | None = None
    earlier_jobs: list[str] = field(default_factory=list)
    """The jobs of this dataset that were submitted before, with --again."""

    def save(self) -> None:
        """Write it, complete or not at all; nowhere if it has no path."""
        if not self.path:
            return
        values = asdict(self)
        values.pop("path")
        content = json.dumps({"version": _VERSION, **values}, indent=2)
        write_file(self.path, f"{content}\n".encode())

    def finish(self, step: str) -> None:
        """Note that a step is done."""
        if step not in self.done:
            self.done.append(step)
        self.save()

    def record_job(self, job: dict[str, Any]) -> None:
        """Note the job that the service has."""
        self.job = {
            "state": "submitted",
            "id": job["id"],
            "output_model": job.get("output_model"),
        }
        self.finish("submit")

    @property
    def subject(self) -> str:
        """What `submit watch` takes: the directory of the record, or the job."""
        return (os.path.dirname(self.path) or ".") if self.path else self.name

    @property
    def is_in_doubt(self) -> bool:
        """Whether a job was asked for, and it is unknown whether the service has it."""
        return self.job is not None and self.job_id is None

    @property
    def job_id(self) -> str | None:
        """The job at the service, if it is known."""
        return None if self.job is None else self.job.get("id")


def new_name() -> str:
    """A name that no other submission has."""
    return f"prefpairs-{secrets.token_hex(8)}"


def record_path(word: str) -> str:
    """The path of the record in a directory, or the file itself."""
    return os.path.join(word, NAME) if is_folder(word) else word


def read_submission(path: str) -> Submission | None:
    """The record of a submission; None if there is none."""
    if not is_file(path):
        return None
    try:
        values = json.loads(read_small_input(path))
        version = values.pop("version")
        record = Submission(path=path, **values)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise BadInput(path, "not a record of `prefpairs submit`") from None
    if version != _VERSION:
        raise BadInput(path, f"written by another version of prefpairs (format {version})")
    return record
