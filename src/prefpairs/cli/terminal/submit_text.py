"""The progress of `submit`: lines for people on a terminal, JSON lines elsewhere."""

import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from shutil import get_terminal_size
from typing import Any

from prefpairs.cli.terminal.safe_text import plural, printable, write_stderr
from prefpairs.files.standard_output import ClosedPipe, StandardOutput
from prefpairs.submit.dataset_files import DatasetFile
from prefpairs.submit.service_request import Request, StreamedBody

_WIDTH = 12
_PERIOD = 0.1
"""Seconds between two lines about an upload."""
_CLEAR = "\r\x1b[K"
_LIVE = ("watch", "deploy", "uploading", "unanswered")
"""Steps whose line is replaced by the next one about the same."""
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class Teller:
    """Tells people on standard error if that is a terminal, programs on standard output if not."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._for_people = not quiet and sys.stderr is not None and sys.stderr.isatty()
        to_screen = sys.stdout is not None and sys.stdout.isatty()
        self._output = None if quiet or to_screen else StandardOutput(styled=False)
        self._live = ""
        """What the last line is about, if the next one may replace it."""
        self._sent, self._total, self._drawn = 0.0, 0, 0.0

    def tell(self, step: str, facts: dict[str, Any]) -> None:
        """Tell what happened in a step."""
        if step == "uploading":
            self._sent, self._total = 0.0, int(facts["bytes"])
        if self._output is not None:
            try:
                self._output.write(json.dumps({"step": step, **facts}).encode() + b"\n")
                self._output.flush()
            except ClosedPipe:  # the reader is gone, but the submission continues
                self._output = None
        if self._for_people:
            self._line(event_line(step, facts), live=step in _LIVE)

    def sent(self, count: float) -> None:
        """Count bytes of files that were sent."""
        self._sent += count
        now = time.monotonic()
        if self._for_people and self._total and now - self._drawn >= _PERIOD:
            self._drawn = now
            done = min(self._sent, self._total)
            share = f"{size_text(done)} of {size_text(self._total)}, {done / self._total:.0%}"
            self._line(_labelled("upload", share), live=True)

    def note(self, text: str) -> None:
        """Tell something that is no step."""
        self.end()
        write_stderr(f"note: {printable(text)}\n")

    def end(self) -> None:
        """Leave the last line as it is."""
        if self._live:
            write_stderr("\n")
        self._live = ""

    def _line(self, text: str, *, live: bool) -> None:
        """Write a line, in place of the last one if that was about the same."""
        label = text[:_WIDTH]
        if self._live != label:
            self.end()
        shown = printable(text)
        if live:
            shown = shown[: get_terminal_size().columns - 1]
        write_stderr(f"{_CLEAR if self._live else ''}{shown}" + ("" if live else "\n"))
        self._live = label if live else ""


def _labelled(label: str, text: str) -> str:
    return f"{label:{_WIDTH}}{text}"


def event_line(step: str, facts: dict[str, Any]) -> str:
    """A step as people read it."""
    label, told = _TOLD[step]
    return _labelled(label, told(facts))


def _check_text(facts: dict[str, Any]) -> str:
    return f"{plural(facts['rows'], 'row')}, all fine"


def _created_text(facts: dict[str, Any]) -> str:
    return f"{facts['name']}: {'created' if facts['created'] else 'exists'}"


def _registered_text(facts: dict[str, Any]) -> str:
    return f"{facts['name']}: {'registered' if facts['created'] else 'is registered already'}"


def _sizes_text(facts: dict[str, Any]) -> str:
    return f"{plural(facts['files'], 'file')}, {size_text(facts['bytes'])}"


def _upload_text(facts: dict[str, Any]) -> str:
    sent = f"{facts['sent']} sent" if facts["sent"] else "were there already"
    deleted = facts.get("deleted")
    more = f", {plural(len(deleted), 'old file')} deleted" if deleted else ""
    return f"{_sizes_text(facts)}: {sent}{more}; sizes and hashes verified"


def _job_text(facts: dict[str, Any]) -> str:
    model = facts.get("output_model")
    return f"{facts['job']}{f', output model {model}' if model else ''}"


def _unanswered_text(facts: dict[str, Any]) -> str:
    return f"no answer ({facts['problem']})"


def _deploy_text(facts: dict[str, Any]) -> str:
    return f"{facts['status']}{': ' + facts['message'] if facts.get('message') else ''}"


def _ready_text(facts: dict[str, Any]) -> str:
    return f"{facts['model']}{' at ' + facts['url'] if facts.get('url') else ''}"


def watch_text(facts: dict[str, Any]) -> str:
    """The state of a job; what the service does not say is left out.

    >>> watch_text({"status": "running", "percentage_done": 45.0, "train_loss": 0.61})
    'running, 45.0 %, train loss 0.61'
    """
    parts = [str(facts["status"])]
    if (percentage := facts.get("percentage_done")) is not None:
        parts.append(f"{percentage:.1f} %")
    if (epochs := facts.get("epochs_completed")) is not None:
        parts.append(f"{plural(epochs, 'epoch')} done")
    if (steps := facts.get("steps_completed")) is not None:
        of = f" of {facts['steps']:,}" if facts.get("steps") else ""
        parts.append(f"step {steps:,}{of}")
    losses = {name: facts[name] for name in ("train_loss", "val_loss") if name in facts}
    parts += [f"{name.replace('_', ' ')} {loss:.4g}" for name, loss in losses.items()]
    if facts.get("message"):
        parts.append(str(facts["message"]))
    return ", ".join(parts)


_TOLD: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "check": ("check", _check_text),
    "namespace": ("namespace", _created_text),
    "dataset": ("dataset", _created_text),
    "uploading": ("upload", _sizes_text),
    "upload": ("upload", _upload_text),
    "register": ("register", _registered_text),
    "submit": ("job", _job_text),
    "watch": ("watch", watch_text),
    "unanswered": ("watch", _unanswered_text),
    "deploy": ("deploy", _deploy_text),
    "ready": ("ready", _ready_text),
}
"""The name of each step, and the text about it."""


def size_text(size: float) -> str:
    """A number of bytes.

    >>> size_text(900), size_text(1_200_000)
    ('900 bytes', '1.2 MB')
    """
    for least, unit in _UNITS:
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return plural(int(size), "byte")


def dry_run_text(requests: Sequence[Request], token: str, files: Sequence[DatasetFile]) -> str:
    """Every request, with what is secret left out."""
    lines = [
        _labelled("file", f"{file.name}, {size_text(file.size)}, sha256 {file.digests.sha256}")
        for file in files
    ]
    for request in requests:
        query = request.url.partition("?")[2]
        address = f"{request.shown_url}?{query}" if query else request.shown_url
        lines.append(_labelled(request.step, f"{request.method} {address}"))
        if request.with_token and token:
            lines.append(_labelled("", f"Authorization: Bearer *** (from {token})"))
        if request.body is not None:
            lines.append(_labelled("", _body_text(request.body)))
    return "".join(f"{printable(line)}\n" for line in lines)


_LONG_TEXT = re.compile(r'"([^"]{60})[^"]{60,}"')
"""Texts that are the first bytes of a file."""


def _body_text(body: Any) -> str:
    if isinstance(body, StreamedBody):
        return f"<{size_text(body.size)}: {body.shown}>"
    if isinstance(body, bytes):
        return body.decode()
    return _LONG_TEXT.sub(r'"\1..."', json.dumps(body))
