"""What a submission shows on a terminal, and the messages about requests."""

import os
import pty
import re
import sys
from pathlib import Path

import pytest
from submit_kit import options_for, write_dataset

from customizer_double import running_double
from prefpairs.cli.terminal.submit_text import Teller, event_line

SCRIPT = [
    {"status": "created"},
    {"status": "running", "percentage_done": 33.3, "epochs_completed": 1, "train_loss": 0.6123},
    {"status": "completed", "percentage_done": 100},
]
SEEN = """\
check       6 rows, all fine
namespace   games: created
dataset     games/moves: created
upload      2 files, SIZE: 2 sent; sizes and hashes verified
register    games/moves: registered
job         cust-1, output model default/tuned@cust-1
watch       completed, 100.0 %
deploy      ready: it is ready
ready       default/tuned@cust-1 at http://model.example
"""


def seen_on_a_terminal(*words: str) -> tuple[str, str]:
    """Everything that a run draws, and the final screen."""
    process, terminal = pty.fork()
    if not process:
        os.execv(sys.executable, [sys.executable, "-m", "prefpairs", *words])  # noqa: S606
    drawn = b""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the end of the terminal, on Linux
            break
        if not data:
            break
        drawn += data
    os.waitpid(process, 0)
    os.close(terminal)
    text = drawn.decode().replace("\r\n", "\n")
    return text, re.sub(r"[^\n]*\r\x1b\[K", "", text)


def test_lines_replace_each_other(tmp_path: Path) -> None:
    """Each step leaves one line; the job's states are shown in between."""
    folder = write_dataset(tmp_path)
    with running_double(script=SCRIPT) as double:
        words = [*options_for(double), "--deploy-on-completion", "true"]
        drawn, left = seen_on_a_terminal("submit", "customizer", str(folder), *words)
    assert re.sub(r"\d+ bytes", "SIZE", left) == SEEN
    assert "watch       running, 33.3 %, 1 epoch done, train loss 0.6123" in drawn
    assert "{" not in drawn


def test_what_a_service_says_controls_no_terminal(tmp_path: Path) -> None:
    """Control characters in a service's messages are escaped."""
    folder = write_dataset(tmp_path)
    script = [{"status": "failed", "status_logs": [{"detail": "\x1b[31mred \u202e"}]}]
    with running_double(script=script) as double:
        drawn, _ = seen_on_a_terminal("submit", "customizer", str(folder), *options_for(double))
    assert r"job cust-1 failed: \x1b[31mred \u202e" in drawn
    assert "\x1b[31m" not in drawn


def test_an_upload_in_bytes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Progress counts bytes of the files, not of their base64, and never exceeds the total."""
    monkeypatch.setattr("prefpairs.cli.terminal.submit_text._PERIOD", 0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    teller = Teller()
    teller.tell("uploading", {"files": 2, "bytes": 2_000_000})
    for _ in range(3):
        teller.sent(1_000_000)
    teller.end()
    assert capsys.readouterr().err == (
        "upload      2 files, 2.0 MB"
        "\r\x1b[Kupload      1.0 MB of 2.0 MB, 50%"
        "\r\x1b[Kupload      2.0 MB of 2.0 MB, 100%"
        "\r\x1b[Kupload      2.0 MB of 2.0 MB, 100%\n"
    )


def test_an_upload_that_was_there() -> None:
    """If all files were there already, the line says so, and counts deleted old files."""
    facts = {"sent": 0, "files": 1, "bytes": 999, "deleted": ["training/old.jsonl"]}
    assert event_line("upload", facts) == (
        "upload      1 file, 999 bytes: were there already, 1 old file deleted; "
        "sizes and hashes verified"
    )
