"""Many small files take hardly more work than a large one, with few open at a time."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prefpairs.cli.main import main
from prefpairs.engine.native import VARIABLE

PER_FILE = 32
COMMANDS = [
    "pair",
    "extract",
    "stats",
    "dedupe",
    "filter --min-gap 0.1",
    "split --val-fraction 0.2 --out-dir sides",
    "validate --to trl",
    "export --to trl",
]


def _row(number: int, *, pairs: bool) -> dict[str, Any]:
    prompt = f"Question {number // 2}"
    if pairs:
        scores = {"chosen_score": 1.0, "rejected_score": 0.5}
        return {"prompt": prompt, "chosen": f"{number}", "rejected": "no", **scores}
    return {"prompt": prompt, "response": f"{number}", "score": number % 2}


def _write(folder: Path, files: int, per_file: int, *, pairs: bool) -> str:
    """Write rows to this many files."""
    folder.mkdir()
    for place in range(files):
        numbers = range(place * per_file, (place + 1) * per_file)
        rows = [json.dumps(_row(number, pairs=pairs)) + "\n" for number in numbers]
        (folder / f"{place:05}.jsonl").write_text("".join(rows))
    return str(folder)


def _calls(work: Callable[[], object]) -> int:
    """The number of function calls: a measure that no other process affects."""
    count = 0

    def counted(_: Any, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def _work_of(command: str, folder: str) -> int:
    words = [*command.split(), "-q", folder]
    codes: list[int] = []
    calls = _calls(lambda: codes.append(main(words)))
    assert codes == [0]
    return calls


@pytest.mark.parametrize("command", COMMANDS)
def test_shards_cost_what_one_file_costs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Shards take at most 1.5 times the calls of one file, and no more per shard if there are many.

    Work is counted in Python calls, so all of it is done in Python.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "0")
    pairs = command.split(maxsplit=1)[0] not in ("pair", "extract", "stats")
    few, many = 20, 80
    whole = _write(tmp_path / "whole", 1, many * PER_FILE, pairs=pairs)
    a_few = _write(tmp_path / "few", few, PER_FILE, pairs=pairs)
    shards = _write(tmp_path / "shards", many, PER_FILE, pairs=pairs)
    nothing = _write(tmp_path / "nothing", 1, 2, pairs=pairs)
    _work_of(command, nothing)  # so that imports and caches of the first time do not count
    start = _work_of(command, nothing)
    of_few, of_many = (_work_of(command, folder) - start for folder in (a_few, shards))
    assert of_many < 1.05 * of_few * many / few
    assert of_many < 1.5 * (_work_of(command, whole) - start)
    capfd.readouterr()


OPENS = """
import os, sys
from prefpairs.cli.main import main
opened = 0
def count(event, arguments):
    global opened
    opened += event == "open" and str(arguments[0]).startswith("shards")
sys.addaudithook(count)
code = main(sys.argv[1:])
os.write(2, b"%d" % opened)
sys.exit(code)
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_small_files_are_opened_once(command: str, tmp_path: Path) -> None:
    """Each small file is opened once, whatever is read later; `stats` opens the first one again.

    Files of one size are opened once more, to see whether one is a copy of the other.
    """
    pairs = command.split(maxsplit=1)[0] not in ("pair", "extract", "stats")
    folder = Path(_write(tmp_path / "shards", 30, 4, pairs=pairs))
    for number, path in enumerate(sorted(folder.iterdir())):
        path.write_bytes(path.read_bytes() + b"\n" * number * 100)
    words = [sys.executable, "-c", OPENS, *command.split(), "-q", "shards"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"31" if command == "stats" else b"30")


def _with_few_files_open() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))


@pytest.mark.parametrize("command", COMMANDS)
def test_more_shards_than_files_may_be_open(command: str, tmp_path: Path) -> None:
    """With `ulimit -n 16` the output is the same."""
    pairs = command.split(maxsplit=1)[0] not in ("pair", "extract", "stats")
    _write(tmp_path / "shards", 60, 2, pairs=pairs)
    words = [sys.executable, "-m", "prefpairs", *command.split(), "-q", "shards"]
    told = []
    for limit in (None, _with_few_files_open):
        done = subprocess.run(
            words, cwd=tmp_path, capture_output=True, preexec_fn=limit, check=False
        )
        sides = {path.name: path.read_bytes() for path in sorted(tmp_path.glob("sides/*"))}
        told.append((done.returncode, done.stdout, done.stderr, sides))
    assert told[0] == told[1]
    assert told[0][0] == 0
