"""prefpairs pair: rollouts or candidates to preference pairs."""

from dataclasses import replace

from prefpairs.cli.run_with_summary import run_with_summary
from prefpairs.fields.read_options import ReadOptions
from prefpairs.plan import PairPlan, Plan, ReadPlan
from prefpairs.plan.export_plan import ToTargetOrPairs
from prefpairs.plan.input_plan import TempDir
from prefpairs.plan.runner_plan import RunnerPlan
from prefpairs.plan.write_plan import WriteDataset
from prefpairs.strategies.options import PairOptions
from prefpairs.targets import OF_TRACES, target_named
from prefpairs.targets.export_options import ExportOptions


def pair(
    *,
    inputs: ReadPlan,
    rows: ReadOptions,
    pairing: PairOptions,
    target: ToTargetOrPairs,
    form: ExportOptions,
    temp: TempDir,
    write: WriteDataset,
    runner: RunnerPlan,
) -> None:
    """Make preference pairs from rollouts or candidates.

    Candidates of one task compete if their prompts and tools are equal. In every pair, the chosen
    answer scores higher than the rejected one, and the answers are different and not empty. With
    --to TARGET, pairs are written as `prefpairs export` would write them.

    Memory: about 60 bytes per candidate and 200 per group, however long the texts are.

        prefpairs pair --min-gap 0.2 rollouts.jsonl -o pairs.jsonl

        # in a pipe
        zcat runs/*.jsonl.gz | prefpairs pair --strategy exhaustive > pairs.jsonl

        # rows of your own, with named fields
        prefpairs pair --prompt question --response answer --score points rows.jsonl

        # in a Makefile
        pairs.jsonl: rollouts.jsonl ; prefpairs pair --quiet --min-gap 0.2 $< -o $@

        # all the way to a trainer
        prefpairs pair --to trl --out-dir trl-data rollouts.jsonl

        # in steps that several machines run
        prefpairs pair --runner shards --order key --out-dir pairs runs/*.jsonl
    """
    read = inputs.reading(rows)
    if not _needs_tokenizer(target.to):
        form = replace(form, tokenizer=None)  # --tokenizer is then for reading alone
    run_with_summary(
        Plan(
            read=read,
            pair=PairPlan(read=read, options=pairing, temp_dir=temp.temp_dir),
            export=target.plan(form, temp.temp_dir),
            references=read.references,
            write=write,
            runner=runner,
            temp_dir=temp.temp_dir,
        )
    )


def _needs_tokenizer(to: str | None) -> bool:
    """Whether the rows of a target are made with a tokenizer."""
    return to is not None and to not in OF_TRACES and target_named(to).needs_tokenizer
