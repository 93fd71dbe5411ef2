"""prefpairs pair: rollouts or candidates to preference pairs."""

from dataclasses import replace

from prefpairs.cli.export_options import TargetWords
from prefpairs.cli.read_options import AsideWords, ReadWords
from prefpairs.cli.write_options import PlaceWords, check_written
from prefpairs.engine.pair import pair as run
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import DatasetPlan, PairPlan
from prefpairs.errors import UsageError
from prefpairs.ledger import Ledger
from prefpairs.strategies.options import PairOptions
from prefpairs.targets import OF_TRACES, target_named


def pair(
    *,
    reading: ReadWords,
    pairing: PairOptions,
    form: TargetWords,
    aside: AsideWords,
    writing: PlaceWords,
) -> None:
    """Rollouts or candidates to preference pairs.

    Candidates of one task compete if prompt and tools are equal. Every pair has a chosen answer
    that scores higher than the rejected one, and two different answers, neither of them empty.
    With --to TARGET they come out as `prefpairs export` would write them.

    Memory: about 90 bytes a candidate, however long the texts are.

        prefpairs pair --min-gap 0.2 rollouts.jsonl -o pairs.jsonl

        # in a pipe
        zcat runs/*.jsonl.gz | prefpairs pair --strategy exhaustive > pairs.jsonl

        # rows of your own, whose fields you name
        prefpairs pair --prompt question --response answer --score points rows.jsonl

        # in a Makefile
        pairs.jsonl: rollouts.jsonl ; prefpairs pair --quiet --min-gap 0.2 $< -o $@

        # all the way to a trainer
        prefpairs pair --to trl --out-dir trl-data rollouts.jsonl
    """
    ledger = Ledger()
    plan = PairPlan(read=reading.plan(ledger), options=pairing, temp_dir=aside.temp_dir)
    if not _needs_tokenizer(form.to):
        form = replace(form, tokenizer=None)  # --tokenizer is then for reading alone
    export = form.plan_of(aside.temp_dir)
    if export is None:
        if writing.out_dir is not None:
            raise UsageError("--out-dir is for the dataset of a target", "--to TARGET, or -o FILE")
        also_read = reading.references()
        with writing.opened("pair", plan.read, ledger, also_read=also_read) as output:
            run(plan, {WHOLE: output}, ledger, allow_empty=writing.allow_empty)
        return
    from prefpairs.cli.output_places import APART, note_sides_mixed, refuse_held_out

    if writing.out_dir:
        refuse_held_out(plan.read.inputs, writing.out_dir, export)
    else:
        note_sides_mixed(plan.read.inputs, APART, ledger)
    whole = dict.fromkeys(plan.read.inputs, WHOLE)
    dataset = DatasetPlan(read=plan.read, sides=whole, export=export)
    check_written([writing.output], form.references())
    with writing.placed("pair", dataset, ledger) as outputs:
        run(plan, outputs, ledger, export=export, allow_empty=writing.allow_empty)


def _needs_tokenizer(to: str | None) -> bool:
    """Whether the rows of a target are made with a tokenizer."""
    return to is not None and to not in OF_TRACES and target_named(to).needs_tokenizer
