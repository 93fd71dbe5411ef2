"""Pairs through stages, which decide by columns; texts are read when pairs are written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from prefpairs.engine.pairs.pair_io import WHOLE, Written, open_sink
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger, StageCounts, Step
from prefpairs.plan import ExportPlan, Plan
from prefpairs.stages.base import PairReader
from prefpairs.stages.pair_columns import PairColumns, some_at_a_time
from prefpairs.stages.split_sides import SIDES, SideOwners

if TYPE_CHECKING:
    from prefpairs.engine.pairs.pairs_from_files import Keep
    from prefpairs.stages.split import SplitFacts

Sided = tuple[PairColumns, Sequence[str]]
"""Pairs, and the side of each."""

_TRY_EXACT = "on small inputs --exact fills every side"


class Pairs(Written, Protocol):
    """Pairs that come in blocks."""

    def blocks(self) -> Iterator[PairColumns]:
        """The pairs, some at a time."""
        ...


def put_through_stages(
    plan: Plan,
    pairs: Pairs,
    outputs: Mapping[str, Output],
    ledger: Ledger,
    facts: "SplitFacts | None" = None,
) -> None:
    """Write the pairs that pass all stages, each for its side.

    If these are not all pairs of a run, `facts` collects what a split wants to know of all of them.
    """
    kept = SideOwners() if plan.may_leak else None
    blocks = _through_stages(plan, pairs, ledger, kept, facts)
    with open_sink(outputs, ledger, plan, kept) as sink:
        for block, sides in blocks:
            for side, written in sink.take(block, pairs, sides).items():
                if side in ledger.sides:
                    ledger.sides[side] += written


def _through_stages(
    plan: Plan,
    pairs: Pairs,
    ledger: Ledger,
    kept: SideOwners | None,
    facts: "SplitFacts | None",
) -> Iterator[Sided]:
    """The pairs that pass all stages, each with its side, in blocks."""
    coming = pairs.blocks()
    if _holds_back(plan):
        coming = _to_the_end(coming, ledger)
    sided = _split(staged(coming, pairs, plan, ledger), pairs, plan, ledger, facts)
    if kept is not None and plan.export is not None:
        sided = _once_more(sided, pairs, plan.export, kept)
    return sided


def _holds_back(plan: Plan) -> bool:
    """Whether pairs wait somewhere until the last one has come."""
    held_back = any(stage.holds_back for stage in plan.stages) or plan.may_leak
    return held_back or (plan.split is not None and plan.split.holds_back)


def wanted_again(plan: Plan) -> "Keep":
    """What is wanted of pairs after they have passed: lines only where most will be written."""
    if not _holds_back(plan):
        return "nothing"
    few = any(stage.picks for stage in plan.stages)
    return "pairs" if few or plan.export is not None else "lines"


def staged(
    blocks: Iterator[PairColumns],
    texts: PairReader,
    plan: Plan,
    ledger: Ledger,
    needed: frozenset[str] = frozenset(),
) -> Iterator[PairColumns]:
    """The pairs that pass all stages, one after the other, with digests that are needed later."""
    for place, given in enumerate(plan.stages):
        wanted = needed.union({"id"}, *(later.needs for later in plan.stages[place + 1 :]))
        if plan.split is not None:
            wanted |= plan.split.needs
        stage = _stage_of(given.name, ledger)
        blocks = given.select(counted(blocks, stage), texts, stage, wanted)
    return blocks


def _split(
    blocks: Iterator[PairColumns],
    texts: PairReader,
    plan: Plan,
    ledger: Ledger,
    facts: "SplitFacts | None",
) -> Iterator[Sided]:
    """The pairs, each with its side."""
    if plan.split is None:
        return ((block, [WHOLE] * len(block)) for block in blocks)
    stage = _stage_of(plan.split.name, ledger)
    ledger.sides = dict.fromkeys(plan.split.sides, 0)
    return plan.split.sides_of(counted(blocks, stage), texts, stage, facts)


def _once_more(
    sided: Iterator[Sided], texts: PairReader, export: ExportPlan, kept: SideOwners
) -> Iterator[Sided]:
    """All pairs and their sides, once it is known which side keeps each prompt that is seen."""
    from prefpairs.dataset.convert_pair import trainer_prompt_of

    store, sides = PairColumns({"id"}), bytearray()
    for block, given in sided:
        for entry, side in zip(block, given, strict=True):
            seen = trainer_prompt_of(texts.pair(entry), export.target, export.options)
            if seen is not None:
                kept.add(seen, side)
        store.extend(block)
        sides.extend(map(SIDES.index, given))
    for slots in some_at_a_time(range(len(store))):
        yield store.of(slots), [SIDES[sides[slot]] for slot in slots]


def note_empty_sides(plan: Plan, ledger: Ledger) -> None:
    """Say that a side came out empty, and why that may be."""
    stage = next((stage for stage in ledger.stages if stage.name == "split"), None)
    if stage is None or stage.notes or plan.split is None or not ledger.pairs:
        return
    for side, pairs in ledger.sides.items():
        if not pairs and not stage.notes:
            why = "too few keys, or all of them hang together"
            why = why if plan.split.exact else _TRY_EXACT
            stage.notes.append(f"{side} came out empty: {why}")


def _to_the_end(blocks: Iterator[PairColumns], ledger: Ledger) -> Iterator[PairColumns]:
    """All pairs; what is held back of them is dealt with when the last one has come."""
    yield from blocks
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


def counted(blocks: Iterable[PairColumns], stage: StageCounts) -> Iterator[PairColumns]:
    """The pairs that come to a stage, which are counted as they come."""
    for block in blocks:
        stage.found += len(block)
        yield block
