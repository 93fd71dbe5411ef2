"""The options that say what is written, and the run of a command around its engine."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from prefpairs.cli.advice import next_steps, why_nothing
from prefpairs.cli.summary import summary_of, summary_text
from prefpairs.cli.words import FLAG
from prefpairs.errors import NothingCameOut, PrefpairsError, UsageError
from prefpairs.files.inputs import Input
from prefpairs.files.output import Output, open_output, refuse_same_file, write_file
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
    def opened(self, command: str, inputs: Sequence[Input], report: Report) -> Iterator[Output]:
        """The output of a run; its summary is written, and said, however the run ends."""
        self._check(inputs)
        try:
            with open_output(self.output, inputs) as output:
                yield output
        except NothingCameOut as error:
            self._summarise(command, report, aloud=True)
            raise NothingCameOut(error.what, why_nothing(command, report)) from None
        except PrefpairsError:
            self._summarise(command, report, aloud=False)
            raise
        self._summarise(command, report, aloud=True)

    def _check(self, inputs: Sequence[Input]) -> None:
        """Raise if the summary would be written over an input or over the output."""
        if self.summary is None:
            return
        refuse_same_file(self.summary, inputs)
        if os.path.realpath(self.summary) == os.path.realpath(self.output):
            raise UsageError(f"{self.summary} is both output and summary", "name two files")

    def _summarise(self, command: str, report: Report, *, aloud: bool) -> None:
        if self.summary is not None:
            write_file(self.summary, encode_pretty(summary_of(command, report)))
        if aloud and not self.quiet:
            sys.stderr.write(summary_text(command, report, self.output))
            if sys.stderr.isatty():
                sys.stderr.write(next_steps(command, report, self.output))
