"""Traces to the rows of one file, for a target that is made from traces."""

from math import isfinite

from prefpairs.engine.row_reader import reading_rows
from prefpairs.files.open_input import open_input
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.model.json_codec import encode_line
from prefpairs.plan import InputPlan, TracePlan
from prefpairs.sources import TRACES, source_named
from prefpairs.targets.base import CannotExport


def export_traces(plan: InputPlan, traces: TracePlan, output: Output, ledger: Ledger) -> None:
    """Write a row for each trace in the inputs, up to the first bad row."""
    read_trace = source_named(TRACES).read_trace
    assert read_trace is not None
    hints = StageCounts("hints")
    ledger.stages.append(hints)
    with reading_rows(plan, ledger) as rows:
        for source in plan.inputs:
            with open_input(source) as opened:
                ledger.sources.append((source.label, TRACES))
                for record, trace in rows.read(opened.records, read_trace, source.label):
                    ledger.noticed.update(["surrogate_replaced"] * trace.replaced)
                    try:
                        row, skipped = traces.target.rows(trace, traces.options)
                    except CannotExport as unfit:
                        ledger.rows_dropped[unfit.reason] += 1
                        continue
                    ledger.rows_used += 1
                    hints.found += len(trace.errors)
                    hints.dropped.update(skipped)
                    if trace.reward is not None and not isfinite(trace.reward):
                        ledger.noticed["reward_not_finite"] += 1
                    if not rows.failed:
                        own = {"reward": trace.reward, "trace_id": trace.trace_id}
                        place = f"{source.label}:{record.number}"
                        output.write(encode_line({**row, **own, "origin": place}))
                        ledger.traces += 1
        rows.settle()
