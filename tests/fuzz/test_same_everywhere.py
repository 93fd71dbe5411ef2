"""The same bytes in all surroundings, for hostile files.

Law 6 and the battery show this for valid rows; here many of the rows are hostile.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from unittest import mock

import pytest
from fuzz_driver import counts_of, inside, run
from fuzz_mutants import mutant, mutant_row
from fuzz_seeds import rows

from prefpairs.engine.native import VARIABLE
from prefpairs.sources import SOURCES
from prefpairs.sources.detect import source_of

MACHINES: dict[str, dict[str, str]] = {
    "plain": {},
    "ascii": {
        "PYTHONHASHSEED": "1",
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "TZ": "Asia/Tokyo",
        "UMASK": "077",
        "COLUMNS": "20",
    },
    "optimised": {"PYTHONHASHSEED": "2", "PYTHONOPTIMIZE": "1", "LC_ALL": "POSIX", "UMASK": "0"},
}

PROGRAM = """
import io, json, os, sys
from contextlib import redirect_stderr
from prefpairs.cli.main import main
os.umask(int(os.environ.get("UMASK", "022"), 8))
told = []
for number, words in enumerate(json.load(open("commands.json", "rb"))):
    said = io.StringIO()
    with redirect_stderr(said):
        code = main([os.fsdecode(word.encode()) for word in words])
    told.append([code, said.getvalue()])
with open("told.json", "w", encoding="ascii") as file:
    json.dump(told, file)
"""

FILES = 10
KINDS = ("nemo-gym", "nat", "traces", "candidates", "rollouts", "ready-pairs")


def hostile(kind: str, seed: int) -> bytes:
    """A file of a source with about every fourth row changed, or a mutant of another kind."""
    chance = Random(seed)  # noqa: S311 - no secret
    if kind not in SOURCES:
        return mutant(kind, chance)
    given = rows(kind)
    lines = [
        mutant_row(given, chance) if chance.randrange(4) == 0 else chance.choice(given)
        for _ in range(60)
    ]
    return b"\n".join(lines)


def commands(name: str, number: int) -> list[list[str]]:
    """The commands run on a file; their results are named after its number."""
    out, skip = ["-o", f"{number}-{{}}.jsonl"], ["--on-error", "skip", "--allow-empty"]
    aside = ["--summary", f"{number}-{{}}.json"]
    asked = {
        "extract": ["extract", name, *skip],
        "pair": ["pair", name, "--strategy", "exhaustive", *skip],
        "random": ["pair", name, "--strategy", "random", "--max-pairs-per-group", "2", *skip],
        "fail": ["pair", name],
        "dedupe": ["dedupe", name, *skip],
        "sample": ["sample", name, "--fraction", "0.5", "--order", "shuffle", *skip],
        "export": ["export", "--to", "trl", name, *skip],
        "quarantine": [
            "filter",
            name,
            "--drop-truncated",
            "--on-error",
            "quarantine",
            "--quarantine",
            f"{number}-bad",
        ],
    }
    return [
        [word.format(key) if "{}" in word else word for word in (*words, *out, *aside)]
        for key, words in asked.items()
    ]


def left_behind(place: Path, machine: dict[str, str]) -> dict[str, bytes]:
    """All files that the commands leave in a folder, with this machine's settings."""
    place.mkdir()
    asked = []
    for number in range(FILES):
        name = f"rows-é-{number}.jsonl"
        (place / name).write_bytes(hostile(KINDS[number % len(KINDS)], number))
        asked += commands(name, number)
    (place / "commands.json").write_text(json.dumps(asked))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=place,
        env={**os.environ, **machine},
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


def test_machines(tmp_path: Path) -> None:
    """Hash seed, locale, encoding, time zone, umask, width and folder change no result."""
    here, *others = (left_behind(tmp_path / name, MACHINES[name]) for name in MACHINES)
    told = json.loads(here["told.json"])
    assert {code for code, _ in told} <= {0, 1, 2, 3}
    assert sum(bool(data) for name, data in here.items() if name.endswith("pair.jsonl")) > FILES / 3
    for other in others:
        assert other == here


OWN = [
    b'{"prompt": "Q%d", "response": "A%d", "score": %d}' % (number // 2, number, number % 2)
    for number in range(8)
]


@pytest.mark.parametrize("source", SOURCES)
def test_rows_of_every_format_among_rows_of_your_own(source: str) -> None:
    """Both engines leave a row to the reader of its format, though it has fields of both."""
    given = rows(source)[:6]
    assert given
    both = [json.dumps({**json.loads(row), **json.loads(OWN[0])}).encode() for row in given]
    lines = [*OWN[:4], *both, *OWN[4:]]
    known = {source_of(line) for line in lines}
    results = []
    for word in ("0", "1"):
        with mock.patch.dict(os.environ, {VARIABLE: word}), inside(rows=b"\n".join(lines)):
            words = ("--strategy", "exhaustive", "--on-error", "skip", "--summary", "counts.json")
            ran = run("pair", "rows", *words, output="pairs.jsonl")
            counts = counts_of("counts.json") if "hint: prefpairs " not in ran.said else {}
            results.append((ran, {key: counts[key] for key in counts if key != "seconds"}))
        assert not counts or {given["source"] for given in counts["inputs"]} == known
    assert results[0] == results[1]


SOUND = {
    "nemo-gym": b'{"responses_create_params": {"input": [{"role": "user", "content": "Q?"}]},'
    b' "response": {"output": [{"type": "message", "role": "assistant", "content":'
    b' [{"type": "output_text", "text": "A"}]}]}, "reward": 0.5}',
    "candidates": b'{"group": "g", "prompt": "Q?", "response": "A", "score": 1, "origin": ""}',
}
"""Rows that workers keep: where one is bad, its stretch is read once more."""


@pytest.mark.parametrize("kind", SOUND)
def test_workers(kind: str) -> None:
    """One process, two or five give the same pairs, counts and messages."""
    row = SOUND[kind]
    sound = [row.replace(b"Q?", b"Q%d?" % (number // 3)) for number in range(300)]
    with inside(**{"rows.jsonl": b"\n".join([*sound, hostile(kind, 1)])}):
        words = ["rows.jsonl", "--summary", "counts.json", "--on-error", "skip"]
        if kind == "candidates":  # some of the others have different references
            words += ["--group-by", "group"]
        results = []
        for number in ("1", "2", "5"):
            ran = run("pair", *words, "--workers", number, output="pairs.jsonl")
            results.append((ran, Path("counts.json").read_bytes()))
    assert results[0] == results[1] == results[2]
    assert results[0][0].code == 0
