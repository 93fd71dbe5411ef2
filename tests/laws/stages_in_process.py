"""Runs the commands on pairs in process: bytes of files in, pairs of each side and the report."""

import gzip
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread

from run_in_process import Asked, Collected, Outcome, Row, named_files

from prefpairs.engine.pair_io import WHOLE
from prefpairs.files.input_file import Input
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.ledger.summaries import pair_input_summary
from prefpairs.plan import InputPlan, Plan
from prefpairs.stages.base import Stage
from prefpairs.stages.split import Split
from run_plans import run_with_summary


class Sieved(Outcome):
    """What came through the sieves, side by side, and what was counted."""

    def __init__(self, sides: Mapping[str, Sequence[bytes]], ledger: Ledger) -> None:
        super().__init__([line for lines in sides.values() for line in lines], ledger)
        self.sides = {name: Outcome(lines, ledger) for name, lines in sides.items()}

    @property
    def stage(self) -> StageCounts:
        """The ledger of the last command."""
        return self.ledger.stages[-1]

    def counts(self) -> Row:
        """The summary, less what names files."""
        named = ("inputs", "passed_over", "notes")
        summary = pair_input_summary(self.ledger)
        return {key: summary[key] for key in summary if key not in named}


def sieve_files(files: Mapping[str, bytes], *sieves: Stage, parting: Split | None = None) -> Sieved:
    """Pass the pairs of these files through the sieves, and part them if that is asked."""
    with named_files(files) as inputs:
        return _sieve(inputs, sieves, parting)


def sieve_lines(lines: Sequence[bytes], *sieves: Stage, parting: Split | None = None) -> Sieved:
    """The same, with the lines of one file."""
    return sieve_files({"pairs.jsonl": b"".join(lines)}, *sieves, parting=parting)


def sieve_shards(
    shards: Sequence[Sequence[bytes]], *sieves: Stage, parting: Split | None = None
) -> Sieved:
    """The same, with lines that are spread over files."""
    named = {f"part-{place}.jsonl": b"".join(lines) for place, lines in enumerate(shards)}
    return sieve_files(named, *sieves, parting=parting)


def sieve_packed(lines: Sequence[bytes], *sieves: Stage, parting: Split | None = None) -> Sieved:
    """The same, with a file that is compressed."""
    packed = gzip.compress(b"".join(lines))
    return sieve_files({"pairs.jsonl.gz": packed}, *sieves, parting=parting)


def sieve_array(lines: Sequence[bytes], *sieves: Stage, parting: Split | None = None) -> Sieved:
    """The same, with lines that stand in one JSON array, indented as people do."""
    rows = [json.loads(line) for line in lines]
    array = json.dumps(rows, indent=2).encode()
    return sieve_files({"pairs.json": array}, *sieves, parting=parting)


def sieve_piped(lines: Sequence[bytes], *sieves: Stage, parting: Split | None = None) -> Sieved:
    """The same, with lines that come through a pipe."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder, "pipe")
        os.mkfifo(pipe)
        feeder = Thread(target=pipe.write_bytes, args=(b"".join(lines),))
        feeder.start()
        try:
            return _sieve(find_inputs([str(pipe)]), sieves, parting)
        finally:
            feeder.join()


def sieve_rollouts(
    lines: Sequence[bytes], asked: Asked, *sieves: Stage, parting: Split | None = None
) -> Sieved:
    """Make pairs of the rollouts of one file and pass them on, all in one run."""
    with named_files({"rows.jsonl": b"".join(lines)}) as inputs:
        making = asked.plan(inputs)
        return _run(Plan(read=making.read, pair=making, stages=sieves, split=parting))


def _sieve(inputs: Sequence[Input], sieves: Sequence[Stage], parting: Split | None) -> Sieved:
    read = InputPlan(inputs=inputs, on_error="skip")
    return _run(Plan(read=read, stages=sieves, split=parting))


def _run(plan: Plan) -> Sieved:
    ledger = Ledger()
    sides = [WHOLE] if plan.split is None else plan.split.sides
    outputs = {side: Collected() for side in sides}
    run_with_summary(plan, outputs, ledger, allow_empty=True)
    return Sieved({side: output.lines for side, output in outputs.items()}, ledger)
