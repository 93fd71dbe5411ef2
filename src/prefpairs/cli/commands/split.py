"""prefpairs split: train, validation and test, without leaks."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from prefpairs.cli.export_options import ForWords
from prefpairs.cli.pair_input_options import PairInputWords
from prefpairs.cli.read_options import AsideWords
from prefpairs.cli.write_options import FolderWords
from prefpairs.did_you_mean import nearest
from prefpairs.engine.earlier_split import old_files, sides_in
from prefpairs.engine.plan import ExportPlan, SievePlan
from prefpairs.engine.stage_runner import sieve
from prefpairs.errors import UsageError
from prefpairs.files.inputs import Input
from prefpairs.ledger import Ledger
from prefpairs.model.pair import Pair
from prefpairs.option import flag, option, options
from prefpairs.stages.split import Split

_SPLIT = "How sides are drawn"


@options
class SideWords:
    """The words about sides, as they were typed."""

    val_fraction: float = option(
        0.2, metavar="F", least=0, most=1, panel=_SPLIT, help="The share of val.jsonl."
    )
    test_fraction: float = option(
        0.0, metavar="F", least=0, most=1, panel=_SPLIT, help="The share of test.jsonl."
    )
    by: str = option(
        "prompt",
        metavar="prompt|group|PATH",
        panel=_SPLIT,
        help="What never stands on two sides; meta.example_id keeps the turns of one "
        "conversation together.",
    )
    seed: int = option(0, metavar="N", panel=_SPLIT, help="Seed of the draws.")
    exact: bool = flag(
        panel=_SPLIT,
        help="Fill every side, as near to its share as its prompts allow: for small inputs. "
        "Added data may then move others to another side.",
    )

    like: str | None = option(
        None,
        metavar="OLD_DIR",
        panel=_SPLIT,
        help="Keep each prompt on the side that it has in the files of an earlier split; new "
        "ones are drawn. OLD_DIR may be --out-dir.",
    )


@options
class SplitWords(ForWords, SideWords):  # a dataclass begins with the fields of its last base
    """The words about sides, and about the trainer whose view of prompts counts."""

    def references_for(self) -> list[Input]:
        """The files that --for reads."""
        seen = self.plan_for()
        return [] if seen is None else [*seen.references]

    def old_files(self) -> list[Input]:
        """The files that --like reads; the run may replace them."""
        return [] if self.like is None else old_files(self.like)

    def parting(self, export: ExportPlan | None = None) -> Split:
        """The split that these words ask for, where pairs stay pairs or are exported."""
        if self.val_fraction + self.test_fraction > 1:
            raise UsageError("--val-fraction and --test-fraction are more than 1 together")
        if self.by.partition(".")[0] not in Pair._fields:
            near = nearest(self.by, ["prompt", "group"], "prompt, group, or a field of meta")
            raise UsageError(f"--by {self.by}: pairs have no such field", near)
        seen = self.plan_for()
        if seen is not None and self.by != "prompt":
            problem = f"--for {self.target} splits by the prompt, --by {self.by} does not"
            raise UsageError(problem, "leave one of them out")
        if seen is not None and export is not None:
            raise UsageError("[split] knows the target of [export]", "leave it out of [split]")
        if self.like is not None and self.exact:
            problem = "--exact does not go with --like: it may move prompts to another side"
            raise UsageError(problem, "leave --exact out")
        parting = Split(
            val_fraction=self.val_fraction,
            test_fraction=self.test_fraction,
            by=self.by,
            seed=self.seed,
            exact=self.exact,
            seen=_view_of(seen or export) if self.by == "prompt" else None,
        )
        if self.like is None:
            return parting
        return replace(parting, like=sides_in(self.like, parting))


def _view_of(export: ExportPlan | None) -> Callable[[Pair], bytes | None] | None:
    """What a trainer sees of a prompt, where one is named."""
    if export is None:
        return None
    from prefpairs.dataset.example import trainer_prompt_of

    return partial(trainer_prompt_of, target=export.target, options=export.options)


def split(
    *, reading: PairInputWords, sides: SplitWords, aside: AsideWords, writing: FolderWords
) -> None:
    """Pairs to train.jsonl, val.jsonl and test.jsonl, without leaks.

    What they are split by, the prompt unless told otherwise, never stands on two sides, and never
    changes sides when data is added: its side depends on it and on the seed alone. So shares are
    met on average; --exact comes near to them on small inputs, too.

    Export changes some prompts, so that two become one: turns that both answers share move into
    the prompt, and thinking or history may go. --for TARGET splits by what the trainer sees.

    Memory: about 30 bytes a prompt, and 30 more a prompt of --like; with --exact 90 a pair.

        prefpairs split --val-fraction 0.1 pairs.jsonl --out-dir data

        # a test set, too; every side comes near to its share of few pairs
        prefpairs split --exact --test-fraction 0.1 pairs.jsonl --out-dir data

        # all turns of one conversation on one side
        prefpairs split --by meta.example_id pairs.jsonl --out-dir data

        # by the prompts that TRL will see
        prefpairs split --for trl pairs.jsonl --out-dir data

        # old and new pairs: prompts that data has already stay on their side
        prefpairs split --like data all_pairs.jsonl --out-dir data
    """
    ledger = Ledger()
    parting = sides.parting()
    plan = SievePlan(read=reading.input_plan(), parting=parting, temp_dir=aside.temp_dir)
    also_read, old = sides.references_for(), sides.old_files()
    with writing.opened(parting.sides, plan.read, ledger, also_read=also_read, old=old) as outputs:
        sieve(plan, outputs, ledger, allow_empty=writing.allow_empty)
