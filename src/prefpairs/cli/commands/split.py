"""prefpairs split: train, validation and test, without leaks."""

from prefpairs.cli.run_plan import run_plan
from prefpairs.engine.earlier_split import earlier_files, with_earlier_sides
from prefpairs.plan import Plan
from prefpairs.plan.export_plan import FormForTarget
from prefpairs.plan.input_plan import PairInputPlan, TempDir
from prefpairs.plan.write_plan import WriteSides
from prefpairs.stages.split import Split


def split(
    *,
    inputs: PairInputPlan,
    sides: Split,
    form: FormForTarget,
    temp: TempDir,
    write: WriteSides,
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
    run_plan(
        Plan(
            read=inputs.found(),
            split=with_earlier_sides(form.split_by(sides)),
            references=form.references_for(),
            replaceable=earlier_files(sides),
            write=write,
            temp_dir=temp.temp_dir,
        )
    )
