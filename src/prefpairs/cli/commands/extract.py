"""prefpairs extract: rollouts to candidates."""

from prefpairs.cli.read_options import ReadWords
from prefpairs.cli.write_options import WriteWords
from prefpairs.engine.extract import extract as run
from prefpairs.ledger import Ledger


def extract(*, reading: ReadWords, writing: WriteWords) -> None:
    """Rollouts to candidates: one scored answer a line.

    Candidates are what `pair` reads; put your own filters between the two.

    Memory: constant; one pass over the input.

        prefpairs extract rollouts.jsonl -o candidates.jsonl

        # with a filter of your own before pairs are made
        prefpairs extract runs/*.jsonl | jq -c 'select(.score < 1)' | prefpairs pair
    """
    ledger = Ledger()
    plan = reading.plan(ledger)
    with writing.opened("extract", plan, ledger, also_read=reading.references()) as output:
        run(plan, output, ledger, allow_empty=writing.allow_empty)
