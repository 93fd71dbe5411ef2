"""Runs commands in process on arbitrary bytes and checks the promises of all commands."""

import gzip
import io
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, NoReturn

from backports import zstd

from prefpairs.cli.main import main

SECONDS = 10.0
"""The longest time that a command may take on a few kilobytes, whatever they contain."""

_RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_PLACE = re.compile(r"error: (the output|[\w.-]+\.(jsonl|json))(:\d+)?: ")
_BAD_ROW = re.compile(r"^error: rows(-\d)?.jsonl:\d+: .", re.MULTILINE)
_NOT_TOLD = re.compile("error: cannot tell which field holds|these are preference pairs already")
_MEMORY = "/dev/shm"  # noqa: S108 - files that nobody keeps


class Ran(NamedTuple):
    """The outcome of a command."""

    code: int
    said: str
    written: bytes


@contextmanager
def inside(**files: bytes) -> Iterator[None]:
    """A temporary folder with these files, as the working directory."""
    path, before = tempfile.mkdtemp(dir=_MEMORY if os.path.isdir(_MEMORY) else None), os.getcwd()
    try:
        os.chdir(path)
        for name, data in files.items():
            Path(name).write_bytes(data)
        yield
    finally:
        os.chdir(before)
        shutil.rmtree(path)


@contextmanager
def _quiet() -> Iterator[None]:
    """Discards standard output."""
    before, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(before, 1)
        os.close(before)
        os.close(nowhere)


def run(command: str, *words: str, output: str | None = None) -> Ran:
    """Run a command to its end and check that it keeps the promises of all commands."""
    asked = [command, *words, *(["-o", output] if output else [])]
    told = io.StringIO()
    begin = time.process_time()
    with redirect_stderr(told), _quiet():
        code = main(asked)
    took = time.process_time() - begin
    said = told.getvalue()
    assert took < SECONDS, (asked, took)
    assert "Traceback" not in said, said
    assert not _RAW.search(said), repr(said)
    allowed = {0, 1, 3, 4} if command == "validate" else {0, 1, 3}
    if "\nhint: prefpairs " in said:  # a command that resolves the ambiguity, or reads other rows
        allowed = {1, 2}
    assert code in allowed, (asked, code, said)
    if code == 1 and not _NOT_TOLD.search(said):
        assert _PLACE.search(said), said
        assert _BAD_ROW.search(said) or "bad row" not in said, said
    written = Path(output).read_bytes() if output and os.path.exists(output) else b""
    assert bool(written) <= (code == 0), (code, said)
    return Ran(code, said, written)


def counts_of(summary: str) -> dict[str, Any]:
    """The counts of a run, which must account for everything."""
    counts: dict[str, Any] = json.loads(Path(summary).read_bytes())
    rows = counts["rows"]
    if "fine" in rows:
        assert rows["read"] == rows["fine"] + rows["lost"], rows
        return counts
    assert rows["read"] == rows["used"] + sum(rows["dropped"].values()) + rows["bad"], rows
    for ledger in (counts.get("candidates"), *counts.get("stages", {}).values()):
        if ledger is not None:
            assert ledger["found"] == ledger["kept"] + sum(ledger["dropped"].values()), ledger
    return counts


def strict(line: bytes) -> Any:
    """Parse a line as strict JSON, without extensions that only some readers accept."""
    assert "\n" not in line.decode().removesuffix("\n"), line
    value = json.loads(line.decode(), parse_constant=_refuse)
    json.dumps(value, ensure_ascii=False).encode()
    return value


def _refuse(word: str) -> NoReturn:
    raise AssertionError(word)


def in_surroundings(
    data: bytes, *words: str, kinds: Sequence[str] = ("file", "gzip", "zstd", "pipe")
) -> list[Ran]:
    """The results of a command on the same bytes in a file, compressed, and from a named pipe."""
    return [_run_on(data, kind, words) for kind in kinds]


def _run_on(data: bytes, kind: str, words: Sequence[str]) -> Ran:
    with inside():
        rows, output = Path("rows.jsonl"), "out.jsonl"
        if kind != "pipe":
            rows.write_bytes(_PACKS[kind](data))
            return run(*words, "rows.jsonl", output=output)
        os.mkfifo(rows)
        feeder = Thread(target=_feed, args=(rows.absolute(), data))
        feeder.start()
        try:
            return run(*words, "rows.jsonl", output=output)
        finally:
            os.close(os.open(rows, os.O_RDONLY | os.O_NONBLOCK))  # for a writer that is waiting
            feeder.join()


_PACKS: dict[str, Callable[[bytes], bytes]] = {
    "file": bytes,
    "gzip": gzip.compress,
    "zstd": zstd.compress,
}


def _feed(pipe: Path, data: bytes) -> None:
    try:
        pipe.write_bytes(data)
    except BrokenPipeError:
        return
