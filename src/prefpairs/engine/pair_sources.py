"""Where the pairs of a run come from: they are made of rollouts, or read from files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from prefpairs.ledger import Ledger
from prefpairs.plan import Plan

if TYPE_CHECKING:
    from prefpairs.engine.new_pairs import NewPairs
    from prefpairs.engine.pair_store import Keep, PairStore


@contextmanager
def open_pairs(
    plan: Plan, ledger: Ledger, keep: "Keep | None" = None
) -> "Iterator[PairStore | NewPairs]":
    """The pairs of the plan: those that it makes, or those that its inputs hold.

    `keep` says what will be asked for after all of the latter have been read. If inputs belong to
    several sides, the side that keeps a prompt is read first, so that no pair has to wait.
    """
    if plan.pair is not None:
        from prefpairs.engine.candidate_store import CandidateStore
        from prefpairs.engine.new_pairs import NewPairs

        with CandidateStore(plan.pair) as store:
            yield NewPairs(plan.pair, store, ledger)
            store.check()
        return
    from prefpairs.engine.pair_store import PairStore
    from prefpairs.engine.record_store import RecordStore
    from prefpairs.engine.row_reader import reading_rows
    from prefpairs.engine.stage_runner import wanted_again
    from prefpairs.fields.pair_row import PairRowOutcome
    from prefpairs.stages.split_sides import owner_first

    read, sides = plan.read, plan.sides
    if len({*sides.values()}) > 1:
        inputs = sorted(read.inputs, key=lambda given: owner_first(sides[given]))
        read = replace(read, inputs=inputs)
    keep = wanted_again(plan) if keep is None else keep
    with RecordStore[PairRowOutcome]() as records, reading_rows(read, ledger) as rows:
        yield PairStore(rows, records, keep=keep, temp_dir=plan.temp_dir, sides=sides)
        records.check()
