"""The battery: promises that every command that reads and writes keeps.

A new command is added with one line in READERS.
"""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import IO

import pytest
from backports import zstd

from forked_prefpairs import in_shells, run
from prefpairs.cli.main import COMMANDS

READERS = {
    "extract": ["extract"],
    "pair": ["pair"],
    "pair exhaustive": ["pair", "--strategy", "exhaustive"],
    "pair random": ["pair", "--strategy", "random", "--max-pairs-per-group", "2"],
    "pair as grouped": ["pair", "--assume-grouped"],
    "dedupe": ["dedupe"],
    "dedupe near": ["dedupe", "--near", "0.9"],
    "filter": ["filter", "--min-gap", "0.3"],
    "sample": ["sample", "--max-pairs", "300"],
    "sample fraction": ["sample", "--fraction", "0.9"],
    "export": ["export", "--to", "trl"],
    "export answers": ["export", "--to", "trl-kto"],
    "export untyped": ["export", "--to", "openai"],
    "sample shuffled": ["sample", "--per-group", "3", "--order", "shuffle"],
}
LOOKERS = {
    "stats": ["stats", "--json"],
    "stats of pairs": ["stats", "--from", "pairs", "--json"],
    "stats of rollouts": ["stats", "--strategy", "exhaustive", "--json"],
    "report": ["report", "-o", "-"],
    "report of rollouts": ["report", "--strategy", "exhaustive", "--pairs", "50", "-o", "-"],
}
"""Commands that only look at data."""

ROLLOUTS = {"extract", "pair"}
"""The commands that read rollouts. The others read pairs unless they are given a strategy."""


