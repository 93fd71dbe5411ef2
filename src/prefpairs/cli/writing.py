"""The options that say what is written, and the run of a command around its engine."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from prefpairs.cli.advice import next_steps, why_nothing
from prefpairs.cli.summary import summary_of, summary_text
from prefpairs.cli.wording import say
from prefpairs.cli.words import FLAG
from prefpairs.engines.plan import ReadPlan
from prefpairs.errors import NothingCameOut, PrefpairsError, UsageError
from prefpairs.files.output import (
    STDOUT,
    ClosedPipe,
    Output,
    open_output,
    refuse_same_file,
    write_file,
)
from prefpairs.records.wire import encode_pretty
from prefpairs.report import Report

_WRITE = "What is written"


@dataclass(frozen=True, kw_only=True)
class WriteWords:
    """The words about writing, as they were typed."""

    output: Annotated[
        str,
        Option(
            "-o",
            "--output",
            metavar="FILE",
            rich_help_panel=_WRITE,
            help="Where results go (default: standard output). The file appears when all of it "
            "is there; .gz and .zst compress it.",
            show_default=False,
        ),
    ] = "-"
    summary: Annotated[
        str | None,
        Option(metavar="FILE", rich_help_panel=_WRITE, help="Write the counts as JSON, too."),
    ] = None
    quiet: Annotated[
        bool,
        Option(
            "-q", "--quiet", metavar=FLAG, rich_help_panel=_WRITE, help="Say nothing but errors."
        ),
    ] = False
    allow_empty: Annotated[
        bool,
        Option(
            "--allow-empty",
            metavar=FLAG,
            rich_help_panel=_WRITE,
            help="An empty result is no error.",
        ),
    ] = False

    @contextmanager
    def opened(self, command: str, plan: ReadPlan, report: Report) -> Iterator[Output]:
        """The output of a run; its summary is written, and said, however the run ends."""
        self._check(plan)
        try:
            with open_output(self.output, plan.inputs) as output:
                yield output
        except NothingCameOut as error:
            self._summarise(command, report, aloud=True)
            raise NothingCameOut(error.what, why_nothing(command, report)) from None
        except (PrefpairsError, ClosedPipe):
            self._summarise(command, report, aloud=False)
            raise
        self._summarise(command, report, aloud=True)

    def _check(self, plan: ReadPlan) -> None:
        """Raise if two of the files to be written are one, or one of them is an input."""
        written = [self.output, self.summary, plan.quarantine]
        files = [path for path in written if path is not None and path != STDOUT]
        for path in files:
            refuse_same_file(path, plan.inputs)
        for path, count in Counter(map(os.path.realpath, files)).items():
            if count > 1:
                problem = f"{os.path.relpath(path)} would be written twice"
                raise UsageError(problem, "give each output a file of its own")

    def _summarise(self, command: str, report: Report, *, aloud: bool) -> None:
        if self.summary is not None:
            write_file(self.summary, encode_pretty(summary_of(command, report)))
        if aloud and not self.quiet:
            say(summary_text(command, report, self.output))
            if sys.stderr is not None and sys.stderr.isatty():
                say(next_steps(command, report, self.output))
