"""prefpairs extract: rollouts to candidates."""

from prefpairs.cli.run_plan import run_plan
from prefpairs.fields.read_options import ReadOptions
from prefpairs.plan import Plan, ReadPlan
from prefpairs.plan.write_plan import WriteFile


def extract(*, inputs: ReadPlan, rows: ReadOptions, write: WriteFile) -> None:
    """Rollouts to candidates: one scored answer a line.

    Candidates are what `pair` reads; put your own filters between the two.

    Memory: constant; one pass over the input.

        prefpairs extract rollouts.jsonl -o candidates.jsonl

        # with a filter of your own before pairs are made
        prefpairs extract runs/*.jsonl | jq -c 'select(.score < 1)' | prefpairs pair
    """
    read = inputs.reading(rows)
    run_plan(Plan(read=read, references=read.references, write=write))
