"""What each generation of a training service can be asked for, in the order of a run."""

from dataclasses import dataclass
from typing import Any, Protocol

from prefpairs.submit.dataset_files import DatasetFile
from prefpairs.submit.job_state import DeploymentState, JobState
from prefpairs.submit.service import Asks


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a dataset at the service."""

    name: str
    size: int | None
    digest: str | None
    """Its SHA-256, or the SHA-1 of its blob in git; None if the service does not say."""

    def is_copy_of(self, file: DatasetFile) -> bool:
        """Whether size and digest are those of a file."""
        digests = (file.digests.sha256, file.digests.git)
        return self.size == file.size and self.digest in digests


class TrainingService(Protocol):
    """A service, and where at the service the things of a submission are."""

    dataset: str
    """The dataset, as people name it."""

    def create_namespace(self, asks: Asks) -> bool:
        """Create the namespace; false if it exists already."""
        ...

    def create_dataset(self, asks: Asks) -> bool:
        """Create the place for the files; false if it exists already."""
        ...

    def stored_files(self, asks: Asks, files: list[DatasetFile]) -> list[StoredFile]:
        """What is in the dataset, with digests as far as they are needed to know `files`."""
        ...

    def upload(self, asks: Asks, files: list[DatasetFile], unwanted: list[str]) -> None:
        """Store files, and delete unwanted ones."""
        ...

    def register(self, asks: Asks) -> bool | None:
        """Make the dataset known to the trainer; false if it is, None if that is not needed."""
        ...

    def submit(self, asks: Asks) -> dict[str, Any]:
        """Submit the job, once: its `id` and its `output_model`."""
        ...

    def find_job(self, asks: Asks) -> dict[str, Any] | None:
        """The job that was submitted under our name, if there is one."""
        ...

    def job_state(self, asks: Asks, job: str) -> JobState:
        """How the job is doing."""
        ...

    def cancel(self, asks: Asks, job: str) -> None:
        """Cancel the job."""
        ...

    def configure_deployment(self, asks: Asks, model: str) -> str:
        """Say how the model is to be deployed; the result is the name of that."""
        ...

    def deploy(self, asks: Asks, configuration: str) -> None:
        """Deploy the model."""
        ...

    def deployment_state(self, asks: Asks) -> DeploymentState:
        """How the deployment is doing."""
        ...
