"""The battery for commands that show pairs and write none: the same promises where they apply."""

import gzip
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from test_battery import data_for, rows_for, run_fresh
from test_nonblocking import waiting_in

from forked_prefpairs import in_shells, run
from prefpairs.model.pair import pair_of

IDS = ",".join(pair_of(row)[0].id for row in rows_for(["show"], 400)[::2])

SHOWS = {
    "show": ["show", "-n", "300"],
    "show by id": ["show", "--id", IDS],
    "show worst": ["show", "--worst", "length-ratio"],
    "show by draw": ["show", "--random", "--seed", "3"],
    "show group": ["show", "--group", "prompt:", "-n", "3"],
    "diff": ["diff", "-"],
    "diff ids": ["diff", "--ids", "lost", "-"],
    "diff json": ["diff", "--json", "-"],
}
"""Arguments to which the input is appended; piped data is the first side of `diff`."""

every_show = pytest.mark.parametrize("words", SHOWS.values(), ids=SHOWS.keys())


def _rows(words: list[str], count: int = 400) -> list[dict[str, object]]:
    """Rows that a command reads; each group answers one prompt."""
    if "--group" in words:
        rows = rows_for(["pair"], count)
        return [{**row, "prompt": "Question?"} for row in rows]
    return rows_for(words, count)


def _data(words: list[str], count: int = 400) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in _rows(words, count)).encode()


def _said(words: list[str], data: bytes, folder: Path) -> tuple[int, bytes]:
    """Exit code and output of a command that reads data from a pipe."""
    (folder / "other.jsonl").write_bytes(_data(words, 200))
    done = run(*_with_other(words, folder), data=data)
    return done.returncode, done.stdout


def _with_other(words: list[str], folder: Path, name: str | None = None) -> list[str]:
    """The arguments with their input, and the other side of a comparison."""
    if words[0] == "diff":
        return [*words[:-1], name or "-", str(folder / "other.jsonl")]
    return words if name is None else [*words, name]


@every_show
def test_a_pipe_a_file_and_packed_ones_are_the_same(words: list[str], tmp_path: Path) -> None:
    """A pipe, a file and compressed files give the same output, except for the input's name."""
    piped = _said(words, _data(words), tmp_path)
    assert piped[0] == 0
    assert piped[1]
    named = tmp_path / "stdin"
    packs: tuple[Callable[[bytes], bytes], ...] = (bytes, gzip.compress, zstd.compress)
    for pack in packs:
        named.write_bytes(pack(_data(words)))
        done = run(*_with_other(words, tmp_path, str(named)))
        assert (done.returncode, done.stdout) == piped
    array = json.dumps(_rows(words), indent=2).encode()
    assert _said(words, array, tmp_path)[1] == piped[1]


@every_show
def test_a_bad_line_is_reported(words: list[str], tmp_path: Path) -> None:
    """A bad line exits 1 and its number is reported; it can be skipped."""
    (tmp_path / "other.jsonl").write_bytes(_data(words, 200))
    data = b"{oops\n" + _data(words)
    done = run(*_with_other(words, tmp_path), data=data)
    assert done.returncode == 1
    assert b"error: stdin:1: not JSON" in done.stderr
    assert done.stdout == b""
    assert _said([words[0], "--on-error", "skip", *words[1:]], data, tmp_path)[0] == 0


@every_show
def test_same_in_same_out_in_any_surroundings(words: list[str], tmp_path: Path) -> None:
    """Without a terminal, hash seed, locale, TERM and color settings do not change the output."""
    plain = _said(words, _data(words), tmp_path)
    for env in (
        {"PYTHONHASHSEED": "1", "COLUMNS": "60", "FORCE_COLOR": "1"},
        {"PYTHONHASHSEED": "2", "LC_ALL": "C", "TZ": "Asia/Tokyo", "TERM": "dumb"},
    ):
        done = run_fresh(*_with_other(words, tmp_path), data=_data(words), env=env)
        assert (done.returncode, done.stdout) == plain


@every_show
def test_a_closed_pipe_is_success(words: list[str], tmp_path: Path) -> None:
    """`| head -n 1` closes the pipe early, which is no error."""
    (tmp_path / "other.jsonl").write_bytes(_data(words, 200))
    words = _with_other(words, tmp_path)
    command = f"prefpairs {' '.join(words)} | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=in_shells(),
        input=_data(words, 2000),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert b"Broken" not in done.stderr


@every_show
def test_a_full_disk_is_an_error(words: list[str], tmp_path: Path) -> None:
    """A failed write exits 5 with one error line."""
    (tmp_path / "other.jsonl").write_bytes(_data(words, 200))
    words, data = _with_other(words, tmp_path), _data(words)
    with open("/dev/full", "wb") as full:
        buffered = run(*words, data=data, stdout=full)
        unbuffered = run_fresh(*words, data=data, stdout=full, env={"PYTHONUNBUFFERED": "1"})
    for done in (buffered, unbuffered):
        assert (done.returncode, b"No space left" in done.stderr) == (5, True)


@every_show
def test_interrupts_end_it(words: list[str], tmp_path: Path) -> None:
    """SIGINT exits 130 and SIGTERM 143."""
    (tmp_path / "other.jsonl").write_bytes(_data(words, 200))
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = subprocess.Popen(
            [sys.executable, "-m", "prefpairs", *_with_other(words, tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        assert process.stdin is not None
        process.stdin.write(_data(words, 4))
        process.stdin.flush()
        while waiting_in(process.stdin.fileno()) and process.poll() is None:
            time.sleep(0.02)
        time.sleep(0.1)
        process.send_signal(number)
        process.communicate(timeout=20)
        assert process.returncode == code


@every_show
def test_bad_rows_are_never_put_over_an_input(words: list[str], tmp_path: Path) -> None:
    """Quarantined rows never overwrite an input, not even through a link."""
    rows, link = tmp_path / "rows.jsonl", tmp_path / "link.jsonl"
    rows.write_bytes(_data(words))
    (tmp_path / "other.jsonl").write_bytes(_data(words, 200))
    link.symlink_to(rows)
    for name in (rows, link):
        aside = ["--on-error", "quarantine", "--quarantine", str(name)]
        done = run(*_with_other([words[0], *aside, *words[1:]], tmp_path, str(rows)))
        assert (done.returncode, rows.read_bytes() == _data(words)) == (2, True)


@pytest.mark.parametrize("words", [words for words in SHOWS.values() if words[0] == "show"])
def test_nothing_to_show_is_exit_3(words: list[str]) -> None:
    """Exits 3 with a hint if there is nothing to show."""
    done = run(*words, data=b"")
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"\nhint: " in done.stderr


@pytest.mark.parametrize("words", [words for words in SHOWS.values() if words[0] == "diff"])
def test_nothing_to_compare_is_no_error(words: list[str], tmp_path: Path) -> None:
    """Comparing two empty inputs is no error, since both could be read."""
    assert _said(words, b"", tmp_path)[0] == 0


def test_options_take_dashes_and_underscores() -> None:
    """`--no_pager` is accepted as `--no-pager`."""
    assert run("show", "--no_pager", data=data_for(["show"])).returncode == 0
    assert run("diff", "--exit_code", "-", "/dev/null", data=b"").returncode == 0
