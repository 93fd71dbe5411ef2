"""What the index remembers of lines, by way of a scanner."""

from io import BytesIO
from typing import Any

from prefpairs.engine.candidate_index import Index
from prefpairs.engine.candidate_reader import Reader
from prefpairs.engine.line_scanner import Scanner
from prefpairs.engine.row_reader import Rows
from prefpairs.files.inputs import Input
from prefpairs.ledger import Ledger
from prefpairs.plan import ReadPlan
from prefpairs.sources.base import Opened


def indexed(given_lines: list[bytes], how: Opened) -> tuple[list[bytes], Any, list[str]]:
    """All that is remembered and told of the lines of a file."""
    index, ledger = Index(), Ledger()
    plan = ReadPlan(inputs=[])
    scanner = Scanner(
        how, Input("r.jsonl", "r.jsonl"), 0, index, Reader(plan, Rows(plan, ledger), ledger)
    )
    scanner.scan(BytesIO(b"".join(given_lines)), 0)
    bad = [f"{place} {error.problem}" for place, error in ledger.first_bad]
    return list(map(bytes, index.columns())), ledger.row_counts(), bad
