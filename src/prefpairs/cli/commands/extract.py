"""prefpairs extract: rollouts to candidates."""

from prefpairs.cli.run_with_summary import run_with_summary
from prefpairs.errors import UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.plan import Plan, ReadPlan
from prefpairs.plan.runner_plan import RunnerPlan
from prefpairs.plan.write_plan import WriteParts


def extract(*, inputs: ReadPlan, rows: ReadOptions, write: WriteParts, runner: RunnerPlan) -> None:
    """Convert rollouts to candidates: one scored answer per line.

    Candidates are what `pair` reads; use your own filters in between.

    Memory: constant; one pass over the input.

        prefpairs extract rollouts.jsonl -o candidates.jsonl

        # with your own filter before pairs are made
        prefpairs extract runs/*.jsonl | jq -c 'select(.score < 1)' | prefpairs pair
    """
    if rows.prefer:
        raise UsageError("--prefer makes pairs, and candidates have scores", "use it with pair")
    read = inputs.reading(rows)
    run_with_summary(Plan(read=read, references=read.references, write=write, runner=runner))
