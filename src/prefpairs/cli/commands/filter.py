"""prefpairs filter: the pairs that pass simple conditions."""

from prefpairs.cli.run_with_summary import run_with_summary
from prefpairs.engine.pairs.reference_files import files_named_by, with_files
from prefpairs.plan import Plan
from prefpairs.plan.input_plan import PairInputPlan
from prefpairs.plan.runner_plan import RunnerPlan
from prefpairs.plan.write_plan import WriteParts
from prefpairs.stages.filter import Filter


def filter(  # noqa: A001 - the word that is typed
    *, inputs: PairInputPlan, conditions: Filter, write: WriteParts, runner: RunnerPlan
) -> None:
    """Keep pairs that meet every condition.

    Other pairs are counted under the first condition that they fail. Limits are inclusive. A pair
    with an unknown gap or score fails every limit on it.

    Memory: constant; one pass over the input.

        prefpairs filter --min-gap 0.2 --max-length-ratio 3 pairs.jsonl -o good.jsonl

        # what fits into a model
        prefpairs filter --max-tokens 4096 --tokenizer tokenizer.json pairs.jsonl

        # fail and leave good.jsonl unchanged if too few pairs are left
        prefpairs filter --min-gap 0.2 --require 'pairs>=500' all.jsonl -o good.jsonl
    """
    run_with_summary(
        Plan(
            read=inputs.found(),
            stages=[with_files(conditions)],
            references=files_named_by(conditions),
            write=write,
            runner=runner,
        )
    )
