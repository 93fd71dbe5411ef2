"""prefpairs sample: fewer pairs, or the same in another order."""

from prefpairs.cli.run_with_summary import run_with_summary
from prefpairs.engine.pairs.reference_files import files_named_by, with_files
from prefpairs.plan import Plan
from prefpairs.plan.input_plan import PairInputPlan, TempDir
from prefpairs.plan.runner_plan import RunnerPlan
from prefpairs.plan.write_plan import WriteParts
from prefpairs.stages.sample import Sample


def sample(
    *, inputs: PairInputPlan, drawing: Sample, temp: TempDir, write: WriteParts, runner: RunnerPlan
) -> None:
    """Draw a random sample of pairs.

    Whether a pair is drawn depends only on the seed and its content. A smaller sample is part of a
    larger one, and sampling samples of shards gives a sample of the whole.

    Memory: 300 to 400 bytes per pair of the sample with --max-pairs, 90 per pair of the input with
    --per-group or another order, none with --fraction.

        prefpairs sample --max-pairs 5000 --seed 1 pairs.jsonl -o small.jsonl

        # a curriculum: the widest gaps first
        prefpairs sample --order easy-first pairs.jsonl -o ordered.jsonl

        # look at one percent of a stream
        zcat pairs.jsonl.gz | prefpairs sample --fraction 0.01 | jq .prompt
    """
    run_with_summary(
        Plan(
            read=inputs.found(),
            stages=[with_files(drawing)],
            references=files_named_by(drawing),
            write=write,
            runner=runner,
            temp_dir=temp.temp_dir,
        )
    )
