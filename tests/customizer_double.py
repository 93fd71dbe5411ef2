"""A test double of the training services: NeMo Microservices and NeMo Platform, on loopback HTTP.

It is as strict as the services: unknown fields, a wrong order and missing namespaces are
errors. It stores what it gets, and can fail at any request. NAT's own adapter runs against it
unchanged (tests/integration/test_nat_customizer.py), so it is not tailored to our client.
"""

import base64
import hashlib
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

OK, CREATED, EXISTS, UNKNOWN, INVALID = 200, 201, 409, 404, 422

Reply = tuple[int, Any]

JOB_FIELDS = {
    "config",
    "dataset",
    "hyperparameters",
    "custom_fields",
    "description",
    "name",
    "namespace",
    "output_model",
}
HYPERPARAMETERS = {
    "training_type",
    "finetuning_type",
    "epochs",
    "batch_size",
    "learning_rate",
    "dpo",
}
DPO = {
    "ref_policy_kl_penalty",
    "preference_loss_weight",
    "preference_average_log_probs",
    "sft_loss_weight",
}
RL_TRAINING = DPO | {"type", "epochs", "batch_size", "learning_rate", "max_seq_length"}


class Cut(Exception):
    """The connection is cut without an answer."""


@dataclass(slots=True)
class Seen:
    """A request that was received."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body."""
        return json.loads(self.body)

    @property
    def line(self) -> str:
        """Its method and path."""
        return f"{self.method} {self.path}"


