"""What the columns hold of lines after they were indexed."""

from io import BytesIO
from typing import Any

from prefpairs.engine.candidate_columns import Block, CandidateColumns
from prefpairs.engine.candidate_reader import CandidateReader
from prefpairs.engine.index_lines import LineIndexer
from prefpairs.engine.row_reader import Rows
from prefpairs.files.input_file import Input
from prefpairs.ledger import Ledger
from prefpairs.plan import ReadPlan
from prefpairs.sources.base import RecordReader


def indexed(given_lines: list[bytes], how: RecordReader) -> tuple[list[Block], Any, list[str]]:
    """The columns, the counts and the bad rows of the lines of a file."""
    columns, ledger = CandidateColumns(), Ledger()
    plan = ReadPlan(inputs=[])
    reader = CandidateReader(plan, Rows(plan, ledger))
    indexer = LineIndexer(how, Input("r.jsonl", "r.jsonl"), columns, {}, reader)
    indexer.index(BytesIO(b"".join(given_lines)), 0)
    bad = [f"{place} {error.problem}" for place, error in ledger.first_bad]
    return list(columns.blocks()), ledger.row_counts(), bad
