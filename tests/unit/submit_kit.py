"""Datasets of both service generations, and runs of `submit` against the double."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from customizer_double import Double
from forked_prefpairs import Done, run

MODEL = "meta/llama-3.1-8b-instruct@v1.0.0+A100"
PATHS = {
    "customizer": ("training/training_file.jsonl", "validation/validation_file.jsonl"),
    "customizer-rl": ("training.jsonl", "validation.jsonl"),
}
COLUMNS = {
    "customizer": ("chosen_response", "rejected_response"),
    "customizer-rl": ("chosen", "rejected"),
}


def write_dataset(folder: Path, to: str = "customizer", count: int = 3) -> Path:
    """A dataset of a few rows."""
    chosen, rejected = COLUMNS[to]
    for path, mark in zip(PATHS[to], "?!", strict=True):
        lines = [
            {
                "prompt": [{"role": "user", "content": f"What is {number}{mark}"}],
                chosen: f"It is {number}.",
                rejected: "No idea.",
            }
            for number in range(count)
        ]
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


def options_for(double: Double, to: str = "customizer") -> list[str]:
    """The options of every submission, with short waits."""
    hosts = ["--entity-host", double.url, "--datastore-host", double.url]
    waits = ["--poll-interval-seconds", "0.01"]
    names = ["--namespace", "games", "--dataset-name", "moves", "--customization-config", MODEL]
    return [*(hosts if to == "customizer" else hosts[:2]), *waits, *names]


def submit(
    double: Double, folder: Path, *words: str, to: str = "customizer", env: Any = None
) -> Done:
    """Submit a dataset."""
    return told("submit", to, str(folder), *options_for(double, to), *words, env=env)


def told(*words: str, env: Any = None) -> Done:
    """A run with its output as text."""
    done = run(*words, env=env)
    return Done(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def events(done: Done) -> list[dict[str, Any]]:
    """The events that a run printed."""
    return [json.loads(line) for line in done.stdout.splitlines()]


def started(
    double: Double, folder: Path, *words: str, to: str = "customizer"
) -> subprocess.Popen[str]:
    """A submission in a process of its own."""
    command = [sys.executable, "-m", "prefpairs", "submit", to, str(folder)]
    return subprocess.Popen(
        [*command, *options_for(double, to), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )


def record_of(folder: Path) -> Any:
    """The content of submission.json."""
    return json.loads((folder / "submission.json").read_text())
