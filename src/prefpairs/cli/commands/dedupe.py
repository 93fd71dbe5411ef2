"""prefpairs dedupe: one pair of each kind."""

from prefpairs.cli.run_with_summary import run_with_summary
from prefpairs.engine.pairs.reference_files import files_named_by, with_files
from prefpairs.plan import Plan
from prefpairs.plan.input_plan import PairInputPlan, TempDir
from prefpairs.plan.runner_plan import RunnerPlan
from prefpairs.plan.write_plan import WriteParts
from prefpairs.stages.dedupe import Dedupe


def dedupe(
    *, inputs: PairInputPlan, same: Dedupe, temp: TempDir, write: WriteParts, runner: RunnerPlan
) -> None:
    """Remove duplicate pairs.

    Of duplicates, the pair with the widest gap is kept, then the one with the higher chosen score.
    The order of the input does not matter.

    Memory: 100 bytes per distinct pair, however long the texts are; with --near 1 to 2 kB more at
    0.9, and up to 5 kB at 0.5.

        prefpairs dedupe run1.jsonl run2.jsonl -o pairs.jsonl

        # of A over B and B over A, keep the one with the wider gap
        prefpairs dedupe --conflicts strongest pairs.jsonl -o settled.jsonl

        # also drop near-duplicates and test questions
        prefpairs dedupe --near 0.8 --against test.jsonl pairs.jsonl -o clean.jsonl
    """
    run_with_summary(
        Plan(
            read=inputs.found(),
            stages=[with_files(same)],
            references=files_named_by(same),
            write=write,
            runner=runner,
            temp_dir=temp.temp_dir,
        )
    )
