"""Requests to a service and its answers, as plain data. Nothing here connects to anything."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from prefpairs.errors import UsageError

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class StreamedBody:
    """A body that is read from files while it is sent."""

    size: int
    content_size: int
    """How many bytes of files are in it; base64 makes a third more of them."""
    chunks: Callable[[], Iterator[bytes]]
    """Its bytes; called again if the request is repeated."""
    shown: str
    """What it is, for people."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `step` names it in progress lines and errors."""

    step: str
    method: str
    url: str
    body: Any = None
    """A value that is sent as JSON, a StreamedBody, or bytes."""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that the service itself asked for; they may be secret."""
    with_token: bool = False
    """Whether the token goes with it."""

    @property
    def shown_url(self) -> str:
        """Its address without the query, which may hold a signature."""
        return shown_url(self.url)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_ok(self) -> bool:
        """Whether it did what was asked."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The value in it, or None if it holds no JSON."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            return None

    def object(self) -> dict[str, Any]:
        """The JSON object in it, empty if it holds none."""
        value = self.json()
        return value if isinstance(value, dict) else {}

    def message(self) -> str:
        """What it says about an error, in one line."""
        value = self.json()
        for key in ("message", "detail", "error", "error_message"):
            told = value.get(key) if isinstance(value, dict) else None
            if told:
                value = told
                break
        if isinstance(value, dict) and isinstance(value.get("message"), str):
            value = value["message"]
        if value is None:
            value = self.content[:_SHOWN].decode("utf-8", "replace")
        text = value if isinstance(value, str) else json.dumps(value)
        line = " ".join(text.split())
        return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


_SHOWN = 300


def shown_url(url: str) -> str:
    """An address without user, query and fragment.

    >>> shown_url("https://store.example.com/a/b?signature=secret")
    'https://store.example.com/a/b'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def origin_of(name: str, url: str) -> str:
    """The scheme, host and port of a base address; raises if it is none.

    >>> origin_of("--entity-host", "https://nmp.example.com/gateway/")
    'https://nmp.example.com:443'
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{name} is no address", "https://nmp.example.com")
    if parts.username is not None or parts.password is not None:
        hint = "a token goes into --token-from env:NAME"
        raise UsageError(f"{name} has a user or password in it", hint)
    if parts.query or parts.fragment:
        raise UsageError(f"{name} has a query in it, expected only host and path")
    default = 443 if parts.scheme == "https" else 80
    return f"{parts.scheme}://{parts.hostname.lower()}:{port or default}"
