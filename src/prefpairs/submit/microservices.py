"""The requests of NeMo Microservices: Entity Store, Data Store, Customizer, Deployment Management.

The bodies are those that the NeMo Agent Toolkit sends. Besides, a job gets a name of ours, by which
it is found again if its answer got lost.
"""

import json
from typing import Any
from urllib.parse import quote, urlencode

from prefpairs.errors import ServiceRefused, ServiceUnreachable
from prefpairs.submit.dataset_files import DatasetFile
from prefpairs.submit.git_store import GitStore
from prefpairs.submit.job_state import DeploymentState, JobState, Outcome, count, number
from prefpairs.submit.service import EXISTS, Asks
from prefpairs.submit.service_request import Answer, Request
from prefpairs.submit.submit_options import SubmitOptions
from prefpairs.submit.training_service import StoredFile

MARK = "prefpairs_submission"
"""The custom field of a job that holds our name: not every version shows the name of a job."""

_NOT_FOUND = frozenset({404})
_PAGE, _MOST_PAGES = 100, 50
_OUTCOMES: dict[str, Outcome] = {
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
    "canceled": "cancelled",
}
"""What ends a job; any other word means that it goes on."""


class Microservices:
    """The first generation, as NAT 1.9 uses it."""

    def __init__(self, options: SubmitOptions, name: str) -> None:
        self._options = options
        self._name = name
        self._namespace = str(options.namespace)
        self.dataset = f"{options.namespace}/{options.dataset_name}"
        self._store = GitStore(str(options.datastore_host), self._namespace, options.dataset_name)
        self._deployment = options.deployment_name or f"{name}-deployment"

    def _entity(self, step: str, method: str, path: str, body: Any = None) -> Request:
        return Request(step, method, f"{self._options.entity_host}/v1/{path}", body)

    def create_namespace(self, asks: Asks) -> bool:
        """In the Entity Store and in the Data Store."""
        body = {"id": self._namespace, "description": f"prefpairs namespace: {self._namespace}"}
        answer = asks.ask(self._entity("namespace", "POST", "namespaces", body), EXISTS)
        return self._store.create_namespace(asks) or answer.is_ok

    def create_dataset(self, asks: Asks) -> bool:
        """A repository in the Data Store."""
        return self._store.create(asks)

    def stored_files(self, asks: Asks, files: list[DatasetFile]) -> list[StoredFile]:  # noqa: ARG002
        """The files on the branch `main`; the store says their digests."""
        return self._store.files(asks)

    def upload(self, asks: Asks, files: list[DatasetFile], unwanted: list[str]) -> None:
        """All of them appear in one commit."""
        self._store.upload(asks, files, unwanted, f"Preference pairs of {self._name}")

    def register(self, asks: Asks) -> bool:
        """In the Entity Store, by the address of the repository."""
        place = f"hf://datasets/{self.dataset}"
        body = {
            "files_url": place,
            "description": f"Preference pairs of {self._name}",
            "name": self._options.dataset_name,
            "namespace": self._namespace,
        }
        if asks.ask(self._entity("register", "POST", "datasets", body), EXISTS).is_ok:
            return True
        known = asks.ask(self._entity("register", "GET", f"datasets/{self.dataset}")).object()
        if known.get("files_url", place) != place:
            problem = f"dataset {self.dataset} is registered with other files: {known['files_url']}"
            raise ServiceRefused("register", problem, "--dataset-name NAME takes another name")
        return False

    def submit(self, asks: Asks) -> dict[str, Any]:
        """Named by us; if it is unknown whether it was created, it is looked for first."""
        options = self._options
        body = {
            "config": options.customization_config,
            "dataset": {"name": options.dataset_name, "namespace": self._namespace},
            "hyperparameters": {
                "training_type": options.training_type,
                "finetuning_type": options.finetuning_type,
                "epochs": options.epochs,
                "batch_size": options.batch_size,
                "learning_rate": options.learning_rate,
                "dpo": {
                    "ref_policy_kl_penalty": options.ref_policy_kl_penalty,
                    "preference_loss_weight": options.preference_loss_weight,
                    "preference_average_log_probs": options.preference_average_log_probs,
                    "sft_loss_weight": options.sft_loss_weight,
                },
            },
            "name": self._name,
            "namespace": self._namespace,
            "custom_fields": {MARK: self._name},
        }
        if options.output_model is not None:
            body["output_model"] = options.output_model
        request = self._entity("submit", "POST", "customization/jobs", body)
        answer = asks.ask(request, EXISTS, look=lambda: self._found(asks))
        job = answer.object() if answer.is_ok else (self.find_job(asks) or {})
        if not isinstance(job.get("id"), str):
            problem = "the answer to the job has no id"
            raise ServiceUnreachable("submit", problem, "--resume looks for the job")
        return job

    def _found(self, asks: Asks) -> Answer | None:
        """The answer that got lost, if the job is there."""
        return as_answer(self.find_job(asks))

    def find_job(self, asks: Asks) -> dict[str, Any] | None:
        """The newest jobs come first, so ours is on one of the first pages."""
        for page in range(1, _MOST_PAGES + 1):
            query = urlencode({"page": page, "page_size": _PAGE, "sort": "-created_at"})
            request = self._entity("submit", "GET", f"customization/jobs?{query}")
            answer = asks.ask(request).object()
            jobs = answer.get("data") or []
            for job in jobs:
                if isinstance(job, dict) and self._is_ours(job):
                    return job
            pages = (answer.get("pagination") or {}).get("total_pages")
            if not jobs or page == pages:
                break
        return None

    def _is_ours(self, job: dict[str, Any]) -> bool:
        marked = (job.get("custom_fields") or {}).get(MARK)
        return self._name in (marked, job.get("name"))

    def job_state(self, asks: Asks, job: str) -> JobState:
        """What is known of it; most fields are missing until training starts."""
        request = self._entity("watch", "GET", f"customization/jobs/{quote(job, safe='')}/status")
        told = asks.ask(request).object()
        status = told.get("status")
        if not isinstance(status, str):
            raise ServiceUnreachable("watch", f"the status of job {job} has no status")
        epochs, steps = count(told.get("steps_per_epoch")), count(told.get("steps_completed"))
        return JobState(
            status=status,
            outcome=_OUTCOMES.get(status.lower(), "running"),
            percentage_done=number(told.get("percentage_done")),
            epochs_completed=count(told.get("epochs_completed")),
            steps_completed=steps,
            steps=None if epochs is None else epochs * self._options.epochs,
            train_loss=number(told.get("train_loss")),
            val_loss=number(told.get("val_loss")),
            message=_last_message(told.get("status_logs")),
        )

    def cancel(self, asks: Asks, job: str) -> None:
        """The job ends some time later."""
        asks.ask(self._entity("cancel", "POST", f"customization/jobs/{quote(job, safe='')}/cancel"))

    def configure_deployment(self, asks: Asks, model: str) -> str:
        """A configuration with our name; if there is one, it is ours."""
        options = self._options
        name = f"{self._name}-config"
        body = {
            "description": options.deployment_description,
            "model": model,
            "name": name,
            "namespace": self._namespace,
            "nim_deployment": {
                "image_name": options.image_name,
                "image_tag": options.image_tag,
                "gpu": options.gpu,
            },
        }
        asks.ask(self._entity("deploy", "POST", "deployment/configs", body), EXISTS)
        return f"{self._namespace}/{name}"

    def deploy(self, asks: Asks, configuration: str) -> None:
        """A deployment of the given name that exists must be ours."""
        body = {
            "config": configuration,
            "description": self._options.deployment_description,
            "name": self._deployment,
            "namespace": self._namespace,
        }
        request = self._entity("deploy", "POST", "deployment/model-deployments", body)
        if asks.ask(request, EXISTS).is_ok:
            return
        other = asks.ask(self._deployment_request()).object().get("config")
        if isinstance(other, dict):
            other = f"{other.get('namespace')}/{other.get('name')}"
        if other != configuration:
            problem = f"deployment {self._deployment} exists already, of another model"
            raise ServiceRefused("deploy", problem, "--deployment-name NAME takes another name")

    def _deployment_request(self) -> Request:
        path = f"deployment/model-deployments/{self._namespace}/{self._deployment}"
        return self._entity("deploy", "GET", path)

    def deployment_state(self, asks: Asks) -> DeploymentState:
        """One that is not listed yet is waited for."""
        answer = asks.ask(self._deployment_request(), _NOT_FOUND)
        told = answer.object() if answer.is_ok else {}
        details = told.get("status_details")
        details = details if isinstance(details, dict) else {}
        status = str(details.get("status") or "unknown")
        word = status.lower()
        return DeploymentState(
            status=status,
            outcome="ready" if word == "ready" else "failed" if word in _BROKEN else "waiting",
            message=" ".join(str(details.get("description") or "").split()),
            url=str(told.get("url") or ""),
        )


_BROKEN = ("failed", "error")


def as_answer(found: dict[str, Any] | None) -> Answer | None:
    """Something that was found, as the answer of a service."""
    return None if found is None else Answer(200, {}, json.dumps(found).encode())


def _last_message(logs: Any) -> str:
    """The last line that a service logged about a job."""
    for log in reversed(logs if isinstance(logs, list) else []):
        if isinstance(log, dict) and (told := log.get("detail") or log.get("message")):
            return " ".join(str(told).split())
    return ""