@dataclass(slots=True)
class Double:
    """The state of the services, and how they fail."""

    url: str = ""
    token: str = ""
    """The token that the Data Store and the platform require; empty if none is required."""
    lfs_from: int = 10_000
    """Files of this size or more are stored by LFS."""
    lfs_host: str = ""
    """Where LFS sends uploads, unless to this server."""
    faults: dict[int, str] = field(default_factory=dict)
    """What happens at the nth request.

    A status, `500 after`, `slow`, an `empty` answer or a job with an `unnamed` model; or the
    connection
    is closed `before` or `after` the request is carried out, and with `kill before` and `kill
    after` the
    client is killed, too.
    """
    kill: Callable[[], None] = lambda: None
    script: list[dict[str, Any]] = field(default_factory=list)
    """The job status returned by successive queries; the last one is repeated."""
    deployment_script: list[str] = field(default_factory=lambda: ["pending", "ready"])
    redirect_to: str = ""
    seen: list[Seen] = field(default_factory=list)
    namespaces: set[str] = field(default_factory=set)
    store_namespaces: set[str] = field(default_factory=set)
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    lfs_paths: set[tuple[str, str]] = field(default_factory=set)
    commits: int = 0
    objects: dict[str, bytes] = field(default_factory=dict)
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    looks: int = 0
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)
    deployments: dict[str, dict[str, Any]] = field(default_factory=dict)
    deployment_looks: int = 0
    page_size: int = 2
    lock: threading.Lock = field(default_factory=threading.Lock)

    def lines(self) -> list[str]:
        """The requests, in order."""
        return [seen.line for seen in self.seen]

    def bodies(self, line: str) -> list[Any]:
        """The JSON bodies of requests."""
        return [seen.json for seen in self.seen if seen.line == line]

    def carry_out(self, seen: Seen) -> Reply:
        """Carry out a request."""
        for method, pattern, needs_token, action in ROUTES:
            found = re.fullmatch(pattern, seen.path)
            if method == seen.method and found:
                given = seen.headers.get("authorization")
                if needs_token and self.token and given != f"Bearer {self.token}":
                    return 401, {"message": f"bad token {given}"}
                return action(self, seen, *found.groups())
        return UNKNOWN, {"detail": f"no such path: {seen.line}"}

    def create_namespace(self, seen: Seen) -> Reply:
        """Create a namespace in the Entity Store."""
        if seen.json.keys() - {"id", "description"}:
            return INVALID, {"detail": "unknown field"}
        name = seen.json["id"]
        if name in self.namespaces:
            return EXISTS, {"detail": f"namespace {name} exists"}
        self.namespaces.add(name)
        return OK, {"id": name, "created_at": NOW}

    def create_store_namespace(self, seen: Seen) -> Reply:
        """Create a namespace in the Data Store, from a form."""
        name = parse_qs(seen.body.decode())["namespace"][0]
        if name in self.store_namespaces:
            return EXISTS, {"message": "exists"}
        self.store_namespaces.add(name)
        return CREATED, {"namespace": name}

    def create_repository(self, seen: Seen) -> Reply:
        """Create a repository, which must be a dataset."""
        body = seen.json
        if body.keys() - {"name", "organization", "type", "private"} or body["type"] != "dataset":
            return INVALID, {"error": "unknown field"}
        if body["organization"] not in self.store_namespaces:
            return UNKNOWN, {"error": f"no namespace {body['organization']}"}
        name = f"{body['organization']}/{body['name']}"
        url = f"{self.url}/v1/hf/datasets/{name}"
        if name in self.repositories:
            return EXISTS, {"error": "You already created this dataset repo", "url": url}
        self.repositories[name] = {".gitattributes": b"*.bin filter=lfs\n"}
        return OK, {"url": url, "name": name}

    def tree(self, seen: Seen, name: str) -> Reply:
        """List the files of a repository, in git and in LFS."""
        if name not in self.repositories:
            return UNKNOWN, {"error": "Repository not found"}
        entries = []
        for path, content in sorted(self.repositories[name].items()):
            git = hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False)
            entry = {"type": "file", "path": path, "size": len(content), "oid": git.hexdigest()}
            if (name, path) in self.lfs_paths:
                sha256 = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 130}
                entry["oid"] = "0" * 40
            entries.append(entry)
        return OK, entries

    def resolve(self, seen: Seen, name: str, path: str) -> Reply:
        """Return the contents of a file."""
        content = self.repositories.get(name, {}).get(path)
        return (UNKNOWN, {"error": "Entry not found"}) if content is None else (OK, content)

    def preupload(self, seen: Seen, name: str) -> Reply:
        """Say how each file is to be stored."""
        if name not in self.repositories:
            return UNKNOWN, {"error": "Repository not found"}
        files = []
        for file in seen.json["files"]:
            assert len(base64.b64decode(file["sample"])) == min(512, file["size"])
            mode = "lfs" if file["size"] >= self.lfs_from else "regular"
            files.append({"path": file["path"], "uploadMode": mode, "shouldIgnore": False})
        return OK, {"files": files}

    def lfs_batch(self, seen: Seen, name: str) -> Reply:
        """Say where to upload large files, except those already stored."""
        assert seen.headers["content-type"].startswith("application/vnd.git-lfs+json")
        body = seen.json
        assert body["operation"] == "upload"
        assert "basic" in body["transfers"]
        objects = []
        for one in body["objects"]:
            host = self.lfs_host or self.url
            action = {
                "href": f"{host}/lfs/{one['oid']}?signature=sekret",
                "header": {"X-Upload": "signed-sekret"},
            }
            actions = {} if one["oid"] in self.objects else {"actions": {"upload": action}}
            objects.append({**one, **actions})
        return OK, {"transfer": "basic", "objects": objects}

    def put_object(self, seen: Seen, oid: str) -> Reply:
        """Store a large file; the request must not carry the user's token.

        huggingface_hub does not send the headers that the action asks for, so they are optional.
        """
        assert "authorization" not in seen.headers
        if hashlib.sha256(seen.body).hexdigest() != oid:
            return INVALID, {"message": "other content"}
        self.objects[oid] = seen.body
        return OK, b""

    def commit(self, seen: Seen, name: str) -> Reply:
        """Commit files, all at once."""
        if name not in self.repositories:
            return UNKNOWN, {"error": "Repository not found"}
        files = dict(self.repositories[name])
        for line in seen.body.splitlines():
            row = json.loads(line)
            value = row["value"]
            if row["key"] == "file":
                assert value["encoding"] == "base64"
                files[value["path"]] = base64.b64decode(value["content"])
            elif row["key"] == "lfsFile":
                if value["oid"] not in self.objects:
                    return INVALID, {"error": "object was not uploaded"}
                assert value["size"] == len(self.objects[value["oid"]])
                files[value["path"]] = self.objects[value["oid"]]
                self.lfs_paths.add((name, value["path"]))
            elif row["key"] == "deletedFile":
                del files[value["path"]]
            else:
                assert row["key"] == "header"
                assert value.keys() == {"summary", "description"}
        self.repositories[name] = files
        self.commits += 1
        oid = f"{self.commits:040x}"
        url = f"{self.url}/v1/hf/datasets/{name}/commit/{oid}"
        return OK, {"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""}

    def create_dataset(self, seen: Seen) -> Reply:
        """Create a dataset, which is a repository with a name."""
        body = seen.json
        if body.keys() - {"files_url", "description", "name", "namespace"}:
            return INVALID, {"detail": "unknown field"}
        if body.get("namespace") not in self.namespaces:
            return UNKNOWN, {"detail": "no such namespace"}
        name = f"{body['namespace']}/{body['name']}"
        if body["files_url"].removeprefix("hf://datasets/") not in self.repositories:
            return INVALID, {"detail": "no such repository"}
        if name in self.datasets:
            return EXISTS, {"detail": "exists"}
        self.datasets[name] = {**body, "id": f"dataset-{len(self.datasets)}", "created_at": NOW}
        return OK, self.datasets[name]

    def get_dataset(self, seen: Seen, name: str) -> Reply:
        """Find a dataset by namespace and name."""
        known = self.datasets.get(name)
        return (OK, known) if known else (UNKNOWN, {"detail": "no such dataset"})

    def create_job(self, seen: Seen) -> Reply:
        """Create a job; its name must be new, and its dataset must have its files."""
        body = seen.json
        parameters = body["hyperparameters"]
        unknown = body.keys() - JOB_FIELDS | parameters.keys() - HYPERPARAMETERS
        if unknown | (parameters.get("dpo", {}).keys() - DPO):
            return INVALID, {"detail": f"unknown fields: {unknown}"}
        dataset = f"{body['dataset']['namespace']}/{body['dataset']['name']}"
        if dataset not in self.datasets:
            return UNKNOWN, {"detail": f"dataset {dataset} not found"}
        files = self.repositories[self.datasets[dataset]["files_url"].removeprefix(HF)]
        if not any(name.startswith("training/") for name in files):
            return INVALID, {"detail": "no training file"}
        number = len(self.jobs) + 1
        name = body.get("name") or f"cust-{number}"
        if any(job["name"] == name for job in self.jobs.values()):
            return EXISTS, {"detail": f"job {name} exists"}
        job = {
            "output_model": f"default/tuned@cust-{number}",
            **body,
            "id": f"cust-{number}",
            "name": name,
            "created_at": NOW,
            "status": "created",
        }
        self.jobs[job["id"]] = job
        return OK, job

    def list_jobs(self, seen: Seen) -> Reply:
        """List jobs in small pages, whatever page size is requested."""
        return OK, self._page([*self.jobs.values()], seen)

    def _page(self, items: list[Any], seen: Seen) -> Any:
        assert seen.query.get("sort", ["-created_at"]) == ["-created_at"]
        page = int(seen.query.get("page", ["1"])[0])
        start = (page - 1) * self.page_size
        pages = -(-len(items) // self.page_size) or 1
        return {
            "data": items[::-1][start : start + self.page_size],
            "pagination": {"page": page, "page_size": self.page_size, "total_pages": pages},
        }

    def job_status(self, seen: Seen, job: str) -> Reply:
        """Return the next scripted status."""
        if job not in self.jobs:
            return UNKNOWN, {"detail": f"job {job} not found"}
        if self.jobs[job]["status"] == "cancelled":
            state: dict[str, Any] = {"status": "cancelled"}
        else:
            script = self.script or [{"status": "completed"}]
            state = script[min(self.looks, len(script) - 1)]
            self.looks += 1
        return OK, {"created_at": NOW, "updated_at": NOW, **state}

    def cancel_job(self, seen: Seen, job: str) -> Reply:
        """Cancel a job at once."""
        if job not in self.jobs:
            return UNKNOWN, {"detail": f"job {job} not found"}
        self.jobs[job]["status"] = "cancelled"
        return OK, self.jobs[job]

    def create_config(self, seen: Seen) -> Reply:
        """Create a deployment configuration for a model that a job made."""
        body = seen.json
        fields = {"description", "model", "name", "namespace", "nim_deployment"}
        if body.keys() - fields or body["nim_deployment"].keys() - {
            "image_name",
            "image_tag",
            "gpu",
        }:
            return INVALID, {"detail": "unknown field"}
        if body["model"] not in {job["output_model"] for job in self.jobs.values()}:
            return UNKNOWN, {"detail": f"no model {body['model']}"}
        name = f"{body['namespace']}/{body['name']}"
        if name in self.configs:
            return EXISTS, {"detail": "exists"}
        self.configs[name] = {**body, "created_at": NOW}
        return OK, self.configs[name]

    def create_deployment(self, seen: Seen) -> Reply:
        """Create a deployment of a configuration."""
        body = seen.json
        if body.keys() - {"config", "description", "name", "namespace"}:
            return INVALID, {"detail": "unknown field"}
        if body["config"] not in self.configs:
            return UNKNOWN, {"detail": f"no configuration {body['config']}"}
        name = f"{body['namespace']}/{body['name']}"
        if name in self.deployments:
            return EXISTS, {"detail": "exists"}
        self.deployments[name] = {**body, "url": "http://model.example", "created_at": NOW}
        return OK, self._deployment(name)

    def _deployment(self, name: str) -> dict[str, Any]:
        script = self.deployment_script
        status = script[min(self.deployment_looks, len(script) - 1)]
        details = {"status": status, "description": f"it is {status}"}
        return {**self.deployments[name], "status_details": details, "status": status}

    def get_deployment(self, seen: Seen, name: str) -> Reply:
        """Return the next scripted status."""
        if name not in self.deployments:
            return UNKNOWN, {"detail": "no such deployment"}
        answer = self._deployment(name)
        self.deployment_looks += 1
        return OK, answer

    def list_deployments(self, seen: Seen) -> Reply:
        """List all deployments, as NAT does."""
        answer = {"data": [self._deployment(name) for name in self.deployments]}
        self.deployment_looks += 1
        return OK, answer

    def create_workspace(self, seen: Seen) -> Reply:
        """Create a workspace of the platform."""
        if seen.json.keys() - {"name", "description"}:
            return INVALID, {"detail": "unknown field"}
        if seen.json["name"] in self.namespaces:
            return EXISTS, {"detail": "exists"}
        self.namespaces.add(seen.json["name"])
        return CREATED, {"name": seen.json["name"]}

    def create_fileset(self, seen: Seen, workspace: str) -> Reply:
        """Create a fileset of a workspace."""
        if seen.json.keys() - {"name", "description", "purpose", "custom_fields"}:
            return INVALID, {"detail": "unknown field"}
        if workspace not in self.namespaces:
            return UNKNOWN, {"detail": "no such workspace"}
        name = f"{workspace}/{seen.json['name']}"
        if name in self.repositories:
            return EXISTS, {"detail": "exists"}
        self.repositories[name] = {}
        return CREATED, {"name": seen.json["name"], "workspace": workspace}

    def list_fileset(self, seen: Seen, workspace: str, name: str) -> Reply:
        """List a fileset: names and sizes, no digests."""
        files = self.repositories.get(f"{workspace}/{name}")
        if files is None:
            return UNKNOWN, {"detail": "no such fileset"}
        return OK, {"data": [{"path": p, "size": len(c)} for p, c in files.items()]}

    def put_file(self, seen: Seen, workspace: str, name: str, path: str) -> Reply:
        """Store a file of a fileset."""
        files = self.repositories.get(f"{workspace}/{name}")
        if files is None:
            return UNKNOWN, {"detail": "no such fileset"}
        files[path] = seen.body
        return OK, {"path": path, "size": len(seen.body)}

    def get_file(self, seen: Seen, workspace: str, name: str, path: str) -> Reply:
        """Return the contents of a file."""
        content = self.repositories.get(f"{workspace}/{name}", {}).get(path)
        return (UNKNOWN, {"detail": "no such file"}) if content is None else (OK, content)

    def delete_file(self, seen: Seen, workspace: str, name: str, path: str) -> Reply:
        """Delete a file."""
        self.repositories[f"{workspace}/{name}"].pop(path)
        return OK, {"path": path}

    def create_rl_job(self, seen: Seen, workspace: str) -> Reply:
        """Create a job; the platform names it."""
        body = seen.json
        spec = body["spec"]
        training = spec["training"]
        unknown = body.keys() - {"name", "description", "spec", "custom_fields"}
        unknown |= spec.keys() - {"model", "dataset", "training", "output"}
        if unknown | (training.keys() - RL_TRAINING) or training["type"] != "dpo":
            return INVALID, {"detail": [{"msg": f"unknown fields: {unknown}"}]}
        files = self.repositories.get(spec["dataset"])
        if files is None or not {"training.jsonl", "validation.jsonl"} <= files.keys():
            return INVALID, {"detail": "the dataset needs training.jsonl and validation.jsonl"}
        name = f"rl-{len(self.jobs) + 1}"
        job = {**body, "name": name, "id": f"job-{name}", "workspace": workspace}
        self.jobs[name] = {**job, "status": "created", "output_model": spec["output"]["name"]}
        return CREATED, job

    def rl_jobs(self, seen: Seen, workspace: str) -> Reply:
        """List jobs in pages."""
        return OK, self._page([*self.jobs.values()], seen)

    def rl_status(self, seen: Seen, workspace: str, job: str) -> Reply:
        """Return the next scripted status."""
        return self.job_status(seen, job)

    def rl_cancel(self, seen: Seen, workspace: str, job: str) -> Reply:
        """Cancel a job at once."""
        return self.cancel_job(seen, job)

    def create_rl_config(self, seen: Seen, workspace: str) -> Reply:
        """Create a deployment configuration for a job's model."""
        body = seen.json
        if body.keys() - {"name", "description", "engine", "model_spec", "executor_config"}:
            return INVALID, {"detail": "unknown field"}
        if body["model_spec"]["model_name"] not in {j["output_model"] for j in self.jobs.values()}:
            return UNKNOWN, {"detail": "no such model"}
        if body["name"] in self.configs:
            return EXISTS, {"detail": "exists"}
        self.configs[body["name"]] = body
        return CREATED, body

    def create_rl_deployment(self, seen: Seen, workspace: str) -> Reply:
        """Create a deployment of a configuration."""
        body = seen.json
        if body.keys() - {"name", "config", "description"}:
            return INVALID, {"detail": "unknown field"}
        if body["config"] not in self.configs:
            return UNKNOWN, {"detail": "no such configuration"}
        if body["name"] in self.deployments:
            return EXISTS, {"detail": "exists"}
        self.deployments[body["name"]] = body
        return CREATED, self._deployment(body["name"])


NOW = "2026-01-01T00:00:00Z"
HF = "hf://datasets/"
_REPOSITORY = "([^/]+/[^/]+)"
_WORKSPACE = "/v2/workspaces/([^/]+)"
_FILESET = rf"/apis/files{_WORKSPACE}/filesets/([^/]+)"
_RL = rf"/apis/customization{_WORKSPACE}/rl/jobs"

ROUTES: list[tuple[str, str, bool, Callable[..., Reply]]] = [
    ("POST", "/v1/namespaces", False, Double.create_namespace),
    ("POST", "/v1/datastore/namespaces", False, Double.create_store_namespace),
    ("POST", "/v1/hf/api/repos/create", True, Double.create_repository),
    ("GET", f"/v1/hf/api/datasets/{_REPOSITORY}/tree/main", True, Double.tree),
    ("POST", f"/v1/hf/api/datasets/{_REPOSITORY}/preupload/main", True, Double.preupload),
    ("POST", f"/v1/hf/api/datasets/{_REPOSITORY}/commit/main", True, Double.commit),
    ("POST", f"/v1/hf/datasets/{_REPOSITORY}.git/info/lfs/objects/batch", True, Double.lfs_batch),
    ("GET", f"/v1/hf/datasets/{_REPOSITORY}/resolve/main/(.+)", True, Double.resolve),
    ("PUT", "/lfs/([0-9a-f]{64})", False, Double.put_object),
    ("POST", "/v1/datasets", False, Double.create_dataset),
    ("GET", f"/v1/datasets/{_REPOSITORY}", False, Double.get_dataset),
    ("POST", "/v1/customization/jobs", False, Double.create_job),
    ("GET", "/v1/customization/jobs", False, Double.list_jobs),
    ("GET", "/v1/customization/jobs/([^/]+)/status", False, Double.job_status),
    ("POST", "/v1/customization/jobs/([^/]+)/cancel", False, Double.cancel_job),
    ("POST", "/v1/deployment/configs", False, Double.create_config),
    ("POST", "/v1/deployment/model-deployments", False, Double.create_deployment),
    ("GET", "/v1/deployment/model-deployments", False, Double.list_deployments),
    ("GET", f"/v1/deployment/model-deployments/{_REPOSITORY}", False, Double.get_deployment),
    ("POST", "/apis/entities/v2/workspaces", True, Double.create_workspace),
    ("POST", rf"/apis/files{_WORKSPACE}/filesets", True, Double.create_fileset),
    ("GET", f"{_FILESET}/files", True, Double.list_fileset),
    ("PUT", f"{_FILESET}/-/(.+)", True, Double.put_file),
    ("GET", f"{_FILESET}/-/(.+)", True, Double.get_file),
    ("DELETE", f"{_FILESET}/-/(.+)", True, Double.delete_file),
    ("POST", _RL, True, Double.create_rl_job),
    ("GET", _RL, True, Double.rl_jobs),
    ("GET", f"{_RL}/([^/]+)/status", True, Double.rl_status),
    ("POST", f"{_RL}/([^/]+)/cancel", True, Double.rl_cancel),
    ("POST", rf"/apis/models{_WORKSPACE}/deployment-configs", True, Double.create_rl_config),
    ("POST", rf"/apis/models{_WORKSPACE}/deployments", True, Double.create_rl_deployment),
    (
        "GET",
        r"/apis/models/v2/workspaces/[^/]+/deployments/([^/]+)",
        True,
        Double.get_deployment,
    ),
]


class Handler(BaseHTTPRequestHandler):
    """Reads requests and answers them with the double."""

    protocol_version = "HTTP/1.1"
    double: ClassVar[Double]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing."""

    def handle_any(self) -> None:
        """Answer one request."""
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, parts.path, parse_qs(parts.query), headers, body)
        double = self.double
        with double.lock:
            fault = double.faults.pop(len(double.seen), "")
            double.seen.append(seen)
            try:
                status, value, more = self._outcome(seen, fault)
            except Cut:
                self.close_connection = True
                return
            except (AssertionError, KeyError, ValueError, TypeError) as error:
                status, value, more = 400, {"detail": f"{type(error).__name__} {error}"}, {}
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in more.items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _outcome(self, seen: Seen, fault: str) -> tuple[int, Any, dict[str, str]]:
        double = self.double
        if double.redirect_to:
            return 307, b"", {"Location": f"{double.redirect_to}{seen.path}"}
        if fault in ("before", "kill before"):
            self._kill(fault)
            raise Cut
        if fault.isdigit():
            more = {"Retry-After": "0.01"} if fault == "429" else {}
            return int(fault), {"detail": f"told to answer {fault}"}, more
        status, value = double.carry_out(seen)
        if fault in ("after", "kill after"):
            self._kill(fault)
            raise Cut
        if fault == "500 after":
            return 500, {"detail": "told to fail"}, {}
        if fault == "empty":
            return 200, type(value)(), {}
        if fault == "unnamed":
            return status, {**value, "output_model": None}, {}
        if fault == "slow":
            time.sleep(0.5)
        return status, value, {}

    def _kill(self, fault: str) -> None:
        if fault.startswith("kill"):
            self.double.kill()

    do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - as http.server wants


class Server(ThreadingHTTPServer):
    """A server that prints no errors about clients that were killed."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors, since clients may end at any time."""


@contextmanager
def running_double(tls: ssl.SSLContext | None = None, **settings: Any) -> Iterator[Double]:
    """A double that listens on loopback during the block."""
    double = Double(**settings)
    handler = type("OneHandler", (Handler,), {"double": double})
    with Server(("127.0.0.1", 0), handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        double.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield double
        finally:
            server.shutdown()
            thread.join()
