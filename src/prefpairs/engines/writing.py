"""Pairs to lines, and what the report knows of each."""

from prefpairs.files.output import Output
from prefpairs.records.pair import Pair, pair_line
from prefpairs.report import Report


def write_pair(pair: Pair, output: Output, report: Report) -> None:
    """Write one pair, and count it."""
    output.write(pair_line(pair))
    report.add_pair(pair.gap, pair.chosen_score, pair.rejected_score)
    if report.example is None:
        report.example = pair.prompt, pair.chosen, pair.rejected
