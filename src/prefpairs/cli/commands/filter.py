"""prefpairs filter: the pairs that pass simple conditions."""

from prefpairs.cli.pair_input_options import PairInputWords
from prefpairs.cli.write_options import WriteWords
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import SievePlan
from prefpairs.engine.stage_files import files_named_by, with_files
from prefpairs.engine.stage_runner import sieve
from prefpairs.ledger import Ledger
from prefpairs.stages.filter import Filter


def filter(  # noqa: A001 - the word that is typed
    *, reading: PairInputWords, conditions: Filter, writing: WriteWords
) -> None:
    """Pairs that pass every condition.

    Each of the others is counted under the first condition that it fails. A bound includes its
    number. A pair whose gap or score is not known passes no bound on it.

    Memory: constant; one pass over the input.

        prefpairs filter --min-gap 0.2 --max-length-ratio 3 pairs.jsonl -o good.jsonl

        # what fits into a model
        prefpairs filter --max-tokens 4096 --tokenizer tokenizer.json pairs.jsonl

        # fail, and leave good.jsonl as it was, if too little is left
        prefpairs filter --min-gap 0.2 --require 'pairs>=500' all.jsonl -o good.jsonl
    """
    ledger = Ledger()
    plan = SievePlan(read=reading.input_plan(), sieves=[with_files(conditions)])
    references = files_named_by(conditions)
    with writing.opened("filter", plan.read, ledger, also_read=references) as output:
        sieve(plan, {WHOLE: output}, ledger, allow_empty=writing.allow_empty)
