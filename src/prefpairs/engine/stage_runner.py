"""Pairs through sieves: decided on by what is known of each, and written with their texts."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from prefpairs.engine.filed_pairs import FiledPairs, Keep
from prefpairs.engine.new_pairs import MadePairs
from prefpairs.engine.pair_writer import WHOLE, open_sink
from prefpairs.engine.plan import ExportPlan, SievePlan
from prefpairs.engine.record_fetch import Candidates, Library
from prefpairs.engine.row_reader import reading_rows
from prefpairs.errors import NothingCameOut
from prefpairs.fields.pair_row import PairReading
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.ledger.progress import Step
from prefpairs.stages.base import IndexedPair, PairReader
from prefpairs.stages.pair_columns import PairColumns
from prefpairs.stages.split_sides import SIDES, SideOwners

_TRY_EXACT = "on small inputs --exact fills every side"


def sieve(
    plan: SievePlan, outputs: Mapping[str, Output], ledger: Ledger, *, allow_empty: bool = False
) -> None:
    """Write the pairs that pass all sieves of the plan, each to the output of its side."""
    with open_pairs(plan, ledger, _wanted_again(plan)) as pairs:
        coming = pairs.entries()
        if _holds_back(plan):
            coming = _to_the_end(coming, ledger)
        entries = _sieved(coming, pairs, plan, ledger)
        parted = _parted(entries, pairs, plan, ledger)
        kept = SideOwners() if _may_leak(plan) else None
        if kept is not None and plan.export is not None:
            parted = _once_more(parted, pairs, plan.export, kept)
        with open_sink(outputs, ledger, plan.export, allow_empty=allow_empty, kept=kept) as sink:
            for entry, side in parted:
                written = sink.take(entry, pairs, side)
                if side in ledger.sides:
                    ledger.sides[side] += written
    _tell_empty_sides(plan, ledger)
    if not ledger.lines_written.total() and not allow_empty:
        raise NothingCameOut("pair")


@contextmanager
def open_pairs(plan: SievePlan, ledger: Ledger, keep: Keep) -> Iterator[FiledPairs | MadePairs]:
    """The pairs of the plan: those that it makes, or those that stand in its inputs.

    `keep` says what is wanted of the latter once they have passed.
    """
    if plan.pair is not None:
        with Candidates() as candidates:
            yield MadePairs(plan.pair, candidates, ledger)
            candidates.check()
        return
    with Library[PairReading]() as library, reading_rows(plan.read, ledger) as rows:
        yield FiledPairs(rows, library, ledger, keep=keep, temp_dir=plan.temp_dir)
        library.check()


def _holds_back(plan: SievePlan) -> bool:
    """Whether pairs wait somewhere until the last one has come."""
    held_back = any(sieve.holds_back for sieve in plan.sieves) or _may_leak(plan)
    return held_back or (plan.parting is not None and plan.parting.holds_back)


def _may_leak(plan: SievePlan) -> bool:
    """Whether pairs are split by something else than the prompt that a trainer will see."""
    return plan.export is not None and plan.parting is not None and plan.parting.seen is None


def _wanted_again(plan: SievePlan) -> Keep:
    """What is wanted of pairs after they have passed: lines only where most will be written."""
    if not _holds_back(plan):
        return "nothing"
    few = any(sieve.picks for sieve in plan.sieves)
    return "pairs" if few or plan.export is not None else "lines"


def _sieved(
    entries: Iterator[IndexedPair], texts: PairReader, plan: SievePlan, ledger: Ledger
) -> Iterator[IndexedPair]:
    """The entries that pass all sieves, one after the other."""
    for place, given in enumerate(plan.sieves):
        wanted = frozenset({"id"}).union(*(later.needs for later in plan.sieves[place + 1 :]))
        if plan.parting is not None:
            wanted |= plan.parting.needs
        stage = _stage_of(given.name, ledger)
        entries = given.select(_counted(entries, stage), texts, stage, wanted)
    return entries


def _parted(
    entries: Iterator[IndexedPair], texts: PairReader, plan: SievePlan, ledger: Ledger
) -> Iterator[tuple[IndexedPair, str]]:
    """The entries, each with its side."""
    if plan.parting is None:
        return ((entry, WHOLE) for entry in entries)
    stage = _stage_of(plan.parting.name, ledger)
    ledger.sides = dict.fromkeys(plan.parting.sides, 0)
    return plan.parting.sides_of(_counted(entries, stage), texts, stage)


def _once_more(
    parted: Iterator[tuple[IndexedPair, str]],
    texts: PairReader,
    export: ExportPlan,
    kept: SideOwners,
) -> Iterator[tuple[IndexedPair, str]]:
    """All entries and their sides, once it is known which side keeps each prompt that is seen."""
    from prefpairs.dataset.example import trainer_prompt_of

    store, sides = PairColumns({"id"}), bytearray()
    for entry, side in parted:
        seen = trainer_prompt_of(texts.pair(entry), export.target, export.options)
        if seen is not None:
            kept.add(seen, side)
        store.add(entry)
        sides.append(SIDES.index(side))
    for slot, place in enumerate(sides):
        yield store.indexed(slot), SIDES[place]


def _tell_empty_sides(plan: SievePlan, ledger: Ledger) -> None:
    """Say that a side came out empty, and why that may be."""
    stage = next((stage for stage in ledger.stages if stage.name == "split"), None)
    if stage is None or stage.notes or plan.parting is None or not ledger.pairs:
        return
    for side, pairs in ledger.sides.items():
        if not pairs and not stage.notes:
            why = "too few keys, or all of them hang together"
            why = why if plan.parting.exact else _TRY_EXACT
            stage.notes.append(f"{side} came out empty: {why}")


def _to_the_end(entries: Iterator[IndexedPair], ledger: Ledger) -> Iterator[IndexedPair]:
    """All entries; what is held back of them is dealt with when the last one has come."""
    yield from entries
    ledger.progress.begin_step(partial(_step_of_held_back, ledger))


def _step_of_held_back(ledger: Ledger) -> Step:
    """How many of the pairs that were held back are looked at once more, or written."""
    for stage in ledger.stages:
        if stage.compared < stage.to_compare:
            return Step("comparing", stage.compared, stage.to_compare, "pairs")
    return Step("writing", ledger.pairs, ledger.stages[-1].kept if ledger.stages else None, "pairs")


def _stage_of(name: str, ledger: Ledger) -> StageCounts:
    ledger.stages.append(StageCounts(name))
    return ledger.stages[-1]


def _counted(entries: Iterable[IndexedPair], stage: StageCounts) -> Iterator[IndexedPair]:
    for entry in entries:
        stage.found += 1
        yield entry
