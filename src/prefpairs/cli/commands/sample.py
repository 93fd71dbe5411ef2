"""prefpairs sample: fewer pairs, or the same in another order."""

from prefpairs.cli.pair_input_options import PairInputWords
from prefpairs.cli.read_options import AsideWords
from prefpairs.cli.write_options import WriteWords
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import SievePlan
from prefpairs.engine.stage_files import with_files
from prefpairs.engine.stage_runner import sieve
from prefpairs.ledger import Ledger
from prefpairs.stages.sample import Sample


def sample(
    *, reading: PairInputWords, drawing: Sample, aside: AsideWords, writing: WriteWords
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
    ledger = Ledger()
    plan = SievePlan(
        read=reading.input_plan(), sieves=[with_files(drawing)], temp_dir=aside.temp_dir
    )
    with writing.opened("sample", plan.read, ledger) as output:
        sieve(plan, {WHOLE: output}, ledger, allow_empty=writing.allow_empty)
