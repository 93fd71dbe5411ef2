"""prefpairs report: what is in the data, as one page with pictures and pairs."""

import os

from prefpairs.cli.analysis_options import AnyInputPlan, analysed
from prefpairs.cli.terminal.progress_bar import inputs_to_measure, show_progress
from prefpairs.cli.terminal.safe_text import printable, write_stderr
from prefpairs.engine.outputs.destination import check_written
from prefpairs.engine.survey_inputs import survey
from prefpairs.errors import UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.output import open_output
from prefpairs.files.standard_output import STDOUT, is_stdout
from prefpairs.ledger import Ledger
from prefpairs.option import flag, option, options
from prefpairs.plan.input_plan import TempDir
from prefpairs.render.page.document import page
from prefpairs.render.page.gallery import Gallery
from prefpairs.strategies.options import PairOptions

_PAGE = "Page"
_MEGABYTE = 1_000_000


@options
class ReportOptions:
    """What is on the page, and where it is written."""

    output: str | None = option(
        None,
        "-o",
        "--output",
        metavar="FILE",
        panel=_PAGE,
        help="Output file, such as report.html, or - for standard output.",
    )
    pairs: int = option(
        1000,
        metavar="N",
        least=0,
        most=20_000,
        panel=_PAGE,
        help="Number of pairs on the page, drawn by --seed. The more there are, the more long "
        "texts are shortened. 0 leaves out all texts.",
    )
    title: str | None = option(
        None,
        metavar="TEXT",
        panel=_PAGE,
        help="Heading of the page (default: the names of the inputs).",
    )
    quiet: bool = flag("-q", "--quiet", panel=_PAGE, help="Print only errors.")

    def place(self) -> str:
        """Where the page goes."""
        if self.output is None:
            raise UsageError("where should the page go?", "-o report.html")
        if is_stdout(self.output) and os.isatty(1):
            raise UsageError("a page is nothing to read on a terminal", "-o report.html")
        return self.output


def report(
    *,
    inputs: AnyInputPlan,
    rows: ReadOptions,
    pairing: PairOptions,
    temp: TempDir,
    showing: ReportOptions,
) -> None:
    """Write statistics as an HTML page with charts, and pairs to browse.

    A single file that needs no network and no server. It has the figures of `stats`, and pairs side
    by side with their differences, filters and search.

        prefpairs report rollouts.jsonl -o report.html
        prefpairs report pairs.jsonl --pairs 200 --title 'Week 12' -o report.html

    If there are more pairs than --pairs, they are drawn by --seed, and those with the most uneven
    lengths and the narrowest gaps are added.

    Memory: that of `stats`, plus the pairs on the page.
    """
    output = showing.place()
    counts = Ledger()
    gallery = Gallery(showing.pairs, pairing.seed)
    with analysed(inputs, rows, pairing, temp, of_all={"seed"}) as plan:
        check_written([output, plan.read.quarantine], plan.read.inputs)
        with open_output(output, plan.read.inputs) as file:
            with show_progress(counts.progress, inputs_to_measure(plan.read), quiet=showing.quiet):
                found = survey(plan, counts, gallery.add)
            size = 0
            for part in page(found, counts, gallery, showing.title):
                file.write(part)
                size += len(part)
    if output != STDOUT and not showing.quiet:
        write_stderr(f"wrote {printable(output)} ({_size(size)}): open it in a browser\n")


def _size(number: int) -> str:
    return f"{number / 1e6:.1f} MB" if number >= _MEGABYTE else f"{number / 1e3:.0f} KB"
