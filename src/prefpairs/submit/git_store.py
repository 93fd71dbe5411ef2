"""The Data Store: repositories behind the API of the Hugging Face Hub, with and without LFS.

All files of a dataset appear in one commit. Large ones are stored first, under their SHA-256.
"""

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from prefpairs.errors import ServiceRefused
from prefpairs.submit.dataset_files import DatasetFile
from prefpairs.submit.service import EXISTS, Asks
from prefpairs.submit.service_request import Answer, Request, StreamedBody
from prefpairs.submit.training_service import StoredFile

_NOT_FOUND = frozenset({404})
_LFS = "application/vnd.git-lfs+json"
_STREAM = "application/octet-stream"
_BASE64_BLOCK = 3 << 14
"""A multiple of three, so that the base64 of blocks is the base64 of the file."""
_MOST_PAGES = 1000


class GitStore:
    """One repository."""

    def __init__(self, host: str, namespace: str, name: str) -> None:
        self._host = host
        self._namespace = namespace
        self._name = name
        self._hub = f"{host}/v1/hf"
        self._repository = f"{self._hub}/api/datasets/{namespace}/{name}"

    def create_namespace(self, asks: Asks) -> bool:
        """Create the namespace; the store says 422 for one that exists, too."""
        url = f"{self._host}/v1/datastore/namespaces"
        body = f"namespace={quote(self._namespace)}".encode()
        form = "application/x-www-form-urlencoded"
        request = Request("namespace", "POST", url, body, form, with_token=True)
        return asks.ask(request, EXISTS | {422}).is_ok

    def create(self, asks: Asks) -> bool:
        """Create the repository; false if it exists."""
        body = {"name": self._name, "organization": self._namespace, "type": "dataset"}
        url = f"{self._hub}/api/repos/create"
        return asks.ask(Request("dataset", "POST", url, body, with_token=True), EXISTS).is_ok

    def files(self, asks: Asks) -> list[StoredFile]:
        """The files on the branch main; none if there is no commit yet."""
        url: str | None = f"{self._repository}/tree/main?recursive=true&expand=false"
        found: list[StoredFile] = []
        for _ in range(_MOST_PAGES):
            if url is None:
                break
            answer = asks.ask(Request("dataset", "GET", url, with_token=True), _NOT_FOUND)
            entries = answer.json() if answer.is_ok else []
            if not isinstance(entries, list):
                raise ServiceRefused("dataset", f"the list of its files is no list: {url}")
            found += [_stored(entry) for entry in entries if entry.get("type") == "file"]
            url = _next_page(answer)
        return found

    def upload(
        self, asks: Asks, files: list[DatasetFile], unwanted: list[str], message: str
    ) -> None:
        """Store the files, and commit them."""
        large = self._large(asks, files)
        self._store_large(asks, [file for file in files if file.name in large])
        lines = [_line("header", {"summary": message, "description": ""})]
        bodies: list[bytes | DatasetFile] = [*lines]
        for file in files:
            if file.name in large:
                bodies.append(_line("lfsFile", _lfs_entry(file)))
            else:
                bodies.append(file)
        bodies += [_line("deletedFile", {"path": name}) for name in unwanted]
        sizes = ", ".join(f"{file.name} as base64" for file in files if file.name not in large)
        body = StreamedBody(
            sum(_size_of(body) for body in bodies),
            sum(file.size for file in files if file.name not in large),
            lambda: _chunks(bodies),
            f"{message}; {sizes or 'large files by their SHA-256'}",
        )
        url = f"{self._repository}/commit/main"
        request = Request("upload", "POST", url, body, "application/x-ndjson", with_token=True)

        def look() -> Answer | None:
            stored = {file.name: file for file in self.files(asks)}
            there = all(
                file.name in stored and stored[file.name].is_copy_of(file) for file in files
            )
            done = there and stored.keys().isdisjoint(unwanted)
            return Answer(200, {}, b"{}") if done else None

        asks.ask(request, look=look)

    def _large(self, asks: Asks, files: list[DatasetFile]) -> set[str]:
        """The names of the files that the store wants by LFS."""
        body = {
            "files": [
                {
                    "path": file.name,
                    "sample": base64.b64encode(file.digests.head).decode(),
                    "size": file.size,
                }
                for file in files
            ]
        }
        url = f"{self._repository}/preupload/main"
        answer = asks.ask(Request("upload", "POST", url, body, with_token=True)).object()
        modes = {
            str(one.get("path")): one for one in answer.get("files") or [] if isinstance(one, dict)
        }
        for file in files:
            one = modes.get(file.name, {})
            if one.get("shouldIgnore") or one.get("uploadMode") not in ("lfs", "regular"):
                problem = f"the store does not say how it takes {file.name}"
                raise ServiceRefused("upload", problem)
        return {name for name, one in modes.items() if one.get("uploadMode") == "lfs"}

    def _store_large(self, asks: Asks, files: list[DatasetFile]) -> None:
        """Store the contents of files under their SHA-256, unless they are there."""
        if not files:
            return
        body = {
            "operation": "upload",
            "transfers": ["basic"],
            "objects": [{"oid": file.digests.sha256, "size": file.size} for file in files],
            "hash_algo": "sha256",
            "ref": {"name": "main"},
        }
        url = f"{self._hub}/datasets/{self._namespace}/{self._name}.git/info/lfs/objects/batch"
        headers = {"Accept": _LFS}
        request = Request("upload", "POST", url, json.dumps(body).encode(), _LFS, headers, True)
        objects = asks.ask(request).object().get("objects") or []
        told = {one.get("oid"): one for one in objects if isinstance(one, dict)}
        for file in files:
            one = told.get(file.digests.sha256)
            if one is None or one.get("error"):
                why = (one or {}).get("error") or {}
                problem = (
                    f"the store refuses {file.name}: {why.get('message', 'it does not say why')}"
                )
                raise ServiceRefused("upload", problem)
            actions = one.get("actions") or {}
            if "upload" in actions:
                self._send(asks, file, actions["upload"])
            if "verify" in actions:
                verify = actions["verify"]
                entry = {"oid": file.digests.sha256, "size": file.size}
                body_of_entry = json.dumps(entry).encode()
                asks.ask(
                    Request("upload", "POST", verify["href"], body_of_entry, _LFS, _headers(verify))
                )

    def _send(self, asks: Asks, file: DatasetFile, action: Any) -> None:
        if not isinstance(action, dict) or not isinstance(action.get("href"), str):
            raise ServiceRefused("upload", f"the store does not say where {file.name} goes")
        body = StreamedBody(file.size, file.size, file.blocks, f"the bytes of {file.name}")
        asks.ask(Request("upload", "PUT", action["href"], body, _STREAM, _headers(action)))


