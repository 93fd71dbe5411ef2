"""prefpairs split: train, validation and test, without leaks."""

from prefpairs.cli.run_with_summary import run_with_summary
from prefpairs.engine.pairs.reference_files import earlier_files, with_earlier_sides
from prefpairs.plan import Plan
from prefpairs.plan.export_plan import ForTarget
from prefpairs.plan.input_plan import PairInputPlan, TempDir
from prefpairs.plan.runner_plan import RunnerPlan
from prefpairs.plan.write_plan import WriteSides
from prefpairs.stages.split import Split
from prefpairs.targets.export_options import ExportOptions


def split(
    *,
    inputs: PairInputPlan,
    sides: Split,
    trainer: ForTarget,
    form: ExportOptions,
    temp: TempDir,
    write: WriteSides,
    runner: RunnerPlan,
) -> None:
    """Split pairs into train.jsonl, val.jsonl and test.jsonl, without leaks.

    The split key, by default the prompt, never appears in two splits. Its split depends only on the
    key and the seed, so it does not change when data is added. Fractions are therefore met only on
    average; --exact comes close to them on small inputs.

    Exporting can make different prompts equal: turns that both answers share move into the prompt,
    and reasoning or history may be dropped. --for TARGET splits by what the trainer sees.

    Memory: 30 bytes per prompt, and 30 per prompt of --like; with --exact 90 per pair.

        prefpairs split --val-fraction 0.1 pairs.jsonl --out-dir data

        # with a test set; close to the fractions even with few pairs
        prefpairs split --exact --test-fraction 0.1 pairs.jsonl --out-dir data

        # all turns of a conversation in one split
        prefpairs split --by meta.example_id pairs.jsonl --out-dir data

        # by the prompts that TRL will see
        prefpairs split --for trl pairs.jsonl --out-dir data

        # old and new pairs: prompts that are already in data keep their split
        prefpairs split --like data all_pairs.jsonl --out-dir data
    """
    run_with_summary(
        Plan(
            read=inputs.found(),
            split=with_earlier_sides(trainer.split_by(sides, form)),
            references=trainer.references(form),
            replaceable=earlier_files(sides),
            write=write,
            runner=runner,
            temp_dir=temp.temp_dir,
        )
    )
