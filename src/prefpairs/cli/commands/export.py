"""prefpairs export: pairs to the dataset of a trainer."""

from prefpairs.cli.export_options import ExportWords, ToWords
from prefpairs.cli.export_traces import export_traces
from prefpairs.cli.output_places import note_sides_mixed
from prefpairs.cli.pair_input_options import PairInputWords
from prefpairs.cli.read_options import AsideWords
from prefpairs.cli.write_options import PlaceWords, check_written
from prefpairs.engine.export import export as run
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import DatasetPlan
from prefpairs.errors import MeansNothing, UsageError
from prefpairs.files.split_names import side_of
from prefpairs.ledger import Ledger
from prefpairs.sources import TRACES
from prefpairs.targets import OF_TRACES


def export(
    *,
    target: ToWords,
    reading: PairInputWords,
    form: ExportWords,
    aside: AsideWords,
    writing: PlaceWords,
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
    ledger = Ledger()
    if target.to in OF_TRACES:
        export_traces(target.to, reading, form, writing, ledger)
        return
    if reading.dialect == TRACES:
        problem = f"--from {TRACES} goes with --to {' or '.join(OF_TRACES)}: traces are no pairs"
        raise MeansNothing(problem, ["--from"], "pair")
    read = reading.input_plan()
    sides = {given: side_of(given.path) if writing.out_dir else WHOLE for given in read.inputs}
    if writing.out_dir and read.inputs and "train" not in sides.values():
        problem = f"{read.inputs[0].path} is {side_of(read.inputs[0].path)} data by its name"
        raise UsageError(f"{problem}, and there is none to train on", "name a file train.jsonl")
    if not writing.out_dir:
        note_sides_mixed(read.inputs, "--out-dir keeps them apart", ledger)
    plan = DatasetPlan(read=read, sides=sides, export=form.plan(target.to, aside.temp_dir))
    check_written([writing.output], form.references())
    with writing.placed("export", plan, ledger) as outputs:
        run(plan, outputs, ledger, allow_empty=writing.allow_empty)
