"""Sends requests to a service, and repeats them if that is safe and may help."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from prefpairs.errors import ServiceRefused, ServiceUnreachable
from prefpairs.submit.http_client import HttpClient, NoAnswer
from prefpairs.submit.service_request import Answer, Request, origin_of
from prefpairs.submit.service_token import Token
from prefpairs.submit.submit_options import SubmitOptions

EXISTS = frozenset({409})

_LONGEST_WAIT = 120.0
"""Seconds that a service may make us wait before we ask again."""
_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_NO_ENTRY = (401, 403)
_NO_ENTRY_HINT = "--token-from env:NAME, huggingface or FILE says where the token is"

Look = Callable[[], Answer | None]


class Asks(Protocol):
    """What carries out requests: a service, or a dry run that only shows them."""

    def ask(
        self,
        request: Request,
        also: frozenset[int] = frozenset(),
        look: Look | None = None,
        to_content: Callable[[bytes], None] | None = None,
    ) -> Answer:
        """The answer to a request: success, or one of the codes in `also`.

        A request is repeated if it may not have been carried out, or if the service is busy.
        If that might create something twice, `look` finds out first whether it is there already.
        """
        ...


@dataclass(slots=True)
class Service(Asks):
    """A service that is really there."""

    client: HttpClient
    token: Token
    longest_wait: float
    """Seconds between two attempts, unless the service says how long."""
    attempts: int = 4

    def ask(
        self,
        request: Request,
        also: frozenset[int] = frozenset(),
        look: Look | None = None,
        to_content: Callable[[bytes], None] | None = None,
    ) -> Answer:
        """See `Asks`."""
        problem = ""
        for attempt in range(self.attempts):
            if attempt and look is not None and (found := look()) is not None:
                return found
            try:
                answer = self._send(request, to_content)
            except NoAnswer as error:
                problem, wait = str(error), None
            else:
                if answer.is_ok or answer.status in also:
                    return answer
                if answer.status not in _BUSY:
                    raise self._refused(request, answer, did_nothing=not attempt)
                problem = f"HTTP {answer.status}: {self._without_token(answer.message())}"
                wait = _seconds(answer.headers.get("retry-after"))
            if attempt + 1 < self.attempts:
                usual = min(self.longest_wait, 2.0**attempt)
                time.sleep(min(usual if wait is None else wait, _LONGEST_WAIT))
        times = f", {self.attempts} times" if self.attempts > 1 else ""
        raise ServiceUnreachable(
            request.step, f"{request.method} {request.shown_url}: {problem}{times}"
        )

    def _send(self, request: Request, to_content: Callable[[bytes], None] | None) -> Answer:
        """Send a request. A token that was refused is read again, since it may have expired."""
        answer = self.client.send(request, to_content)
        if answer.status == 401 and request.with_token:
            token = self.token.read()
            if token != self.client.token:
                self.client.token = token
                answer = self.client.send(request, to_content)
        return answer

    def _refused(self, request: Request, answer: Answer, *, did_nothing: bool) -> Exception:
        told = self._without_token(answer.message())
        problem = f"{request.method} {request.shown_url}: HTTP {answer.status}: {told}"
        if answer.status in _NO_ENTRY:
            return ServiceUnreachable(request.step, problem, _NO_ENTRY_HINT)
        refused = ServiceRefused(request.step, problem)
        refused.did_nothing = did_nothing
        return refused

    def _without_token(self, text: str) -> str:
        return text.replace(self.client.token, "***") if self.client.token else text


def connect(
    options: SubmitOptions, token: Token, on_sent: Callable[[float], None] = lambda _: None
) -> Service:
    """The service that options name; nothing connects yet."""
    hosts = [options.entity_host, options.datastore_host, *(options.storage_host or [])]
    origins = frozenset(origin_of("host", host) for host in hosts if host is not None)
    client = HttpClient(origins, options.request_timeout_seconds, on_sent)
    client.token = token.read()
    return Service(client, token, options.poll_interval_seconds)


def _seconds(word: str | None) -> float | None:
    """How long to wait, if the service says it in seconds; a date is not read."""
    try:
        return max(0.0, float(word)) if word is not None else None
    except ValueError:
        return None
