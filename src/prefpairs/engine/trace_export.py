"""Traces to the rows of one file, for a target that is made from traces."""

from dataclasses import dataclass
from math import isfinite

from prefpairs.engine.plan import InputPlan
from prefpairs.engine.row_reader import reading_rows
from prefpairs.errors import NothingCameOut
from prefpairs.files.open_input import open_input
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.model.json_codec import encode_line
from prefpairs.sources import TRACES, source_named
from prefpairs.targets.base import CannotExport, TraceOptions, TraceTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceExportPlan:
    """Which traces are read, and for which target their rows are written."""

    read: InputPlan
    target: TraceTarget
    options: TraceOptions


def export_traces(
    plan: TraceExportPlan, output: Output, ledger: Ledger, *, allow_empty: bool = False
) -> None:
    """Write a row for each trace in the inputs, up to the first bad row."""
    read_trace = source_named(TRACES).read_trace
    assert read_trace is not None
    hints = StageCounts("hints")
    ledger.stages.append(hints)
    with reading_rows(plan.read, ledger) as rows:
        for source in plan.read.inputs:
            with open_input(source) as opened:
                ledger.sources.append((source.label, TRACES))
                for record, trace in rows.read(opened.records, read_trace, source.label):
                    ledger.noticed.update(["surrogate_replaced"] * trace.replaced)
                    try:
                        row, skipped = plan.target.rows(trace, plan.options)
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
    if not ledger.traces and not allow_empty:
        raise NothingCameOut("trace")
