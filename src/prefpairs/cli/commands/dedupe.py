"""prefpairs dedupe: one pair of each kind."""

from prefpairs.cli.pair_input_options import PairInputWords
from prefpairs.cli.read_options import AsideWords
from prefpairs.cli.write_options import WriteWords
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import SievePlan
from prefpairs.engine.stage_files import files_named_by, with_files
from prefpairs.engine.stage_runner import sieve
from prefpairs.ledger import Ledger
from prefpairs.stages.dedupe import Dedupe


def dedupe(
    *, reading: PairInputWords, same: Dedupe, aside: AsideWords, writing: WriteWords
) -> None:
    """Pairs without their duplicates.

    Of pairs that are the same the one with the widest gap stays, then the one with the higher
    chosen score; the order of the input has no say in it.

    Memory: 90 to 110 bytes a distinct pair, however long the texts are; with --near up to 1,800
    more at 0.9, and 5,000 at 0.5.

        prefpairs dedupe run1.jsonl run2.jsonl -o pairs.jsonl

        # of A over B and B over A the one with the wider gap
        prefpairs dedupe --conflicts strongest pairs.jsonl -o settled.jsonl

        # without what is nearly the same, and without test questions
        prefpairs dedupe --near 0.8 --against test.jsonl pairs.jsonl -o clean.jsonl
    """
    ledger = Ledger()
    plan = SievePlan(read=reading.input_plan(), sieves=[with_files(same)], temp_dir=aside.temp_dir)
    with writing.opened("dedupe", plan.read, ledger, also_read=files_named_by(same)) as output:
        sieve(plan, {WHOLE: output}, ledger, allow_empty=writing.allow_empty)
