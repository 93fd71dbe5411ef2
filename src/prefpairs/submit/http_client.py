"""The one edge that connects: one request, one answer, over HTTP/1.1.

It connects to the named hosts and to no other: redirects are not followed, and no proxy is used.
TLS is verified. Nothing is retried here, because what may be repeated depends on the request.
"""

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from urllib.parse import urlsplit

from prefpairs import __version__
from prefpairs.errors import ServiceRefused, ServiceUnreachable
from prefpairs.submit.service_request import Answer, Request, StreamedBody, shown_url

_MOST_BYTES = 64_000_000
"""No answer is larger, other than the contents of a file."""
_BLOCK = 1 << 16


class NoAnswer(Exception):
    """It is unknown whether the request was carried out: its answer never came."""


class HttpClient:
    """Sends requests to a few named hosts."""

    def __init__(
        self,
        origins: frozenset[str],
        timeout: float,
        on_sent: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._origins = origins
        self._timeout = timeout
        self._on_sent = on_sent
        self.token = ""

    def send(self, request: Request, to_content: Callable[[bytes], None] | None = None) -> Answer:
        """Send a request and wait for its answer. Contents of files go to `to_content`."""
        parts = urlsplit(request.url)
        self._check_host(request)
        path = parts.path or "/"
        if parts.query:
            path += f"?{parts.query}"
        with closing(self._connection(parts.scheme, str(parts.hostname), parts.port)) as connection:
            try:
                with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered first
                    connection.request(
                        request.method, path, self._body(request), self._headers(request)
                    )
                return self._answer(connection.getresponse(), request, to_content)
            except ssl.SSLCertVerificationError as error:
                raise ServiceUnreachable(
                    request.step,
                    f"{parts.hostname} has no valid certificate: {error.verify_message}",
                    "the variable SSL_CERT_FILE names the certificates that you trust",
                ) from None
            except TimeoutError:
                raise NoAnswer(f"no answer within {self._timeout:g} seconds") from None
            except socket.gaierror:
                raise NoAnswer(f"there is no host {parts.hostname}") from None
            except OSError as error:
                raise NoAnswer(error.strerror or str(error)) from None
            except http.client.HTTPException as error:
                raise NoAnswer(f"the connection was cut ({type(error).__name__})") from None

    def _check_host(self, request: Request) -> None:
        """Raise unless the user named this host."""
        parts = urlsplit(request.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if f"{parts.scheme}://{parts.hostname}:{port}" not in self._origins:
            base = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
            raise ServiceRefused(
                request.step,
                f"the service names the host {base}, which you did not name",
                f"if it is right: --storage-host {base}",
            )

    def _connection(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        if scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)

    def _headers(self, request: Request) -> dict[str, str]:
        headers = {
            "Accept": "application/json",
            "Connection": "close",
            "User-Agent": f"prefpairs/{__version__}",
        }
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        if isinstance(request.body, StreamedBody):
            headers["Content-Length"] = str(request.body.size)
        if request.with_token and self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return {**headers, **request.headers}

    def _body(self, request: Request) -> bytes | Iterator[bytes] | None:
        body = request.body
        if isinstance(body, StreamedBody):
            return self._counted(body)
        if body is None or isinstance(body, bytes):
            return body
        return json.dumps(body).encode()

    def _counted(self, body: StreamedBody) -> Iterator[bytes]:
        for chunk in body.chunks():
            yield chunk
            self._on_sent(len(chunk) * body.content_size / max(1, body.size))

    def _answer(
        self,
        response: http.client.HTTPResponse,
        request: Request,
        to_content: Callable[[bytes], None] | None,
    ) -> Answer:
        content = bytearray()
        until = time.monotonic() + self._timeout
        keep = to_content is None or not 200 <= response.status < 300
        while block := response.read(_BLOCK):
            if keep:
                content += block
                if len(content) > _MOST_BYTES or time.monotonic() > until:
                    raise NoAnswer("its answer has no end")
            elif to_content is not None:
                to_content(block)
        answer = Answer(
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
            bytes(content),
        )
        if 300 <= answer.status < 400:
            target = shown_url(answer.headers.get("location", ""))
            raise ServiceRefused(
                request.step,
                f"{request.shown_url} redirects to {target}, which is not followed",
                "name the final address as its host",
            )
        return answer
