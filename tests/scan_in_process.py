"""The columns after lines were indexed."""

import tempfile
from io import BytesIO
from os import fstat
from typing import Any
from unittest.mock import patch

from prefpairs.engine.inputs.candidate_reader import CandidateReader
from prefpairs.engine.inputs.row_reader import Rows
from prefpairs.engine.native import Core, core_for
from prefpairs.engine.store import native_index
from prefpairs.engine.store.candidate_columns import Block, CandidateColumns
from prefpairs.engine.store.index_lines import LineIndexer
from prefpairs.engine.store.native_index import NativeIndexer
from prefpairs.files.input_file import Input
from prefpairs.files.open_input import OpenInput
from prefpairs.ledger import Ledger
from prefpairs.plan import ReadPlan
from prefpairs.sources.base import RecordReader

Indexed = tuple[list[Block], Any, list[str]]
"""Columns, counts and bad rows."""


def indexed(given_lines: list[bytes], how: RecordReader) -> Indexed:
    """The columns, counts and bad rows that Python finds in the lines of a file."""
    columns, ledger = CandidateColumns(), Ledger()
    indexer = LineIndexer(how, INPUT, columns, {}, _reader(ledger))
    indexer.index(BytesIO(b"".join(given_lines)), 0)
    return _found(columns, ledger)


def indexed_by_core(
    given_lines: list[bytes],
    how: RecordReader,
    at_once: int,
    threads: int,
    core: Core | None = None,
) -> Indexed:
    """The same by the native core; each thread reads this many bytes at a time."""
    columns, ledger, passed = CandidateColumns(), Ledger(), [0]
    data, core = b"".join(given_lines), core or core_for(how, {})
    assert core
    indexer = NativeIndexer(how, INPUT, columns, {}, _reader(ledger))
    with tempfile.TemporaryFile() as file, patch.object(native_index, "_AT_ONCE", at_once):
        file.write(data)
        file.flush()
        opened = OpenInput(iter(()), file.fileno(), fstat(file.fileno()), True, lines_from=0)
        indexer.index_file(core, core.open_file(opened), opened, threads, passed.append)
    assert sum(passed) == len(data)
    return _found(columns, ledger)


INPUT = Input("r.jsonl", "r.jsonl")


def _reader(ledger: Ledger) -> CandidateReader:
    plan = ReadPlan(inputs=[])
    return CandidateReader(plan, Rows(plan, ledger))


def _found(columns: CandidateColumns, ledger: Ledger) -> Indexed:
    columns.begin_file(0)
    bad = [f"{place} {error.problem}" for place, error in ledger.first_bad]
    return list(columns.blocks()), ledger.row_counts(), bad
