"""prefpairs split: train, validation and test, without leaks."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from prefpairs.cli.reading import AsideWords, InputWords
from prefpairs.cli.summary import summary_of
from prefpairs.cli.words import FLAG, command_of
from prefpairs.cli.writing import TellWords, refuse_one_file_twice
from prefpairs.engines.plan import InputPlan, SievePlan
from prefpairs.engines.sieve import split as run
from prefpairs.errors import UsageError
from prefpairs.files.folder import open_folder
from prefpairs.files.output import Output
from prefpairs.report import Report
from prefpairs.sieves.split import SIDES, Split

_SPLIT = "How sides are drawn"
FILES = {side: f"{side}.jsonl" for side in SIDES}


@dataclass(frozen=True, kw_only=True)
class SplitWords:
    """The words about sides, as they were typed."""

    val_fraction: Annotated[
        float,
        Option(min=0, max=1, metavar="F", rich_help_panel=_SPLIT, help="The share of val.jsonl."),
    ] = 0.2
    test_fraction: Annotated[
        float,
        Option(min=0, max=1, metavar="F", rich_help_panel=_SPLIT, help="The share of test.jsonl."),
    ] = 0.0
    by: Annotated[
        str,
        Option(
            metavar="prompt|group|PATH",
            rich_help_panel=_SPLIT,
            help="What never stands on two sides; meta.example_id keeps the turns of one "
            "conversation together.",
        ),
    ] = "prompt"
    seed: Annotated[int, Option(metavar="N", rich_help_panel=_SPLIT, help="Seed of the draws.")] = 0
    exact: Annotated[
        bool,
        Option(
            "--exact",
            metavar=FLAG,
            rich_help_panel=_SPLIT,
            help="Come as near to the shares as can be, for small inputs; added data may then "
            "move others to another side.",
        ),
    ] = False

    def parting(self) -> Split:
        """The split that these words ask for."""
        if self.val_fraction + self.test_fraction > 1:
            raise UsageError("--val-fraction and --test-fraction are more than 1 together")
        return Split(
            val_fraction=self.val_fraction,
            test_fraction=self.test_fraction,
            by=self.by,
            seed=self.seed,
            exact=self.exact,
        )


@dataclass(frozen=True, kw_only=True)
class FolderWords(TellWords):
    """The words about writing the files of a folder, as they were typed."""

    out_dir: Annotated[
        str | None,
        Option(
            metavar="DIR",
            rich_help_panel="What is written",
            help="Where train.jsonl, val.jsonl and test.jsonl appear, all together.",
        ),
    ] = None

    @contextmanager
    def opened(
        self, parting: Split, plan: InputPlan, report: Report
    ) -> Iterator[Mapping[str, Output]]:
        """The output of each side; all appear when the run ends well and meets its gates."""
        if self.out_dir is None:
            raise UsageError("split writes several files", "--out-dir DIR says where")
        files = [os.path.join(self.out_dir, name) for name in FILES.values()]
        refuse_one_file_twice([*files, self.summary, plan.quarantine], plan.inputs)
        gates, names = self.gates(), [FILES[side] for side in parting.sides]
        with (
            self.telling("split", report, ", ".join(files[: len(names)])),
            open_folder(self.out_dir, names, [*FILES.values()], plan.inputs) as outputs,
        ):
            yield {side: outputs[FILES[side]] for side in parting.sides}
            for gate in gates:
                gate.check(summary_of("split", report))


@command_of
def split(
    *, reading: InputWords, sides: SplitWords, aside: AsideWords, writing: FolderWords
) -> None:
    """Pairs to train.jsonl, val.jsonl and test.jsonl, without leaks.

    What they are split by, the prompt unless told otherwise, never stands on two sides, and never
    changes sides when data is added: its side depends on it and on the seed alone. So shares are
    met on average; --exact meets them as nearly as can be.

        prefpairs split --val-fraction 0.1 pairs.jsonl --out-dir data

    One pass. Memory: about 30 bytes a prompt; with --exact 90 more a pair.
    """
    report = Report()
    plan = SievePlan(read=reading.input_plan(), sieves=[], temp_dir=aside.temp_dir)
    parting = sides.parting()
    with writing.opened(parting, plan.read, report) as outputs:
        run(plan, parting, outputs, report, allow_empty=writing.allow_empty)
