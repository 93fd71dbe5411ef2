"""What the last round of a phase writes: pairs that passed all stages, and what was counted."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

import msgspec

from prefpairs.dataset.row_forms import RowForm, RowsLeft
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.engine.runners.phases import Phase, step_name
from prefpairs.engine.runners.step_plan import Work
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.output import Output
from prefpairs.ledger import PAIRING, Ledger, PairCounts, StageCounts
from prefpairs.plan import Plan
from prefpairs.stages.split import SplitFacts
from prefpairs.stages.split_sides import SIDES

KEYS, BETWEEN = "keys", "pairs.jsonl"
"""The keys of a split, and pairs for the next phase."""

_BYTES = 256


class Written(msgspec.Struct, array_like=True):
    """A file of a part."""

    name: str
    size: int
    sha256: str
    records: int | None
    """How many rows it has; None for the files around them."""


class StageReceipt(msgspec.Struct, array_like=True):
    """What a stage did with the pairs of a step."""

    name: str
    found: int
    dropped: dict[str, int]
    noticed: dict[str, int]


class Wrote(msgspec.Struct, array_like=True):
    """What a step wrote, and what became of its pairs."""

    files: list[Written]
    counts: PairCounts
    stages: list[StageReceipt]
    sides: dict[str, int]
    fields: list[str]
    """Fields of pairs without a key."""
    keys: list[list[int]]
    """For each side, how many of its keys begin with each byte; they are in the file `keys`."""
    forms: dict[str, list[RowForm]] = {}
    """For each side of a dataset, what is known of the rows that are to be arranged."""
    leaked: dict[str, int] = {}
    """How many pairs of each side were dropped because another side keeps their prompt."""


class StepOutput(NamedTuple):
    """Where a step writes, and what it counts."""

    outputs: Mapping[str, Output]
    ledger: Ledger
    facts: SplitFacts
    left: RowsLeft

    def leaving(self, plan: Plan) -> Plan:
        """A plan whose rows, if they are those of a trainer, are left for other steps."""
        if plan.export is None:
            return plan
        return replace(plan, export=replace(plan.export, left=self.left))

    def add(self, ledger: Ledger) -> None:
        """Add what was counted while pairs of a piece were written."""
        self.ledger.add_pair_counts(ledger.pair_counts())
        add_stages(self.ledger.stages, ledger.stages)
        for side, pairs in ledger.sides.items():
            self.ledger.sides[side] = self.ledger.sides.get(side, 0) + pairs


def write_output(work: Work, phase: Phase, step: int, put: Callable[[StepOutput], None]) -> Wrote:
    """Open the outputs of a step, and say what came into them."""
    folder = step_name(phase.last, step)
    names = _names(phase, step)
    paths = {side: work.folder.at(f"{folder}/{name}") for side, name in names.items()}
    work.folder.create(folder)
    ledger, facts, left = Ledger(), SplitFacts(), RowsLeft(step)
    with FileTransaction(hashed=True) as transaction:
        with ExitStack() as opened:
            outputs = {
                side: opened.enter_context(work.folder.open(f"{folder}/{name}", transaction))
                for side, name in names.items()
            }
            put(StepOutput(outputs, ledger, facts, left))
        files = [
            Written(names[side], *transaction.digest_of(path), ledger.lines_written[side])
            for side, path in paths.items()
        ]
    keys = []
    if phase.plan.split is not None:
        keys = write_keys(work, f"{folder}/{KEYS}", facts)
    counts = ledger.pair_counts()._replace(example=None)
    return Wrote(
        files,
        counts if phase.is_last else _without_pairs(counts),
        stage_receipts(ledger.stages),
        ledger.sides,
        facts.fields,
        keys,
        left.forms,
        left.leaked,
    )


def _without_pairs(counts: PairCounts) -> PairCounts:
    """The counts of groups; pairs are counted by the phase that writes them at last."""
    return (
        Ledger()
        .pair_counts()
        ._replace(
            candidates_dropped=counts.candidates_dropped,
            groups=counts.groups,
            groups_without_pair=counts.groups_without_pair,
            pairing=counts.pairing,
        )
    )


def _names(phase: Phase, step: int) -> dict[str, str]:
    """The name of the file of each side."""
    if not phase.is_last:
        return {WHOLE: BETWEEN}
    parts = phase.sizes[-1]
    return {side: part_name(step, parts, name) for side, name in sides_of(phase.plan).items()}


def sides_of(plan: Plan) -> dict[str, str]:
    """The sides that a plan writes, each with the name of its parts."""
    if plan.split is not None:
        return {side: side for side in plan.split.sides}
    if plan.export is None:
        return {WHOLE: "part"}
    used = {*plan.sides.values()} or {WHOLE}
    return {side: side or "train" for side in (WHOLE, *SIDES) if side in used}


def part_name(part: int, parts: int, side: str = "part") -> str:
    """The name of a file of the results.

    >>> part_name(42, 256), part_name(0, 8, "train")
    ('part-00042-of-00256.jsonl', 'train-00000-of-00008.jsonl')
    """
    return f"{side}-{part:05}-of-{parts:05}.jsonl"


def write_keys(work: Work, name: str, facts: SplitFacts) -> list[list[int]]:
    """Write the keys that were drawn, sorted, side by side; how many begin with each byte."""
    counted = []
    with work.folder.open(name) as output:
        for side in range(len(SIDES)):
            keys = [] if facts.drawn is None else facts.drawn.drawn_for(side)
            counts = [0] * _BYTES
            for key in keys:
                counts[key[0]] += 1
            output.write(b"".join(keys))
            counted.append(counts)
    return counted


def stage_receipts(stages: Iterable[StageCounts]) -> list[StageReceipt]:
    """The counts of stages, without those of pairing, which are among the counts of groups."""
    return [
        StageReceipt(stage.name, stage.found, stage.dropped, stage.noticed)
        for stage in stages
        if stage.name != PAIRING
    ]


def add_stages(stages: list[StageCounts], receipts: Iterable[StageCounts | StageReceipt]) -> None:
    """Add what stages did elsewhere to the same stages here."""
    for place, receipt in enumerate(receipts):
        if place == len(stages):
            stages.append(StageCounts(receipt.name))
        stages[place].found += receipt.found
        stages[place].dropped.update(receipt.dropped)
        stages[place].noticed.update(receipt.noticed)