def rows_for(words: list[str], count: int = 400) -> list[dict[str, object]]:
    """Rows that a command reads, four per prompt."""
    if words[0] in ROLLOUTS or "--strategy" in words:
        return [
            {"prompt": f"Question {number // 4}?", "response": f"answer {number}", "score": score}
            for number, score in ((number, number % 4 / 4) for number in range(count))
        ]
    return [
        {
            "prompt": f"Question {number // 4}?",
            "chosen": f"answer {number}",
            "rejected": "no answer",
            "chosen_score": 1.0,
            "rejected_score": number % 3 / 4,
            "group": str(number // 4),
        }
        for number in range(count)
    ]


def data_for(words: list[str], count: int = 400) -> bytes:
    """The same rows as lines."""
    return "".join(f"{json.dumps(row)}\n" for row in rows_for(words, count)).encode()


every_reader = pytest.mark.parametrize("words", READERS.values(), ids=READERS.keys())


def into(words: list[str], output: object) -> list[str]:
    """A command with its output file replaced by this one."""
    named = words[-2:-1] == ["-o"]
    return [*(words[:-2] if named else words), "-o", str(output)]


every_command = pytest.mark.parametrize(
    "words", [*READERS.values(), *LOOKERS.values()], ids=[*READERS, *LOOKERS]
)


def run_fresh(
    *words: str,
    env: dict[str, str],
    data: bytes = b"",
    stdout: int | IO[bytes] = subprocess.PIPE,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run the program to its end in a fresh Python with these environment variables."""
    return subprocess.run(
        [sys.executable, "-m", "prefpairs", *words],
        input=data,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **env},
        cwd=cwd,
        timeout=60,
        check=False,
    )


@every_reader
def test_empty_input_is_nothing(words: list[str]) -> None:
    """Empty input exits 3 with a hint, or 0 where that is allowed."""
    strict, allowed = run(*words), run(*words, "--allow-empty")
    assert (strict.returncode, strict.stdout) == (3, b"")
    assert b"hint: the input has no rows" in strict.stderr
    assert (allowed.returncode, allowed.stdout) == (0, b"")


@every_command
def test_a_named_pipe_is_the_same(words: list[str], tmp_path: Path) -> None:
    """A named pipe such as `<(zcat rows.jsonl.gz)` can be read only once; no row is lost."""
    named, pipe = tmp_path / "file" / "rows.jsonl", tmp_path / "pipe" / "rows.jsonl"
    data = data_for(words, 2000)
    for path in (named, pipe):
        path.parent.mkdir()
    named.write_bytes(data)
    os.mkfifo(pipe)
    Thread(target=pipe.write_bytes, args=(data,), daemon=True).start()
    aside = tmp_path / "aside"
    aside.mkdir()
    expected = run(*words, str(named))
    found = run(*words, str(pipe), env={"TMPDIR": str(aside)})
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    assert list(aside.iterdir()) == []


@every_command
def test_a_pipe_a_file_and_a_redirection_are_the_same(words: list[str], tmp_path: Path) -> None:
    """A file, a pipe and `<` give the same bytes, except for the input's name."""
    named = tmp_path / "stdin"
    named.write_bytes(data_for(words))
    with named.open("rb") as file:
        redirected = run(*words, stdin=file)
    assert redirected.returncode == 0
    assert (
        run(*words, data=data_for(words)).stdout
        == redirected.stdout
        == run(*words, str(named)).stdout
    )
    assert redirected.stdout


@every_command
@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_compression_is_detected_from_the_content(
    words: list[str], pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """Compression is detected from the content, whatever the file's name, and in a pipe."""
    packed = tmp_path / "stdin"
    packed.write_bytes(pack(data_for(words)))
    plain = run(*words, data=data_for(words)).stdout
    assert run(*words, str(packed)).stdout == plain
    assert run(*words, data=pack(data_for(words))).stdout == plain


@every_command
def test_an_array_is_the_same_as_lines(words: list[str]) -> None:
    """A JSON array of the rows gives the same output as lines."""
    assert (
        run(*words, data=json.dumps(rows_for(words), indent=2).encode()).stdout
        == run(*words, data=data_for(words)).stdout
    )


@every_command
def test_a_bad_line_fails_and_keeps_the_old_file(words: list[str], tmp_path: Path) -> None:
    """A bad line exits 1 and names its number; the old output stays, and no file is left behind."""
    output = tmp_path / "out.jsonl"
    output.write_text("old\n")
    done = run(*into(words, output), data=data_for(words) + b"{oops\n")
    assert done.returncode == 1
    assert b"error: stdin:401: not JSON" in done.stderr
    assert output.read_text() == "old\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


@every_command
def test_a_bad_line_can_be_skipped(words: list[str]) -> None:
    """With --on-error skip, the good rows give as many lines as without the bad one."""
    skipped = run(*words, "--on-error", "skip", data=b"{oops\n" + data_for(words))
    assert skipped.returncode == 0
    assert len(skipped.stdout.splitlines()) == len(
        run(*words, data=data_for(words)).stdout.splitlines()
    )


@every_reader
def test_ledgers_balance_on_success_and_failure(words: list[str], tmp_path: Path) -> None:
    """--summary accounts for all rows, candidates and pairs, even if the run fails."""
    summary = tmp_path / "summary.json"
    unfit = {"prompt": "p", "response": "r", "score": None, "chosen": "r", "rejected": "r"}
    data = data_for(words) + json.dumps(unfit).encode() + b"\n"
    for rows_in, code in ((data, 0), (data + b"{oops\n", 1)):
        assert run(*words, "--summary", str(summary), data=rows_in).returncode == code
        counts = json.loads(summary.read_bytes())
        rows = counts["rows"]
        assert rows["read"] == rows["used"] + sum(rows["dropped"].values()) + rows["bad"]
        assert (rows["read"], sum(rows["dropped"].values())) == (rows_in.count(b"\n"), 1)
        for ledger in (counts.get("candidates"), *counts.get("stages", {}).values()):
            if ledger is not None:
                assert ledger["found"] == ledger["kept"] + sum(ledger["dropped"].values())


@every_reader
def test_stdout_is_data_and_nothing_else(words: list[str]) -> None:
    """Every line of stdout is JSON; --quiet leaves stderr empty."""
    done = run(*words, "--quiet", data=data_for(words))
    assert all(json.loads(line) for line in done.stdout.splitlines())
    assert done.stderr == b""


@every_command
def test_a_closed_pipe_is_success(words: list[str]) -> None:
    """`| head -n 1` closes the pipe early: exit 0 and no message."""
    command = f"prefpairs {' '.join(words)} | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=in_shells(),
        input=data_for(words, 4000),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert b"error" not in done.stderr
    assert b"Broken" not in done.stderr


@every_command
def test_a_full_disk_is_an_error(words: list[str]) -> None:
    """A failed write to stdout or -o exits 5 with one error line."""
    with open("/dev/full", "wb") as full:
        buffered = run(*words, data=data_for(words), stdout=full)
        unbuffered = run_fresh(
            *words, data=data_for(words), stdout=full, env={"PYTHONUNBUFFERED": "1"}
        )
    for done in (buffered, unbuffered):
        assert (done.returncode, b"No space left" in done.stderr) == (5, True)
    to_file = run(*into(words, "/dev/full"), data=data_for(words))
    assert (to_file.returncode, b"No space left" in to_file.stderr) == (5, True)


@every_command
def test_the_output_may_not_be_an_input(words: list[str], tmp_path: Path) -> None:
    """An input is never overwritten, not even through a link."""
    rows, link = tmp_path / "rows.jsonl", tmp_path / "link.jsonl"
    rows.write_bytes(data_for(words))
    link.symlink_to(rows)
    for output in (rows, link):
        done = run(*into(words, output), str(rows))
        assert (done.returncode, rows.read_bytes() == data_for(words)) == (2, True)


@every_reader
def test_standard_output_may_not_be_an_input(words: list[str], tmp_path: Path) -> None:
    """`>>` never appends to an input, whether it is named or redirected."""
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(data_for(words))
    for inputs in ([str(rows)], []):
        with rows.open("rb") as given, rows.open("ab") as taken:
            done = run(*words, *inputs, stdin=given, stdout=taken)
        assert (done.returncode, rows.read_bytes() == data_for(words)) == (2, True)
        assert done.stderr.startswith(b"error: standard output is both input and output\n")


@every_reader
def test_a_closed_standard_output_becomes_no_other_file(words: list[str], tmp_path: Path) -> None:
    """With stdout closed, writing fails, and no other file gets the output."""
    bad = tmp_path / "bad.jsonl"
    rows = b"{oops\n" + data_for(words)
    aside = ["-q", "--on-error", "quarantine", "--quarantine", str(bad)]
    program = [sys.executable, "-m", "prefpairs", *words, *aside]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *program],
        input=rows,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (5, b"error: standard output: Bad file descriptor\n")
    told = bad.read_bytes().splitlines() if bad.exists() else []
    assert [json.loads(line)["line"] for line in told] in ([], [1])


@every_command
def test_same_in_same_out_in_any_surroundings(words: list[str], tmp_path: Path) -> None:
    """Hash seed, locale, time zone, umask and working directory do not change the output."""
    rows = tmp_path / "stdin"
    rows.write_bytes(data_for(words))
    plain = run(*words, data=data_for(words)).stdout
    env = {"PYTHONHASHSEED": "2", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    assert run_fresh(*words, str(rows), env=env, cwd=tmp_path).stdout == plain


def _heed_interrupts() -> None:
    """Undo what a shell does to background processes, which ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@every_reader
def test_interrupts_leave_nothing_behind(words: list[str], tmp_path: Path) -> None:
    """SIGINT exits 130 and SIGTERM 143; no output and no temporary file remains."""
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        output = tmp_path / "out.jsonl"
        process = subprocess.Popen(
            [sys.executable, "-m", "prefpairs", *into(words, output)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            preexec_fn=_heed_interrupts,  # noqa: PLW1509 - no threads here
        )
        assert process.stdin is not None
        process.stdin.write(data_for(words))
        process.stdin.flush()
        deadline = time.monotonic() + 20
        while not any(tmp_path.glob(".out.*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        process.communicate(timeout=20)
        assert process.returncode == code
        assert list(tmp_path.iterdir()) == []


@every_command
def test_options_take_dashes_and_underscores(words: list[str]) -> None:
    """`--on_error` is accepted as `--on-error`."""
    assert run(*words, "--on_error", "skip", data=data_for(words)).returncode == 0


@pytest.mark.parametrize(
    "words", [words for words in READERS.values() if words[0] != "export"], ids=" ".join
)
def test_written_records_fit_their_schema(words: list[str]) -> None:
    """Every line fits the schema of `prefpairs formats --schema`, with its keys in order."""
    from prefpairs.model.schema import MODELS

    model = MODELS["candidate" if words[0] == "extract" else "pair"]
    for line in run(*words, data=data_for(words)).stdout.splitlines():
        record = model.model_validate_json(line)
        assert list(json.loads(line)) == [
            name for name in type(record).model_fields if name in record.model_fields_set
        ]


def test_version_and_help_are_quick_and_loud_enough() -> None:
    """`--version` names the program; --help, and no arguments at all, print help and exit 0."""
    assert run("--version").stdout.startswith(b"prefpairs ")
    assert run().stdout == run("--help").stdout
    for command in COMMANDS:
        done = run(command, "--help")
        assert (done.returncode, b"Usage: prefpairs " + command.encode() in done.stdout) == (
            0,
            True,
        )


@every_reader
def test_a_gate_that_is_not_met_keeps_the_old_file(words: list[str], tmp_path: Path) -> None:
    """If --require fails, exit 4; the old file stays and no other file appears."""
    output = tmp_path / "out.jsonl"
    output.write_text("old\n")
    done = run(*into(words, output), "--require", "rows.read>=401", data=data_for(words))
    assert (done.returncode, output.read_text()) == (4, "old\n")
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    met = run(*into(words, output), "--require", "rows.read==400", data=data_for(words))
    assert (met.returncode, output.read_text() != "old\n") == (0, True)
