"""Runs the plan of a command: with a progress bar if it takes long, and a summary at the end."""

import sys

from prefpairs.cli.terminal.error_text import say
from prefpairs.cli.terminal.next_steps import next_steps, ways_out, why_nothing
from prefpairs.cli.terminal.progress_display import read_whole, show_progress
from prefpairs.cli.terminal.summary_text import summary_text
from prefpairs.driver import run
from prefpairs.errors import GateNotMet, NothingCameOut
from prefpairs.files.standard_output import STDOUT
from prefpairs.ledger import Ledger
from prefpairs.plan import Plan


def run_plan(plan: Plan) -> None:
    """Run a plan, and say what became of all that was read."""
    ledger, quiet = Ledger(), plan.write.quiet
    shown = "extract" if plan.makes == "candidates" else "pair" if plan.pair else "pairs"
    try:
        with show_progress(ledger.progress, read_whole(plan.read), quiet=quiet):
            written = run(plan, ledger).label
    except (NothingCameOut, GateNotMet) as error:
        if not quiet:
            say(summary_text(shown, ledger, STDOUT))
        if isinstance(error, NothingCameOut):
            error.hint = error.hint or why_nothing(shown, ledger)
            error.choices = ways_out(ledger, plan.read)
        raise
    if not quiet:
        say(summary_text(shown, ledger, written))
        whole = plan.split is None and plan.export is None
        if whole and sys.stderr is not None and sys.stderr.isatty():
            say(next_steps(shown, ledger, written))