def _headers(action: dict[str, Any]) -> dict[str, str]:
    """The headers that the store requires, without the user's token."""
    header = action.get("header")
    given = header.items() if isinstance(header, dict) else ()
    return {str(name): str(value) for name, value in given if str(name).lower() != "content-length"}


def _line(key: str, value: dict[str, Any]) -> bytes:
    return json.dumps({"key": key, "value": value}).encode() + b"\n"


def _lfs_entry(file: DatasetFile) -> dict[str, Any]:
    return {
        "path": file.name,
        "algo": "sha256",
        "oid": file.digests.sha256,
        "size": file.size,
    }


_HEAD = b'{"key": "file", "value": {"content": "'


def _tail(file: DatasetFile) -> bytes:
    return f'", "path": {json.dumps(file.name)}, "encoding": "base64"}}}}\n'.encode()


def _size_of(body: bytes | DatasetFile) -> int:
    if isinstance(body, bytes):
        return len(body)
    return len(_HEAD) + (body.size + 2) // 3 * 4 + len(_tail(body))


def _chunks(bodies: list[bytes | DatasetFile]) -> Iterator[bytes]:
    """The lines of a commit; files are read as they are sent."""
    for body in bodies:
        if isinstance(body, bytes):
            yield body
            continue
        yield _HEAD
        for block in body.blocks(_BASE64_BLOCK):
            yield base64.b64encode(block)
        yield _tail(body)


def _stored(entry: dict[str, Any]) -> StoredFile:
    lfs = entry.get("lfs")
    if isinstance(lfs, dict):
        return StoredFile(entry["path"], lfs.get("size"), lfs.get("oid"))
    return StoredFile(entry["path"], entry.get("size"), entry.get("oid"))


def _next_page(answer: Answer) -> str | None:
    """The address of the next page of a list."""
    for link in answer.headers.get("link", "").split(","):
        target, _, relation = link.partition(";")
        if relation.strip() == 'rel="next"':
            return target.strip().strip("<>")
    return None
