"""prefpairs split: train, validation and test, without leaks."""

from typing import Annotated

from typer import Option

from prefpairs.cli.dialect import PairInputWords
from prefpairs.cli.reading import AsideWords
from prefpairs.cli.words import FLAG, command_of, word_group
from prefpairs.cli.writing import FolderWords
from prefpairs.engines.plan import SievePlan
from prefpairs.engines.sieve import sieve
from prefpairs.errors import UsageError
from prefpairs.nearest import nearest
from prefpairs.records.pair import Pair
from prefpairs.report import Report
from prefpairs.sieves.split import Split

_SPLIT = "How sides are drawn"


@word_group
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
            help="Fill every side, as near to its share as its prompts allow: for small inputs. "
            "Added data may then move others to another side.",
        ),
    ] = False

    def parting(self) -> Split:
        """The split that these words ask for."""
        if self.val_fraction + self.test_fraction > 1:
            raise UsageError("--val-fraction and --test-fraction are more than 1 together")
        if self.by.partition(".")[0] not in Pair._fields:
            near = nearest(self.by, ["prompt", "group"], "prompt, group, or a field of meta")
            raise UsageError(f"--by {self.by}: pairs have no such field", near)
        return Split(
            val_fraction=self.val_fraction,
            test_fraction=self.test_fraction,
            by=self.by,
            seed=self.seed,
            exact=self.exact,
        )


@command_of
def split(
    *, reading: PairInputWords, sides: SplitWords, aside: AsideWords, writing: FolderWords
) -> None:
    """Pairs to train.jsonl, val.jsonl and test.jsonl, without leaks.

    What they are split by, the prompt unless told otherwise, never stands on two sides, and never
    changes sides when data is added: its side depends on it and on the seed alone. So shares are
    met on average; --exact comes near to them on small inputs, too.

    Memory: about 30 bytes a prompt; with --exact 90 more a pair.

        prefpairs split --val-fraction 0.1 pairs.jsonl --out-dir data

        # a test set, too; every side comes near to its share of few pairs
        prefpairs split --exact --test-fraction 0.1 pairs.jsonl --out-dir data

        # all turns of one conversation on one side
        prefpairs split --by meta.example_id pairs.jsonl --out-dir data
    """
    report = Report()
    parting = sides.parting()
    plan = SievePlan(read=reading.input_plan(), parting=parting, temp_dir=aside.temp_dir)
    with writing.opened(parting.sides, plan.read, report) as outputs:
        sieve(plan, outputs, report, allow_empty=writing.allow_empty)
