"""What all steps counted, added up and held against each other: the ledger of the whole run."""

from collections import Counter
from collections.abc import Iterator

from prefpairs.engine.decide import may_flood
from prefpairs.engine.row_reader import Rows
from prefpairs.engine.runners.map_step import PieceReceipt
from prefpairs.engine.runners.reduce_step import PartReceipt, not_done, pieces_of
from prefpairs.engine.runners.step_plan import Work, reduce_name
from prefpairs.engine.source_choice import Formats
from prefpairs.errors import BadInput, BadRecord, NothingCameOut, TooManyPairs, TwoReadings
from prefpairs.ledger import FIRST_FEW, Ledger
from prefpairs.plan import ReadPlan
from prefpairs.sources import SOURCES
from prefpairs.strategies.options import MOST_PAIRS


def count_all(work: Work, ledger: Ledger) -> list[PartReceipt]:
    """Add up what all steps counted; raises what only all steps together show."""
    plan = work.plan.pair
    assert plan is not None
    formats = _count_rows(work, ledger)
    parts = [*_parts(work)]
    for part in parts:
        ledger.add_pair_counts(part.counts)
        ledger.groups_of_several_tasks += part.groups_of_several_tasks
    repeated = sum(part.repeated_items for part in parts)
    if repeated:
        ledger.noticed["repeated_item_id"] += repeated
    formats.facts.check_answers(lambda: sum(part.constant_groups for part in parts))
    if may_flood(plan) and ledger.pairs > MOST_PAIRS:
        raise TooManyPairs(ledger.pairs, MOST_PAIRS)
    if not ledger.pairs and not work.plan.write.allow_empty:
        raise NothingCameOut("pair")
    return parts


def _count_rows(work: Work, ledger: Ledger) -> Formats:
    read = work.plan.read
    assert isinstance(read, ReadPlan)
    ledger.skipped_files = [*read.skipped_files]
    ledger.reasons_to_keep, ledger.reasons_to_drop = read.options.keep_rows, read.options.drop_rows
    for note in read.notes:
        ledger.note(note)
    formats, sources = Formats(read, ledger), dict[int, set[str]]()
    for _, piece, receipt in pieces_of(work):
        label = read.inputs[piece.input].label
        _add_piece(ledger, label, receipt)
        sources.setdefault(piece.input, set()).update(receipt.sources)
        if not formats.join(receipt.facts, receipt.sources):
            _contradicted(formats, receipt, label)
    for number, given in enumerate(read.inputs):
        known = sources.get(number, set())
        ledger.sources += [(given.label, name) for name in SOURCES if name in known]
    formats.tell()
    Rows(read, ledger).settle()
    formats.settle()
    return formats


def _contradicted(formats: Formats, receipt: PieceReceipt, label: str) -> None:
    """Raise for rows that contradict those of earlier pieces."""
    try:
        formats.facts.add(tuple(receipt.facts))
    except TwoReadings as error:
        raise error.at(label) from None


def _add_piece(ledger: Ledger, label: str, receipt: PieceReceipt) -> None:
    ledger.add_row_counts(label, receipt.counts)
    for note in receipt.notes:
        ledger.note(note)
    ledger.rows_bad += receipt.bad.count
    ledger.bad_by_kind.update(receipt.bad.kinds)
    shown = Counter(error.kind for _, error in ledger.first_bad)
    for place, code, problem in receipt.bad.first:
        error = BadRecord(problem)
        error.code = code
        if shown[code] < FIRST_FEW:
            shown[code] += 1
            ledger.first_bad.append((place, error))


def _parts(work: Work) -> Iterator[PartReceipt]:
    """The receipt of every part; raises if one is missing, or has not the candidates it should."""
    expected = Counter[int]()
    for _, _, receipt in pieces_of(work):
        for bucket, place in receipt.slices.items():
            expected[bucket] += place.candidates
    for part in range(work.steps.parts):
        found = work.receipt(reduce_name(part), PartReceipt)
        if found is None:
            raise not_done(work, "reduce", part, work.steps.parts)
        if found.candidates != expected[part]:
            problem = f"part {part} has {found.candidates} candidates, not {expected[part]}"
            raise BadInput(work.results, problem, "remove it, and begin again")
        yield found
