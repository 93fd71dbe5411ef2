"""prefpairs stats: what is in the data, in numbers."""

import os

from prefpairs.analysis.survey import PairSurvey, Survey, figures, survey_groups
from prefpairs.analysis.survey_tables import sections, warnings
from prefpairs.cli.analysis_options import AnyInputPlan, analysed
from prefpairs.cli.terminal.progress_bar import inputs_to_measure, show_progress
from prefpairs.engine.outputs.destination import check_written
from prefpairs.engine.outputs.required_counts import read_gates
from prefpairs.engine.survey_inputs import survey
from prefpairs.errors import OptionsConflict
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.output import open_output
from prefpairs.files.standard_output import STDOUT
from prefpairs.ledger import Ledger
from prefpairs.model.json_codec import encode_pretty
from prefpairs.option import flag, option, options
from prefpairs.plan.input_plan import TempDir
from prefpairs.strategies.options import PairOptions

_TOLD = "Output"


@options
class StatsOptions:
    """What is written, and where."""

    output: str = option(
        STDOUT,
        "-o",
        "--output",
        metavar="FILE",
        panel=_TOLD,
        help="Output file (default: standard output).",
        show_default=False,
    )
    json: bool = flag(panel=_TOLD, help="Print all figures as JSON.")
    markdown: bool = flag(panel=_TOLD, help="Print Markdown tables, for a pull request.")
    require: list[str] | None = option(
        None,
        metavar="NAME<N",
        panel=_TOLD,
        help="Exit with 4 unless a figure of --json meets this condition: 'longer_wins<0.6', "
        "'pairs>=1000'. The figures are written either way. Repeatable.",
    )

    quiet: bool = flag("-q", "--quiet", panel=_TOLD, help="Do not show a progress bar.")

    def written(self, found: Survey, ledger: Ledger) -> bytes:
        """A survey in the form that was asked for."""
        if self.json:
            return encode_pretty(figures(found, ledger))
        told, worrying = sections(found, ledger), warnings(found)
        if self.markdown:
            from prefpairs.render.markdown import markdown

            return markdown(told, worrying).encode()
        from prefpairs.cli.terminal.survey_text import draw_sections

        return draw_sections(told, worrying, terminal=self.output == STDOUT and os.isatty(1))


def stats(
    *,
    inputs: AnyInputPlan,
    rows: ReadOptions,
    pairing: PairOptions,
    temp: TempDir,
    form: StatsOptions,
) -> None:
    """Show statistics of pairs, or of rollouts and the pairs they would give.

    Losses and their reasons, scores, gaps and what another --min-gap would leave, ties, lengths,
    repeated and contradictory pairs, which model wins, and shortcuts that distinguish chosen from
    rejected answers without looking at the task, such as "the longer answer wins".

        prefpairs stats rollouts.jsonl
        prefpairs stats --strategy exhaustive --keep response.model runs/*.jsonl
        prefpairs stats --require 'longer_wins<0.6' pairs.jsonl

    All counts are exact.

    Memory: 210 bytes per pair, plus that of `pair` if pairs are made.
    """
    if form.json and form.markdown:
        raise OptionsConflict("--json", "--markdown", hint="choose one")
    ledger = Ledger()
    nothing = Survey(PairSurvey(), [], survey_groups([]))
    gates = read_gates(form.require or [], figures(nothing, ledger))
    with analysed(inputs, rows, pairing, temp) as plan:
        check_written([form.output, plan.read.quarantine], plan.read.inputs)
        tables = not (form.json or form.markdown)
        with open_output(form.output, plan.read.inputs, styled=tables) as output:
            with show_progress(ledger.progress, inputs_to_measure(plan.read), quiet=form.quiet):
                found = survey(plan, ledger)
            output.write(form.written(found, ledger))
    for gate in gates:
        gate.check(figures(found, ledger))
