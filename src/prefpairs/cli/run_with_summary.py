"""Runs a plan with a progress bar if it takes long, and prints the summary at the end."""

import os
import sys
from collections.abc import Callable
from contextvars import ContextVar

from prefpairs.cli.command_as_typed import remember_command
from prefpairs.cli.terminal.safe_text import write_stderr
from prefpairs.driver import run
from prefpairs.engine.native import core_would_help
from prefpairs.errors import GateNotMet, NothingCameOut
from prefpairs.files.standard_output import STDOUT
from prefpairs.ledger import Ledger
from prefpairs.plan import Plan
from prefpairs.plan.runner_plan import LOCAL

LONG = 10.0
"""Seconds of CPU time after which a run on Python alone hints at the native core."""

_HINT = (
    "hint: the native core reads rollouts several times faster; "
    "in a checkout: pip install ./native/python\n"
)

_plans: ContextVar[list[Plan] | None] = ContextVar("plans", default=None)
"""Takes the plan of a command whose plan alone is wanted."""


def run_with_summary(plan: Plan) -> None:
    """Run a plan, and print a summary that accounts for everything read."""
    plans = _plans.get()
    if plans is not None:
        plans.append(plan)
        return
    if plan.runner.kind != LOCAL:
        from prefpairs.cli.run_in_steps import run_in_steps

        run_in_steps(plan)
        return
    ledger, quiet = Ledger(), plan.write.quiet

    def run_here() -> str:
        if quiet:
            return run(plan, ledger).label
        from prefpairs.cli.terminal.progress_bar import inputs_to_measure, show_progress

        with show_progress(ledger.progress, inputs_to_measure(plan.read)):
            return run(plan, ledger).label

    tell_outcome(plan, ledger, run_here, quiet=quiet)


def plan_of_command(words: list[str]) -> Plan:
    """The plan that a command line makes; hints repeat it from now on."""
    from prefpairs.cli.main import call

    plans: list[Plan] = []
    remember_command(words)
    token = _plans.set(plans)
    try:
        call(words, ours=False)
    finally:
        _plans.reset(token)
    return plans[0]


def tell_outcome(plan: Plan, ledger: Ledger, run: Callable[[], str], *, quiet: bool) -> None:
    """Do a run, which returns where the results are, and print its summary."""
    shown = "extract" if plan.makes == "candidates" else "pair" if plan.pair else "pairs"
    begin = _cpu_seconds()
    try:
        written = run()
    except (NothingCameOut, GateNotMet) as error:
        if not quiet:
            _write_summary(shown, ledger, STDOUT)
        if isinstance(error, NothingCameOut):
            from prefpairs.cli.terminal.next_steps import retry_options, why_no_output

            error.hint = error.hint or why_no_output(shown, ledger)
            error.choices = retry_options(ledger, plan.read)
        raise
    if not quiet:
        _write_summary(shown, ledger, written)
    if plan.write.example and ledger.example is not None:
        from prefpairs.cli.terminal.next_steps import example_pair

        write_stderr(example_pair(*ledger.example))
    if not quiet:
        if shown != "pairs" and _cpu_seconds() - begin > LONG and core_would_help():
            write_stderr(_HINT)
        whole = plan.split is None and plan.export is None and plan.runner.kind == LOCAL
        if whole and sys.stderr is not None and sys.stderr.isatty():
            from prefpairs.cli.terminal.next_steps import next_steps

            write_stderr(next_steps(shown, ledger, written))


def _write_summary(shown: str, ledger: Ledger, written: str) -> None:
    from prefpairs.cli.terminal.summary_text import summary_text

    write_stderr(summary_text(shown, ledger, written))


def _cpu_seconds() -> float:
    """CPU time of this process and its workers: waiting for a pipe is not a long run."""
    return sum(os.times()[:4])
