"""Runs commands on pairs in process: from the bytes of files to the pairs of each split."""

import gzip
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from unittest.mock import patch

from run_in_process import Asked, Collected, Outcome, Row, named_files

from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.files.input_file import Input
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.ledger.summaries import pair_input_summary
from prefpairs.plan import InputPlan, Plan
from prefpairs.stages.base import Stage
from prefpairs.stages.split import Split
from run_plans import run_plan


class Staged(Outcome):
    """The pairs of each split after the stages, and the counts."""

    def __init__(self, sides: Mapping[str, Sequence[bytes]], ledger: Ledger) -> None:
        super().__init__([line for lines in sides.values() for line in lines], ledger)
        self.sides = {name: Outcome(lines, ledger) for name, lines in sides.items()}

    @property
    def stage(self) -> StageCounts:
        """The ledger of the last command."""
        return self.ledger.stages[-1]

    def counts(self) -> Row:
        """The summary without file names."""
        named = ("inputs", "passed_over", "notes")
        summary = pair_input_summary(self.ledger)
        return {key: summary[key] for key in summary if key not in named}


def staged_files(files: Mapping[str, bytes], *stages: Stage, split: Split | None = None) -> Staged:
    """Pass the pairs of these files through the stages, and split them if asked."""
    with named_files(files) as inputs:
        return _staged(inputs, stages, split)


def staged_lines(lines: Sequence[bytes], *stages: Stage, split: Split | None = None) -> Staged:
    """The same, with the lines of one file."""
    return staged_files({"pairs.jsonl": b"".join(lines)}, *stages, split=split)


def staged_large(lines: Sequence[bytes], *stages: Stage, split: Split | None = None) -> Staged:
    """The same, read as large files are: by the block, and never held in memory."""
    with patch("prefpairs.files.open_input._SMALL", 0):
        return staged_lines(lines, *stages, split=split)


def staged_shards(
    shards: Sequence[Sequence[bytes]], *stages: Stage, split: Split | None = None
) -> Staged:
    """The same with lines in several files."""
    named = {f"part-{place}.jsonl": b"".join(lines) for place, lines in enumerate(shards)}
    return staged_files(named, *stages, split=split)


def staged_packed(lines: Sequence[bytes], *stages: Stage, split: Split | None = None) -> Staged:
    """The same with a compressed file."""
    packed = gzip.compress(b"".join(lines))
    return staged_files({"pairs.jsonl.gz": packed}, *stages, split=split)


def staged_array(lines: Sequence[bytes], *stages: Stage, split: Split | None = None) -> Staged:
    """The same with lines in an indented JSON array."""
    rows = [json.loads(line) for line in lines]
    array = json.dumps(rows, indent=2).encode()
    return staged_files({"pairs.json": array}, *stages, split=split)


def staged_piped(lines: Sequence[bytes], *stages: Stage, split: Split | None = None) -> Staged:
    """The same with lines from a pipe."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder, "pipe")
        os.mkfifo(pipe)
        feeder = Thread(target=pipe.write_bytes, args=(b"".join(lines),))
        feeder.start()
        try:
            return _staged(find_inputs([str(pipe)]), stages, split)
        finally:
            feeder.join()


def staged_rollouts(
    lines: Sequence[bytes], asked: Asked, *stages: Stage, split: Split | None = None
) -> Staged:
    """Pair the rollouts of one file and pass the pairs through stages, all in one run."""
    with named_files({"rows.jsonl": b"".join(lines)}) as inputs:
        making = asked.plan(inputs)
        return _run(Plan(read=making.read, pair=making, stages=stages, split=split))


def _staged(inputs: Sequence[Input], stages: Sequence[Stage], split: Split | None) -> Staged:
    read = InputPlan(inputs=inputs, on_error="skip")
    return _run(Plan(read=read, stages=stages, split=split))


def _run(plan: Plan) -> Staged:
    ledger = Ledger()
    sides = [WHOLE] if plan.split is None else plan.split.sides
    outputs = {side: Collected() for side in sides}
    run_plan(plan, outputs, ledger, allow_empty=True)
    return Staged({side: output.lines for side, output in outputs.items()}, ledger)
