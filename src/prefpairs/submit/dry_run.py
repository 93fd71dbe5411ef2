"""A service that is not there: it says yes to everything, and keeps what it was asked."""

import json
from collections.abc import Callable
from typing import Any

from prefpairs.submit.dataset_files import DatasetFile
from prefpairs.submit.service import Asks, Look
from prefpairs.submit.service_request import Answer, Request

LARGE = 10_000_000
"""From this size on, a file is taken for a large one; really, the store decides."""


class DryRun(Asks):
    """Answers as a service would that is empty and where all goes well."""

    def __init__(self, files: list[DatasetFile]) -> None:
        self._files = files
        self._is_stored = False
        self.requests: list[Request] = []

    def ask(
        self,
        request: Request,
        also: frozenset[int] = frozenset(),
        look: Look | None = None,
        to_content: Callable[[bytes], None] | None = None,
    ) -> Answer:
        """See `Asks`."""
        del also, look
        self.requests.append(request)
        path = request.url.partition("?")[0]
        if to_content is not None:
            self._read_back(path, to_content)
        self._is_stored |= path.endswith("/commit/main") or request.method == "PUT"
        return Answer(200, {}, json.dumps(self._value(path)).encode())

    def _value(self, path: str) -> Any:
        """What a service would say."""
        stored = [_entry(file) for file in self._files] if self._is_stored else []
        host = path.partition("/v1/")[0]
        values = {
            "/preupload/main": {"files": [self._mode(file) for file in self._files]},
            "/objects/batch": {"objects": [_upload_to(host, file) for file in self._files]},
            "/tree/main": stored,
            "/files": {"data": stored},
            "jobs": {"id": "JOB", "name": "JOB", "output_model": "OUTPUT_MODEL"},
            "/status": {"status": "completed"},
        }
        if "deployments/" in path:
            return {"status": "ready", "status_details": {"status": "ready"}}
        return next((value for end, value in values.items() if path.endswith(end)), {})

    def _read_back(self, path: str, to_content: Callable[[bytes], None]) -> None:
        for file in self._files:
            if path.endswith(file.name):
                for block in file.blocks():
                    to_content(block)

    def _mode(self, file: DatasetFile) -> dict[str, Any]:
        return {"path": file.name, "uploadMode": "lfs" if file.size > LARGE else "regular"}


def _upload_to(host: str, file: DatasetFile) -> dict[str, Any]:
    href = f"{host}/WHERE-THE-STORE-SAYS"
    return {"oid": file.digests.sha256, "actions": {"upload": {"href": href}}}


def _entry(file: DatasetFile) -> dict[str, Any]:
    return {"type": "file", "path": file.name, "size": file.size, "oid": file.digests.git}
