"""The requests of NeMo Platform and NeMo Helix: filesets, and jobs of the backend `rl`.

The customization API is a plugin of the platform that is not on PyPI, so these requests follow its
documentation and source; those about files, models and deployments also its SDK.
"""

import hashlib
from typing import Any
from urllib.parse import quote, urlencode

from prefpairs.errors import ServiceRefused, ServiceUnreachable
from prefpairs.submit.dataset_files import DatasetFile
from prefpairs.submit.job_state import DeploymentState, JobState, Outcome, count, number
from prefpairs.submit.microservices import MARK, as_answer
from prefpairs.submit.service import EXISTS, Asks
from prefpairs.submit.service_request import Request, StreamedBody
from prefpairs.submit.submit_options import IMAGE, SubmitOptions
from prefpairs.submit.training_service import StoredFile

_NOT_FOUND = frozenset({404})
_PAGE, _MOST_PAGES = 100, 50
_OUTCOMES: dict[str, Outcome] = {
    "completed": "completed",
    "error": "failed",
    "failed": "failed",
    "cancelled": "cancelled",
}
_READY = ("ready", "running")
_BROKEN = ("failed", "error", "terminated", "lost")


class PlatformService:
    """The second generation."""

    def __init__(self, options: SubmitOptions, name: str) -> None:
        self._options = options
        self._name = name
        self._workspace = str(options.namespace)
        self.dataset = f"{options.namespace}/{options.dataset_name}"
        self._model = options.output_model or f"{name}-model"
        self._deployment = options.deployment_name or f"{name}-deployment"

    def _request(self, step: str, method: str, path: str, body: Any = None) -> Request:
        url = f"{self._options.entity_host}/apis/{path}"
        return Request(step, method, url, body, with_token=True)

    def _within(self, api: str, path: str) -> str:
        return f"{api}/v2/workspaces/{self._workspace}/{path}"

    def create_namespace(self, asks: Asks) -> bool:
        """A workspace."""
        request = self._request(
            "namespace", "POST", "entities/v2/workspaces", {"name": self._workspace}
        )
        return asks.ask(request, EXISTS).is_ok

    def create_dataset(self, asks: Asks) -> bool:
        """A fileset."""
        body = {
            "name": self._options.dataset_name,
            "description": f"Preference pairs of {self._name}",
            "purpose": "dataset",
        }
        request = self._request("dataset", "POST", self._within("files", "filesets"), body)
        return asks.ask(request, EXISTS).is_ok

    def _file(self, name: str) -> str:
        path = f"filesets/{self._options.dataset_name}/-/{quote(name)}"
        return self._within("files", path)

    def stored_files(self, asks: Asks, files: list[DatasetFile]) -> list[StoredFile]:
        """The platform reports only sizes, so files of the right size are read back and hashed."""
        path = self._within("files", f"filesets/{self._options.dataset_name}/files")
        told = asks.ask(self._request("dataset", "GET", path)).object().get("data") or []
        sizes = {one["path"]: one.get("size") for one in told if isinstance(one, dict)}
        wanted = {file.name: file.size for file in files}
        return [
            StoredFile(name, size, self._digest(asks, name) if wanted.get(name) == size else None)
            for name, size in sizes.items()
        ]

    def _digest(self, asks: Asks, name: str) -> str:
        digest = hashlib.sha256()
        asks.ask(self._request("upload", "GET", self._file(name)), to_content=digest.update)
        return digest.hexdigest()

    def upload(self, asks: Asks, files: list[DatasetFile], unwanted: list[str]) -> None:
        """One after the other; sending a file again replaces it."""
        for name in unwanted:
            asks.ask(self._request("upload", "DELETE", self._file(name)), _NOT_FOUND)
        for file in files:
            url = f"{self._options.entity_host}/apis/{self._file(file.name)}"
            body = StreamedBody(file.size, file.size, file.blocks, f"the bytes of {file.name}")
            kind = "application/octet-stream"
            asks.ask(Request("upload", "PUT", url, body, kind, with_token=True))

    def register(self, asks: Asks) -> None:
        """A fileset is known as soon as it exists."""

    def submit(self, asks: Asks) -> dict[str, Any]:
        """The platform names the job; it is found again by a custom field."""
        options = self._options
        body = {
            "spec": {
                "model": options.customization_config,
                "dataset": self.dataset,
                "training": {
                    "type": "dpo",
                    "epochs": options.epochs,
                    "batch_size": options.batch_size,
                    "learning_rate": options.learning_rate,
                    "ref_policy_kl_penalty": options.ref_policy_kl_penalty,
                    "preference_loss_weight": options.preference_loss_weight,
                    "preference_average_log_probs": options.preference_average_log_probs,
                    "sft_loss_weight": options.sft_loss_weight,
                },
                "output": {"name": self._model},
            },
            "custom_fields": {MARK: self._name},
        }
        request = self._request("submit", "POST", self._within("customization", "rl/jobs"), body)
        answer = asks.ask(request, look=lambda: as_answer(self._listed_job(asks)))
        return self._known(answer.object())

    def find_job(self, asks: Asks) -> dict[str, Any] | None:
        """By the custom field."""
        job = self._listed_job(asks)
        return None if job is None else self._known(job)

    def _known(self, job: dict[str, Any]) -> dict[str, Any]:
        """What is recorded of a job."""
        if not isinstance(job.get("name"), str):
            problem = "the answer to the job has no name"
            raise ServiceUnreachable("submit", problem, "--resume looks for the job")
        return {"id": job["name"], "output_model": self._model}

    def _listed_job(self, asks: Asks) -> dict[str, Any] | None:
        for page in range(1, _MOST_PAGES + 1):
            query = urlencode({"page": page, "page_size": _PAGE, "sort": "-created_at"})
            path = self._within("customization", f"rl/jobs?{query}")
            answer = asks.ask(self._request("submit", "GET", path)).object()
            jobs = answer.get("data") or []
            for job in jobs:
                if (
                    isinstance(job, dict)
                    and (job.get("custom_fields") or {}).get(MARK) == self._name
                ):
                    return job
            pages = (answer.get("pagination") or {}).get("total_pages")
            if not jobs or page == pages:
                break
        return None

    def _job(self, job: str, path: str) -> str:
        return self._within("customization", f"rl/jobs/{quote(job, safe='')}/{path}")

    def job_state(self, asks: Asks, job: str) -> JobState:
        """The progress is that of the task that trains."""
        told = asks.ask(self._request("watch", "GET", self._job(job, "status"))).object()
        status = told.get("status")
        if not isinstance(status, str):
            raise ServiceUnreachable("watch", f"the status of job {job} has no status")
        facts = _training_facts(told)
        step, steps = number(facts.get("step")), number(facts.get("max_steps"))
        metrics = facts.get("metrics")
        metrics = metrics if isinstance(metrics, dict) else {}
        error = told.get("error_details")
        return JobState(
            status=status,
            outcome=_OUTCOMES.get(status.lower(), "running"),
            percentage_done=100 * step / steps if step is not None and steps else None,
            steps_completed=count(step),
            steps=count(steps),
            train_loss=number(metrics.get("loss")),
            val_loss=number(metrics.get("val_loss")),
            message=" ".join(str(error["message"]).split())
            if isinstance(error, dict) and error.get("message")
            else "",
        )

    def cancel(self, asks: Asks, job: str) -> None:
        """The job ends some time later."""
        asks.ask(self._request("cancel", "POST", self._job(job, "cancel")))

    def configure_deployment(self, asks: Asks, model: str) -> str:
        """A configuration with our name; if there is one, it is ours."""
        name = f"{self._name}-config"
        options = self._options
        body = {
            "name": name,
            "description": options.deployment_description,
            "engine": "vllm",
            "model_spec": {"model_namespace": self._workspace, "model_name": model},
            "executor_config": {"gpu": options.gpu, **self._image()},
        }
        path = self._within("models", "deployment-configs")
        asks.ask(self._request("deploy", "POST", path, body), EXISTS)
        return name

    def _image(self) -> dict[str, str]:
        """The image, if it is not the one that only the first generation takes."""
        name, tag = self._options.image_name, self._options.image_tag
        return {} if name == IMAGE else {"image_name": name, "image_tag": tag}

    def deploy(self, asks: Asks, configuration: str) -> None:
        """A deployment of the given name that exists must be ours."""
        body = {"name": self._deployment, "config": configuration}
        request = self._request("deploy", "POST", self._within("models", "deployments"), body)
        if asks.ask(request, EXISTS).is_ok:
            return
        other = asks.ask(self._deployment_request()).object().get("config")
        if other not in (configuration, f"{self._workspace}/{configuration}"):
            problem = f"deployment {self._deployment} exists already, of another model"
            raise ServiceRefused("deploy", problem, "--deployment-name NAME takes another name")

    def _deployment_request(self) -> Request:
        return self._request(
            "deploy", "GET", self._within("models", f"deployments/{self._deployment}")
        )

    def deployment_state(self, asks: Asks) -> DeploymentState:
        """One that is not listed yet is waited for."""
        answer = asks.ask(self._deployment_request(), _NOT_FOUND)
        told = answer.object() if answer.is_ok else {}
        status = str(told.get("status") or "unknown")
        word = status.lower()
        return DeploymentState(
            status=status,
            outcome="ready" if word in _READY else "failed" if word in _BROKEN else "waiting",
            message=" ".join(str(told.get("status_message") or "").split()),
        )


def _training_facts(told: dict[str, Any]) -> dict[str, Any]:
    """What the task that trains says of itself."""
    for step in told.get("steps") or []:
        if isinstance(step, dict) and step.get("name") == "dpo-training":
            for task in step.get("tasks") or []:
                details = task.get("status_details") if isinstance(task, dict) else None
                if isinstance(details, dict):
                    return details
    return {}
