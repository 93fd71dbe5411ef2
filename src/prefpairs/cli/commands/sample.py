"""prefpairs sample: fewer pairs, or the same in another order."""

from prefpairs.cli.pair_input_options import PairInputWords
from prefpairs.cli.read_options import AsideWords
from prefpairs.cli.write_options import WriteWords
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import SievePlan
from prefpairs.engine.stage_runner import sieve
from prefpairs.errors import UsageError
from prefpairs.files.inputs import Input
from prefpairs.ledger import Report
from prefpairs.option import one_of, option, options
from prefpairs.stages.sample import Sample

_SAMPLE = "What is drawn"
_ORDERS = ("input", "shuffle", "easy-first", "hard-first")


@options
class SampleWords:
    """The words about a sample, as they were typed."""

    max_pairs: int | None = option(
        None, metavar="N", least=1, panel=_SAMPLE, help="N pairs, or all if fewer."
    )
    fraction: float | None = option(
        None, metavar="F", least=0, most=1, panel=_SAMPLE, help="Each pair with this chance."
    )
    per_group: int | None = option(
        None, metavar="N", least=1, panel=_SAMPLE, help="At most N pairs of a group."
    )
    order: str = option(
        "input",
        metavar="|".join(_ORDERS),
        panel=_SAMPLE,
        help="As they come, by draw, or by gap: widest first, or narrowest first. Pairs "
        "without a gap come last.",
    )
    seed: int = option(0, metavar="N", panel=_SAMPLE, help="Seed of the draws.")

    def references(self) -> list[Input]:
        """A sample rests on no file but its input."""
        return []

    def sieve(self) -> Sample:
        """The sieve that these words ask for."""
        order = one_of("--order", self.order, *_ORDERS)
        if (self.max_pairs, self.fraction, self.per_group, order) == (None, None, None, "input"):
            raise UsageError(
                "sample of what size?", "--max-pairs N, --fraction F, --per-group N or --order"
            )
        return Sample(
            max_pairs=self.max_pairs,
            fraction=self.fraction,
            per_group=self.per_group,
            order=order,
            seed=self.seed,
        )


def sample(
    *, reading: PairInputWords, drawing: SampleWords, aside: AsideWords, writing: WriteWords
) -> None:
    """Some of the pairs, drawn by seed.

    Whether a pair is drawn depends on the seed and its content, never on its place: a smaller
    sample is part of a larger one, and samples of shards sampled again are a sample of the whole.

    Memory: 410 bytes a pair of the sample with --max-pairs, 100 a pair of the input with
    --per-group or another order, none with --fraction.

        prefpairs sample --max-pairs 5000 --seed 1 pairs.jsonl -o small.jsonl

        # a curriculum: the widest gaps first
        prefpairs sample --order easy-first pairs.jsonl -o ordered.jsonl

        # a look at a hundredth of a stream
        zcat pairs.jsonl.gz | prefpairs sample --fraction 0.01 | jq .prompt
    """
    report = Report()
    plan = SievePlan(read=reading.input_plan(), sieves=[drawing.sieve()], temp_dir=aside.temp_dir)
    with writing.opened("sample", plan.read, report) as output:
        sieve(plan, {WHOLE: output}, report, allow_empty=writing.allow_empty)
