"""Runs the engines in process: from the bytes of files to pairs and the ledger."""

import gzip
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any, Literal

from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.input_file import STDIN, Input
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.ledger.summaries import pair_summary
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.strategies.options import PairOptions
from run_plans import extract, pair

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of a run, without its inputs."""

    strategy: str = "best-vs-worst"
    options: PairOptions = field(default_factory=PairOptions)
    across_prompts: bool = False
    order: Literal["input", "key"] = "input"
    assume_grouped: bool = False
    read: ReadOptions = field(default_factory=ReadOptions)
    source: str = "auto"
    limit: int | None = None
    workers: int | None = None

    def plan(self, inputs: Sequence[Input]) -> PairPlan:
        """The plan that pairs these inputs and skips bad rows."""
        read = ReadPlan(
            inputs=inputs,
            source=self.source,
            options=self.read,
            on_error="skip",
            limit=self.limit,
        )
        options = replace(
            self.options,
            strategy=self.strategy,
            across_prompts=self.across_prompts,
            order=self.order,
            assume_grouped=self.assume_grouped,
            workers=self.workers,
        )
        return PairPlan(read=read, options=options)


class Outcome:
    """The output and counts of a run."""

    def __init__(self, lines: Sequence[bytes], ledger: Ledger) -> None:
        self.lines = lines
        self.ledger = ledger
        self.rows: list[Row] = [json.loads(line) for line in lines]

    def without_origins(self) -> list[str]:
        """The rows in output order, without origins."""
        origins = ("origin", "chosen_origin", "rejected_origin")
        return [
            json.dumps({key: row[key] for key in row if key not in origins}) for row in self.rows
        ]

    def contents(self) -> list[str]:
        """The same, sorted."""
        return sorted(self.without_origins())

    def counts(self) -> Row:
        """The summary without file names."""
        named = ("inputs", "passed_over", "notes")
        summary = pair_summary(self.ledger)
        return {key: summary[key] for key in summary if key not in named}


class Collected:
    """An output that collects its lines."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, lines: bytes, /) -> object:
        """Take one line or several."""
        self.lines += lines.splitlines(keepends=True)
        return None


def line_of(row: Any) -> bytes:
    """A row as a line of JSON; NaN and the infinities as Python writes them."""
    return json.dumps(row).encode() + b"\n"


def lines_of(*rows: Any) -> list[bytes]:
    """Rows as lines of JSON."""
    return [line_of(row) for row in rows]


def pair_files(files: Mapping[str, bytes], asked: Asked) -> Outcome:
    """Pair the contents of files with these names."""
    with named_files(files) as inputs:
        return _pair(inputs, asked)


def pair_lines(lines: Sequence[bytes], asked: Asked) -> Outcome:
    """Pair the lines of one file."""
    return pair_files({"rows.jsonl": b"".join(lines)}, asked)


def pair_shards(shards: Sequence[Sequence[bytes]], asked: Asked) -> Outcome:
    """Pair lines in several files."""
    named = {f"part-{place}.jsonl": b"".join(lines) for place, lines in enumerate(shards)}
    return pair_files(named, asked)


def pair_packed(lines: Sequence[bytes], asked: Asked) -> Outcome:
    """Pair the lines of a compressed file."""
    return pair_files({"rows.jsonl.gz": gzip.compress(b"".join(lines))}, asked)


def pair_array(lines: Sequence[bytes], asked: Asked) -> Outcome:
    """Pair lines in an indented JSON array."""
    rows = [json.loads(line) for line in lines]
    return pair_files({"rows.json": json.dumps(rows, indent=2).encode()}, asked)


def pair_piped(data: bytes, asked: Asked) -> Outcome:
    """Pair standard input from a pipe."""
    with _pipe_of(data) as descriptor, _as_stdin(descriptor):
        return _pair([Input(STDIN, "stdin")], asked)


def pair_redirected(data: bytes, asked: Asked) -> Outcome:
    """Pair standard input redirected from a regular file."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        with _as_stdin(file.fileno()):
            return _pair([Input(STDIN, "stdin")], asked)


def extract_lines(lines: Sequence[bytes], read: ReadOptions) -> Outcome:
    """Extract the candidates of one file's lines."""
    ledger, output = Ledger(), Collected()
    with named_files({"rows.jsonl": b"".join(lines)}) as inputs:
        plan = ReadPlan(inputs=inputs, options=read, on_error="skip")
        extract(plan, output, ledger, allow_empty=True)
    return Outcome(output.lines, ledger)


@contextmanager
def input_of(lines: Sequence[bytes]) -> Iterator[Input]:
    """An input with these lines."""
    with named_files({"rows.jsonl": b"".join(lines)}) as inputs:
        yield inputs[0]


def _pair(inputs: Sequence[Input], asked: Asked) -> Outcome:
    ledger, output = Ledger(), Collected()
    pair(asked.plan(inputs), {WHOLE: output}, ledger, allow_empty=True)
    return Outcome(output.lines, ledger)


@contextmanager
def named_files(files: Mapping[str, bytes]) -> Iterator[list[Input]]:
    """Inputs with these names and contents."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in files]
        for path, data in zip(paths, files.values(), strict=True):
            path.write_bytes(data)
        yield find_inputs([str(path) for path in paths])


@contextmanager
def _pipe_of(data: bytes) -> Iterator[int]:
    reading, writing = os.pipe()

    def feed() -> None:
        with open(writing, "wb") as pipe:
            pipe.write(data)

    feeder = Thread(target=feed)
    feeder.start()
    try:
        yield reading
    finally:
        feeder.join()
        os.close(reading)


@contextmanager
def _as_stdin(descriptor: int) -> Iterator[None]:
    before = os.dup(0)
    os.dup2(descriptor, 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)
