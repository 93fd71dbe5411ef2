"""prefpairs pair: rollouts or candidates to preference pairs."""

from dataclasses import replace

from prefpairs.cli.export_options import TargetWords
from prefpairs.cli.read_options import AsideWords, ReadWords
from prefpairs.cli.write_options import PlaceWords, check_written
from prefpairs.engine.pair import pair as run
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import DatasetPlan, PairPlan, ReadPlan
from prefpairs.errors import UsageError
from prefpairs.ledger import Report
from prefpairs.option import flag, one_of, option, options
from prefpairs.strategies import strategy_named
from prefpairs.strategies.allowed_pairs import PairOptions

_PAIR = "How pairs are made"
_RUN = "How it runs"


@options
class PairWords:
    """The words about pairs, as they were typed."""

    strategy: str = option(
        "same_prompt",
        metavar="STRATEGY",
        panel=_PAIR,
        help="same_prompt (best-vs-worst), exhaustive, stratified, adjacent, best-vs-rest, "
        "random or sweet-spot; `prefpairs formats` says what each does.",
    )
    min_gap: float = option(
        0.0, metavar="GAP", least=0, panel=_PAIR, help="Minimum score difference."
    )
    max_gap: float | None = option(
        None, metavar="GAP", panel=_PAIR, help="Maximum score difference."
    )
    min_chosen_score: float | None = option(
        None, metavar="SCORE", panel=_PAIR, help="Minimum score of a chosen answer."
    )
    max_pairs_per_group: int | None = option(
        None, metavar="N", least=1, panel=_PAIR, help="N of a group: the widest."
    )
    high_threshold: float = option(
        0.7, metavar="SCORE", panel=_PAIR, help="stratified: chosen answers score this or more."
    )
    low_threshold: float = option(
        0.4, metavar="SCORE", panel=_PAIR, help="stratified: rejected ones this or less."
    )
    across_prompts: bool = flag(
        panel=_PAIR, help="stratified: let answers to different prompts meet."
    )
    rejected_per_chosen: int = option(
        1, metavar="N", least=1, panel=_PAIR, help="With --across-prompts: N each."
    )
    seed: int = option(0, metavar="N", panel=_PAIR, help="Seed of random draws.")
    yes_all: bool = flag(panel=_PAIR, help="Allow more than 10 million pairs.")
    order: str = option(
        "input",
        metavar="input|key",
        panel=_RUN,
        help="Groups as they first come, or in an order that no shuffling changes.",
    )
    assume_grouped: bool = flag(
        panel=_RUN,
        help="Groups stand together in the input: pair them as they come, in constant memory.",
    )

    workers: int | None = option(
        None,
        metavar="N",
        least=1,
        most=1024,
        panel=_RUN,
        help="Processes that read a file (default: one a core, for files that are worth it).",
    )

    def plan(self, read: ReadPlan, temp_dir: str | None = None) -> PairPlan:
        """The plan that these words ask for."""
        name, _ = strategy_named(self.strategy)
        self._check(name)
        return PairPlan(
            read=read,
            strategy=name,
            options=PairOptions(
                min_gap=self.min_gap,
                max_gap=self.max_gap,
                min_chosen_score=self.min_chosen_score,
                high_threshold=self.high_threshold,
                low_threshold=self.low_threshold,
                max_pairs=self.max_pairs_per_group,
                rejected_per_chosen=self.rejected_per_chosen,
                seed=self.seed,
            ),
            across_prompts=self.across_prompts,
            order=one_of("--order", self.order, "input", "key"),
            temp_dir=temp_dir,
            assume_grouped=self.assume_grouped,
            yes_all=self.yes_all,
            workers=self.workers,
        )

    def _check(self, strategy: str) -> None:
        """Raise for words that do not go together."""
        if self.max_gap is not None and not self.max_gap >= self.min_gap:
            raise UsageError(f"--max-gap {self.max_gap:g} is below --min-gap {self.min_gap:g}")
        for name in ("high_threshold", "low_threshold"):
            if strategy != "stratified" and getattr(self, name) != getattr(PairWords, name):
                raise UsageError(f"--{name.replace('_', '-')} goes with --strategy stratified")
        if strategy == "stratified" and self.low_threshold > self.high_threshold:
            problem = f"--low-threshold {self.low_threshold:g} is above --high-threshold"
            raise UsageError(f"{problem} {self.high_threshold:g}", "name them both")
        if self.across_prompts and strategy != "stratified":
            raise UsageError(
                "--across-prompts goes with --strategy stratified only",
                "answers to different prompts are no preference in any other strategy",
            )
        if self.across_prompts and self.max_pairs_per_group is not None:
            raise UsageError(
                "--max-pairs-per-group does not go with --across-prompts",
                "there --rejected-per-chosen says how many pairs a chosen answer gets",
            )
        if self.rejected_per_chosen > 1 and not self.across_prompts:
            raise UsageError("--rejected-per-chosen goes with --across-prompts")
        if self.assume_grouped and (self.across_prompts or self.order == "key"):
            raise UsageError("--assume-grouped goes neither with --across-prompts nor --order key")


def pair(
    *,
    reading: ReadWords,
    pairing: PairWords,
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
    report = Report()
    plan = pairing.plan(reading.plan(report), aside.temp_dir)
    if form.to != "tokens":
        form = replace(form, tokenizer=None)  # --tokenizer is then for reading alone
    export = form.plan_of(aside.temp_dir)
    if export is None:
        if writing.out_dir is not None:
            raise UsageError("--out-dir is for the dataset of a target", "--to TARGET, or -o FILE")
        also_read = reading.references()
        with writing.opened("pair", plan.read, report, also_read=also_read) as output:
            run(plan, {WHOLE: output}, report, allow_empty=writing.allow_empty)
        return
    from prefpairs.cli.output_places import APART, note_sides_mixed, refuse_held_out

    if writing.out_dir:
        refuse_held_out(plan.read.inputs, writing.out_dir, export)
    else:
        note_sides_mixed(plan.read.inputs, APART, report)
    whole = dict.fromkeys(plan.read.inputs, WHOLE)
    dataset = DatasetPlan(read=plan.read, sides=whole, export=export)
    check_written([writing.output], form.references())
    with writing.placed("pair", dataset, report) as outputs:
        run(plan, outputs, report, export=export, allow_empty=writing.allow_empty)
