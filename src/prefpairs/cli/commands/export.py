"""prefpairs export: pairs to the dataset of a trainer."""

from dataclasses import replace

from prefpairs.cli.run_with_summary import run_with_summary
from prefpairs.errors import MeansNothing
from prefpairs.plan import Plan, plan_of_traces, sides_by_name
from prefpairs.plan.export_plan import ToTarget, export_plan, refuse_trace_options
from prefpairs.plan.input_plan import PairInputPlan, TempDir
from prefpairs.plan.runner_plan import RunnerPlan
from prefpairs.plan.write_plan import WriteDataset
from prefpairs.sources import TRACES
from prefpairs.targets import OF_TRACES
from prefpairs.targets.export_options import ExportOptions, TraceOptions


def export(
    *,
    target: ToTarget,
    inputs: PairInputPlan,
    form: ExportOptions,
    traces: TraceOptions,
    temp: TempDir,
    write: WriteDataset,
    runner: RunnerPlan,
) -> None:
    """Write pairs as the dataset of a trainer.

    The prompt ends where the two answers diverge, and answers are written in the form that the
    trainer supports; changes are counted. Rows that introduce new fields come first, so that
    loaders infer the type of every column. With --out-dir, files or directories named train, val
    or test become the splits of the dataset.

    With --to sdpo, the input is traces. Each becomes a row of tokens: what the model saw, and the
    same with a hint before each turn that recovers from an error. --to composer writes batches of
    such rows, padded, with the pairs that the traces hold.

    Memory: 12 bytes per row (trl-kto: 160 per answer); rows wait in a temporary file until the last
    one is known.

        prefpairs export --to trl data --out-dir trl-data

        # one file, with typed columns
        prefpairs export --to trl pairs.jsonl -o train.parquet

        # from one trainer's format to another's
        prefpairs export --from ultrafeedback --to nemo-rl uf.parquet --out-dir nemo
    """
    if target.to in OF_TRACES:
        plan = replace(plan_of_traces(target.to, inputs, form, traces, write), runner=runner)
    elif inputs.dialect == TRACES:
        problem = f"--from {TRACES} goes with --to {' or '.join(OF_TRACES)}: traces are no pairs"
        raise MeansNothing(problem, ["--from"], "pair")
    else:
        refuse_trace_options(target.to, traces)
        read = inputs.found()
        plan = Plan(
            read=read,
            sides=sides_by_name(read.inputs, write),
            export=export_plan(target.to, form, temp.temp_dir),
            write=write,
            temp_dir=temp.temp_dir,
            runner=runner,
        )
    run_with_summary(plan)
