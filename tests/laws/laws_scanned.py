"""What the index remembers of lines, by way of a scanner."""

from io import BytesIO
from typing import Any

from prefpairs.engines.index import Index
from prefpairs.engines.plan import ReadPlan
from prefpairs.engines.reading import Reader
from prefpairs.engines.rows import Rows
from prefpairs.engines.scanning import Scanner
from prefpairs.files.inputs import Input
from prefpairs.report import Report
from prefpairs.sources.protocol import Opened


def indexed(given_lines: list[bytes], how: Opened) -> tuple[list[bytes], Any, list[str]]:
    """All that is remembered and told of the lines of a file."""
    index, report = Index(), Report()
    plan = ReadPlan(inputs=[])
    scanner = Scanner(
        how, Input("r.jsonl", "r.jsonl"), 0, index, Reader(plan, Rows(plan, report), report)
    )
    scanner.scan(BytesIO(b"".join(given_lines)), 0)
    bad = [f"{place} {error.problem}" for place, error in report.first_bad]
    return list(map(bytes, index.columns())), report.row_counts(), bad
