"""Pairs to lines, and the counts of them."""

from typing import Any

from engine_driver import Lines

from prefpairs.engines.writing import WHOLE, PairLines
from prefpairs.records.pair import pair_line, pair_of
from prefpairs.report import Report


def test_pair_lines() -> None:
    """Each line as it is, the numbers that are known, and the first pair as an example."""
    rows: list[dict[str, Any]] = [
        {"prompt": "Q", "chosen": "A", "rejected": "B"},
        {"prompt": "R", "chosen": "C", "rejected": "D", "chosen_score": 1, "rejected_score": 0.5},
    ]
    output, report = Lines(), Report()
    pairs = [pair_of(row)[0] for row in rows]
    sink = PairLines({WHOLE: output}, report)
    assert all(sink.put(pair, WHOLE) for pair in pairs)
    assert output.lines == [pair_line(pair) for pair in pairs]
    assert (report.pairs, report.example) == (2, ("Q", "A", "B"))
    assert report.gaps.summary() == {"mean": 0.5, "min": 0.5, "max": 0.5}
    assert dict(report.pairs_at_gap) == {0.1: 1, 0.2: 1}
