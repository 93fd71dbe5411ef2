"""prefpairs report: where the page is written, and the messages."""

import gzip
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from prefpairs.cli.main import main

PAIR = b'{"prompt": "Q", "chosen": "a", "rejected": "b", "chosen_score": 1, "rejected_score": 0}\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.jsonl").write_bytes(PAIR)


def test_what_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    """Says where the page is, its size and how to open it; nothing if quiet or piped."""
    assert main(["report", "pairs.jsonl", "-o", "report.html"]) == 0
    size = Path("report.html").stat().st_size
    said = f"wrote report.html ({size / 1000:.0f} KB): open it in a browser\n"
    assert capfd.readouterr() == ("", said)
    assert main(["report", "pairs.jsonl", "-q", "-o", "report.html"]) == 0
    assert capfd.readouterr() == ("", "")
    assert main(["report", "pairs.jsonl", "-o", "-"]) == 0
    assert capfd.readouterr() == (Path("report.html").read_text(), "")


def test_megabytes(capfd: pytest.CaptureFixture[str]) -> None:
    """The size of a large page is in MB."""
    Path("pairs.jsonl").write_bytes(
        b"".join(PAIR.replace(b'"a"', b'"%d %s"' % (n, b"a" * 15_000)) for n in range(100))
    )
    assert main(["report", "pairs.jsonl", "-o", "report.html"]) == 0
    assert capfd.readouterr().err == "wrote report.html (1.6 MB): open it in a browser\n"


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_a_terminal_is_no_browser(output: str) -> None:
    """A page is not printed to a terminal."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "prefpairs", "report", "pairs.jsonl", "-o", output],
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    said = b"error: a page is nothing to read on a terminal\n\nhint: -o report.html\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_the_same_page_packed_or_not() -> None:
    """`.gz` compresses the page, as in other commands."""
    assert main(["report", "pairs.jsonl", "-q", "-o", "report.html"]) == 0
    assert main(["report", "pairs.jsonl", "-q", "-o", "report.html.gz"]) == 0
    packed = gzip.decompress(Path("report.html.gz").read_bytes())
    assert packed == Path("report.html").read_bytes()
