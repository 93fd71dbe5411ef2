"""prefpairs export: pairs to the dataset of a trainer."""

from prefpairs.cli.run_plan import run_plan
from prefpairs.errors import MeansNothing
from prefpairs.plan import Plan, plan_of_traces, sides_by_name
from prefpairs.plan.export_plan import ExportForm, ToTarget
from prefpairs.plan.input_plan import PairInputPlan, TempDir
from prefpairs.plan.write_plan import WriteDataset
from prefpairs.sources import TRACES
from prefpairs.targets import OF_TRACES


def export(
    *,
    target: ToTarget,
    inputs: PairInputPlan,
    form: ExportForm,
    temp: TempDir,
    write: WriteDataset,
) -> None:
    """Pairs to the dataset of a trainer.

    The prompt is cut where the two answers part, and answers are written as the trainer can hold
    them; what had to be changed is counted. Rows that bring new fields stand first, so that
    loaders know the type of every column. With --out-dir, files named train, val or test, or in
    folders of that name, become the sides of the dataset.

    With --to sdpo it reads traces themselves, and writes a row of tokens for each: what the model
    saw, and the same with a hint before the turns that mend an error.

    Memory: 12 bytes a row (trl-kto: 160 an answer); the rows wait in a temporary file until the
    last one is known.

        prefpairs export --to trl data --out-dir trl-data

        # one file, with typed columns
        prefpairs export --to trl pairs.jsonl -o train.parquet

        # from one trainer's format to another's
        prefpairs export --from ultrafeedback --to nemo-rl uf.parquet --out-dir nemo
    """
    if target.to in OF_TRACES:
        plan = plan_of_traces(target.to, inputs, form, write)
    elif inputs.dialect == TRACES:
        problem = f"--from {TRACES} goes with --to {' or '.join(OF_TRACES)}: traces are no pairs"
        raise MeansNothing(problem, ["--from"], "pair")
    else:
        read = inputs.found()
        plan = Plan(
            read=read,
            sides=sides_by_name(read.inputs, write),
            export=form.plan(target.to, temp.temp_dir),
            write=write,
            temp_dir=temp.temp_dir,
        )
    run_plan(plan)
