"""Standard streams that a parent program, such as node or asyncio, left non-blocking."""

import os
import subprocess
import sys
import time
from array import array
from collections.abc import Sequence
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from termios import FIONREAD
from threading import Thread

import pytest
from test_battery import data_for, every_command

from forked_prefpairs import run

PAUSE = 0.05


def waiting_in(pipe: int) -> int:
    """The number of unread bytes in a pipe."""
    count = array("i", [0])
    ioctl(pipe, FIONREAD, count)
    return count[0]


def with_pauses(*parts: bytes) -> int:
    """A non-blocking pipe that gets each part only after the parts before it were read."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)

    def feed() -> None:
        with suppress(BrokenPipeError), open(theirs, "wb", buffering=0) as pipe:
            for part in parts:
                pipe.write(part)
                while waiting_in(theirs):
                    time.sleep(PAUSE / 10)
                time.sleep(PAUSE)

    Thread(target=feed, daemon=True).start()
    return ours


def read_late(words: Sequence[str], stdin: int) -> tuple[int, bytes]:
    """The exit code and the output, read late so that the non-blocking pipe is full for a while."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    process = subprocess.Popen(
        [sys.executable, "-m", "prefpairs", *words],
        stdin=stdin,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    os.close(stdin)
    before = -1
    while process.poll() is None and (now := waiting_in(ours)) != max(before, 1):
        before = now
        time.sleep(PAUSE * 4)
    with open(ours, "rb") as pipe:
        found = pipe.read()
    return process.wait(60), found


@every_command
def test_a_pause_is_not_the_end(words: list[str]) -> None:
    """If the writer pauses, all rows are still read and all results written."""
    data = data_for(words, 2000)
    half = len(data) // 2
    found = read_late(words, with_pauses(data[:half], data[half:-5], data[-5:]))
    assert found == (0, run(*words, data=data).stdout)


def test_a_slow_reader_is_no_error() -> None:
    """Output larger than the pipe buffer is written completely, even if the reader is slow."""
    words = ["pair"]
    data = data_for(words, 20_000)
    expected = run(*words, data=data).stdout
    assert len(expected) > 1 << 20
    assert read_late(words, with_pauses(data)) == (0, expected)
    assert read_late([*words, "-o", "/dev/stdout"], with_pauses(data)) == (0, expected)


def test_ids_come_with_pauses(tmp_path: Path) -> None:
    """`show --id -` reads the IDs up to the last one, despite pauses."""
    pairs = tmp_path / "p.jsonl"
    pairs.write_bytes(run("pair", data=data_for(["pair"], 8)).stdout)
    words = ["show", "--id", "-", str(pairs)]
    ids = [line.split(b'"id":"')[1][:32] for line in pairs.read_bytes().splitlines()]
    assert len(ids) == 2
    found = read_late(words, with_pauses(ids[0], b"\n" + ids[1]))
    assert found == (0, run(*words, data=b"\n".join(ids)).stdout)
    assert all(one in found[1] for one in (b"Question 0?", b"Question 1?"))


@pytest.mark.parametrize("words", [["--version"], ["pair", "--help"], ["pair", "-"]])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_messages_wait_for_a_slow_reader(words: list[str], stream: str) -> None:
    """Help and errors are written completely to a pipe that was full at first."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    filled = 0
    with suppress(BlockingIOError):
        while True:
            filled += os.write(theirs, bytes(4096))
    program = [sys.executable, "-m", "prefpairs", *words]
    process = subprocess.Popen(
        program,
        stdin=subprocess.DEVNULL,
        stdout=theirs if stream == "stdout" else subprocess.DEVNULL,
        stderr=theirs if stream == "stderr" else subprocess.DEVNULL,
    )
    os.close(theirs)
    with suppress(subprocess.TimeoutExpired):
        process.wait(1)
    with open(ours, "rb") as pipe:
        found = pipe.read()[filled:]
    plain = run(*words)
    assert (process.wait(60), found) == (plain.returncode, getattr(plain, stream))
