"""export --to sdpo: traces to the rows of one file."""

from math import isfinite
from typing import Any, NamedTuple

from prefpairs.engine.plan import InputPlan
from prefpairs.engine.row_reader import reading_rows
from prefpairs.errors import NothingCameOut
from prefpairs.fields.answer import expect_object
from prefpairs.files.open_input import open_input
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.model.candidate import read_tools
from prefpairs.model.json_codec import decode_counting, encode_line
from prefpairs.model.message import Message, as_chat
from prefpairs.model.number import read_score, round_score
from prefpairs.sources.traces import recoveries, turns_of, whole
from prefpairs.targets.base import Unfit
from prefpairs.targets.sdpo import DistilOptions, Site, row_of


class Trace(NamedTuple):
    """A trace as it was read."""

    turns: list[Message]
    tools: list[Any] | None
    sites: list[Site]
    reward: float | None
    trace_id: Any
    replaced: int


def distil(
    plan: InputPlan,
    options: DistilOptions,
    output: Output,
    ledger: Ledger,
    *,
    allow_empty: bool = False,
) -> None:
    """Write a row for each trace of the inputs; nothing more once a bad row was met."""
    hints = StageCounts("hints")
    ledger.stages.append(hints)
    with reading_rows(plan, ledger) as rows:
        for source in plan.inputs:
            with open_input(source) as opened:
                ledger.sources.append((source.label, "traces"))
                for record, trace in rows.read(opened.records, read_trace, source.label):
                    ledger.noticed.update(["surrogate_replaced"] * trace.replaced)
                    try:
                        row, skipped = row_of(trace.turns, trace.tools, trace.sites, options)
                    except Unfit as unfit:
                        ledger.rows_dropped[unfit.reason] += 1
                        continue
                    ledger.rows_used += 1
                    hints.found += len(trace.sites)
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


def read_trace(record: bytes) -> Trace:
    """The trace of a row."""
    value, replaced = decode_counting(record)
    row = expect_object(value)
    turns = turns_of(row)
    given = row["turns"]
    told = as_chat(whole(row, turns), "user")
    before = len(told) - len(turns)
    sites = [
        Site(
            given[place]["tool_error"],
            given[place].get("error_meta"),
            None if mending is None else before + mending,
        )
        for place, mending in recoveries(row, turns)
    ]
    reward = row.get("final_reward")
    return Trace(
        told,
        read_tools(row.get("tools"), "tools"),
        sites,
        None if reward is None else round_score(read_score(reward, "final_reward")),
        row.get("trace_id"),
        replaced,
    )
