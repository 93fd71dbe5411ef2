"""prefpairs show: pairs side by side, or the outcome of each candidate of a group."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

from prefpairs.cli.terminal.next_steps import why_no_output
from prefpairs.cli.terminal.outcome_text import describe_outcome
from prefpairs.cli.terminal.pager import NARROWEST, WIDEST, Screen, open_screen
from prefpairs.cli.terminal.safe_text import plural, write_stderr
from prefpairs.cli.terminal.summary_text import early_losses, losses_text, notes_text
from prefpairs.engine.outputs.destination import check_written
from prefpairs.engine.pairs.pairs_from_trainer_rows import reader_named
from prefpairs.engine.pairs.shown_pairs import ShowPlan
from prefpairs.engine.pairs.shown_pairs import show as show_pairs
from prefpairs.engine.store.group_outcomes import ShownGroup, show_group
from prefpairs.errors import MeansNothing, NotThere, OptionNeeds, OptionsConflict, UsageError
from prefpairs.fields.read_options import READ, ReadOptions
from prefpairs.files.file_system import errors_named
from prefpairs.files.input_file import STDIN
from prefpairs.files.nonblocking import CountingFile
from prefpairs.ledger import Ledger
from prefpairs.option import flag, given_options, one_of, option, options, split_words
from prefpairs.plan import InputPlan, PairPlan, ReadPlan
from prefpairs.plan.input_plan import TempDir
from prefpairs.render.escape_and_wrap import Span
from prefpairs.render.pair_sheet import View, group_rows, member_rows, pair_rows
from prefpairs.sources import SOURCES
from prefpairs.strategies.options import PairOptions
from prefpairs.targets import PAIR_FORMATS

_PAIRS = "pairs"
_WHICH, _HOW = "Selection", "Display"
_WORSTS = ("length-ratio", "gap")
_USUAL = 5
_ID = re.compile("[0-9a-f]{4,32}")
_ABOUT_IDS = "ids name the content, and change with it; `jq -r .id` lists those of a file"


@options
class ShowOptions:
    """Which pairs or which group to show."""

    ids: list[str] | None = option(
        None,
        "--id",
        metavar="ID,...",
        panel=_WHICH,
        help="Show pairs by id, or by at least the first 4 digits of it; - reads ids from "
        "standard input, one per line.",
    )
    worst: str | None = option(
        None,
        metavar="|".join(_WORSTS),
        panel=_WHICH,
        help="Show the pairs whose lengths differ most, or whose gaps are smallest.",
    )
    random: bool = flag(panel=_WHICH, help="Show random pairs, drawn by --seed and their content.")
    group: str | None = option(
        None,
        metavar="NAME",
        panel=_WHICH,
        help="Read rollouts or candidates, and show the outcome of each candidate of a group; "
        "the start of its name is enough, or an item of it, such as the id of a task.",
    )

    def check_choice(self, seed: int) -> None:
        """Raise for words that do not go together."""
        given = {
            "--id": self.ids is not None,
            "--worst": self.worst is not None,
            "--random": self.random,
            "--group": self.group is not None,
        }
        several = [option for option, there in given.items() if there]
        if len(several) > 1:
            raise OptionsConflict(*several[:2], hint="choose one")
        if seed and not (self.random or self.group is not None):
            raise OptionNeeds("--seed", "--random or --group")


@options
class ShowInputs(ReadPlan):
    """Which pairs are read, or, with --group, which rollouts."""

    limit: int | None = option(
        None,
        "-n",
        "--limit",
        metavar="N",
        least=1,
        panel=_WHICH,
        help=f"Show N pairs (default: {_USUAL}; all with --id), or with --group N candidates.",
        show_default=False,
    )
    source: str = option(
        "auto",
        "--from",
        metavar="KIND",
        panel=READ,
        help=f"auto (recognise each row by its columns), pairs, {', '.join(PAIR_FORMATS)}; "
        f"with --group {', '.join(SOURCES)}.",
    )

    def pairs_plan(self, choice: ShowOptions, seed: int) -> ShowPlan:
        """The plan of these options for pairs."""
        dialect = "auto" if self.source == _PAIRS else self.source
        if dialect != "auto":
            reader_named(dialect)
        read = replace(self.found(), limit=None, dialect=dialect)
        ids = self._ids(choice)
        usual = sys.maxsize if ids else _USUAL
        return ShowPlan(
            read=read,
            most=usual if self.limit is None else self.limit,
            ids=ids,
            worst=None if choice.worst is None else one_of("--worst", choice.worst, *_WORSTS),
            seed=seed if choice.random else None,
        )

    def _ids(self, choice: ShowOptions) -> list[str]:
        """The ids that are asked for, each once."""
        ids: dict[str, None] = {}
        for word in split_words(choice.ids):
            ids.update(dict.fromkeys(self._ids_of_stdin() if word == STDIN else [word.lower()]))
        for name in ids:
            if not _ID.fullmatch(name):
                raise UsageError(f"--id {name}: expected 4 to 32 hexadecimal digits", _ABOUT_IDS)
        if choice.ids is not None and not ids:
            raise NotThere("pair", hint="no ids came")
        return [*ids]

    def _ids_of_stdin(self) -> list[str]:
        if not self.paths or STDIN in self.paths:
            raise UsageError("--id - reads standard input, which is an input already", "name files")
        if sys.stdin is None:
            return []
        with errors_named("stdin"), CountingFile(0, None, closefd=False) as stdin:
            return stdin.readall().decode("utf-8", "replace").lower().split()

    def group_plan(self, rows: ReadOptions, pairing: PairOptions, temp_dir: str | None) -> PairPlan:
        """The plan of these options for rollouts."""
        if pairing.across_prompts or pairing.assume_grouped:
            option = "--across-prompts" if pairing.across_prompts else "--assume-grouped"
            raise OptionsConflict(option, "--group", hint="it shows one group at a time")
        read = replace(self.reading(rows), limit=None)
        return PairPlan(read=read, options=pairing, temp_dir=temp_dir)


@options
class ViewOptions:
    """How they are displayed."""

    full: bool = flag(
        panel=_HOW,
        help="Show all of long prompts, of text that both answers share, and of long answers "
        "(default: 1,000 rows).",
    )
    width: int | None = option(
        None,
        metavar="COLUMNS",
        least=NARROWEST,
        most=WIDEST,
        panel=_HOW,
        help="Width of the output (default: that of the terminal; 100 in a file or pipe). Below "
        "80, the answers are printed one below the other.",
        show_default=False,
    )
    no_pager: bool = flag(
        panel=_HOW,
        help="Never start $PAGER (less -R), even if the output does not fit on the terminal.",
    )
    quiet: bool = flag("-q", "--quiet", panel=_HOW, help="Print only errors.")

    @contextmanager
    def opened(self, plan: InputPlan, ledger: Ledger) -> Iterator[Screen]:
        """The screen; what was found is shown before the error about what was not."""
        check_written([plan.quarantine], plan.inputs)
        missing = None
        with open_screen(self.width, pager=not self.no_pager) as screen:
            try:
                yield screen
            except NotThere as error:
                missing = error
        if missing is not None:
            ids = missing.what == "pair" and missing.names
            why = _ABOUT_IDS if ids else why_no_output("show", ledger)
            raise NotThere(missing.what, missing.names, missing.hint or why)

    def view(self, screen: Screen) -> View:
        """How things are shown there."""
        return View(screen.width, full=self.full, marked=not screen.coloured)


def show(
    *,
    choice: ShowOptions,
    looking: ViewOptions,
    inputs: ShowInputs,
    rows: ReadOptions,
    pairing: PairOptions,
    temp: TempDir,
) -> None:
    """Show pairs side by side, or the outcome of each candidate of a group.

    Shows the first pairs, or those you select, with the words that differ: in colours on a
    terminal, otherwise between {+ +} and [- -]. A = between the columns means that both sides are
    equal.

        prefpairs show --worst length-ratio -n 3 pairs.jsonl

    With --group NAME, the inputs are rollouts and all options of `pair` apply. Every candidate of
    the group is shown with its pairs, or with the reason why it has none.

        prefpairs show --group prompt:2d67 --min-gap 0.2 rollouts.jsonl

    One pass.

    Memory: that of the pairs that are shown; with --group that of `pair`.
    """
    choice.check_choice(pairing.seed)
    ledger = Ledger()
    if choice.group is not None:
        plan = inputs.group_plan(rows, pairing, temp.temp_dir)
        _show_group(plan, choice.group, inputs.limit, looking, ledger)
    else:
        _refuse_options_of_group(rows, pairing, temp)
        _show_pairs(inputs.pairs_plan(choice, pairing.seed), looking, ledger)


def _show_pairs(plan: ShowPlan, looking: ViewOptions, ledger: Ledger) -> None:
    with looking.opened(plan.read, ledger) as screen:
        for number, found in enumerate(show_pairs(plan, ledger), 1):
            for row in pair_rows(found.pair, found.place, number, looking.view(screen)):
                screen.put(row)
    if not looking.quiet:
        write_stderr(losses_text(ledger))


def _show_group(
    plan: PairPlan, name: str, most: int | None, looking: ViewOptions, ledger: Ledger
) -> None:
    with looking.opened(plan.read, ledger) as screen:
        for group in show_group(plan, name, ledger):
            _put_group(group, plan, most, screen, looking.view(screen))
        if losses := early_losses(ledger):
            screen.put([Span("dropped before groups were made, in all of the input")])
            for line in losses:
                screen.put([Span(line)])
    if not looking.quiet:
        write_stderr(notes_text(ledger))


def _put_group(
    group: ShownGroup, plan: PairPlan, most: int | None, screen: Screen, view: View
) -> None:
    found = f"{plural(group.candidates, 'candidate')}, {plural(group.pairs, 'pair')}"
    counts = f"{found} ({plan.options.strategy_name})"
    for row in group_rows(group.best, counts, view):
        screen.put(row)
    for member in islice(group.members, most):
        outcome, side = describe_outcome(member, group.pairs, plan)
        for row in member_rows(member.number, member.candidate, outcome, side, view):
            screen.put(row)
    if most is not None and group.candidates > most:
        screen.put([Span(f"... and {group.candidates - most:,} more")])
    screen.put([])


def _refuse_options_of_group(*groups: Any) -> None:
    """Raise for an option that means nothing where pairs are read."""
    options = [option for group in groups for option in given_options(group, {"seed"})]
    if options:
        raise MeansNothing(f"{options[0]} requires --group: pairs are shown as they are", options)
