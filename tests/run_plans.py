"""Runs plans in this process, with outputs in memory."""

from collections.abc import Mapping
from dataclasses import replace

from prefpairs.driver import write
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger
from prefpairs.plan import ExportPlan, PairPlan, Plan, ReadPlan, WritePlan


def run_plan(
    plan: Plan, outputs: Mapping[str, Output], ledger: Ledger, *, allow_empty: bool = False
) -> None:
    """The output of a plan."""
    write(replace(plan, write=WritePlan(allow_empty=allow_empty)), outputs, ledger)


def pair(
    plan: PairPlan,
    outputs: Mapping[str, Output],
    ledger: Ledger,
    *,
    export: ExportPlan | None = None,
    allow_empty: bool = False,
) -> None:
    """The pairs of rollouts."""
    whole = Plan(read=plan.read, pair=plan, export=export, temp_dir=plan.temp_dir)
    run_plan(whole, outputs, ledger, allow_empty=allow_empty)


def extract(plan: ReadPlan, output: Output, ledger: Ledger, *, allow_empty: bool = False) -> None:
    """The candidates of rollouts."""
    run_plan(Plan(read=plan), {WHOLE: output}, ledger, allow_empty=allow_empty)
