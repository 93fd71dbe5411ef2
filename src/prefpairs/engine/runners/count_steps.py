"""What all steps counted, added up and held against each other: the ledger of the whole run."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from prefpairs.engine.decide import may_flood
from prefpairs.engine.row_reader import Rows
from prefpairs.engine.runners.map_step import PieceReceipt
from prefpairs.engine.runners.piece_steps import IS_EMPTY, RowsReceipt, add_stages
from prefpairs.engine.runners.reduce_step import PartReceipt, Written, not_done, pieces_of
from prefpairs.engine.runners.step_plan import Piece, Work, reduce_name
from prefpairs.engine.source_choice import Formats
from prefpairs.errors import BadInput, BadRecord, NothingCameOut, TooManyPairs, TwoReadings
from prefpairs.fields.cross_row_facts import CrossRowFacts
from prefpairs.ledger import FIRST_FEW, Ledger
from prefpairs.plan import ReadPlan
from prefpairs.sources import SOURCES
from prefpairs.sources.detect import PAIRS
from prefpairs.strategies.options import MOST_PAIRS

T = TypeVar("T")


def count_all(work: Work, ledger: Ledger) -> list[Written]:
    """Add up what all steps counted; raises what only all steps together show."""
    plan = work.plan
    counted = _count_rows(work, ledger) if plan.pair is None else _count_pairing(work, ledger)
    came_out = ledger.candidates_kept if plan.makes == "candidates" else ledger.pairs
    if not came_out and not plan.write.allow_empty:
        raise NothingCameOut(plan.makes.removesuffix("s"))
    return counted


def _count_rows(work: Work, ledger: Ledger) -> list[Written]:
    """Count the steps of a command that treats every row alike."""
    parts = [_receipt_of(work, part, RowsReceipt) for part in range(work.steps.parts)]
    pieces = zip(work.steps.pieces, parts, strict=True)
    _count_pieces(
        work,
        ledger,
        (found for planned, part in pieces for found in zip(planned, part.pieces, strict=True)),
    )
    for part in parts:
        ledger.add_pair_counts(part.counts)
        add_stages(ledger, part.stages)
    return [part.written for part in parts]


def _count_pairing(work: Work, ledger: Ledger) -> list[Written]:
    """Count the steps of `pair`."""
    plan = work.plan.pair
    assert plan is not None
    facts = _count_pieces(work, ledger, ((piece, found) for _, piece, found in pieces_of(work)))
    parts = [*_parts(work)]
    for part in parts:
        ledger.add_pair_counts(part.counts)
        ledger.groups_of_several_tasks += part.groups_of_several_tasks
    repeated = sum(part.repeated_items for part in parts)
    if repeated:
        ledger.noticed["repeated_item_id"] += repeated
    facts.check_answers(lambda: sum(part.constant_groups for part in parts))
    if may_flood(plan) and ledger.pairs > MOST_PAIRS:
        raise TooManyPairs(ledger.pairs, MOST_PAIRS)
    return [part.written for part in parts]


def _count_pieces(
    work: Work, ledger: Ledger, pieces: Iterable[tuple[Piece, PieceReceipt]]
) -> CrossRowFacts:
    """Count the rows of all pieces; the facts that they show together."""
    read = work.plan.read
    ledger.skipped_files = [*read.skipped_files]
    for note in read.notes:
        ledger.note(note)
    formats = None
    if isinstance(read, ReadPlan):
        formats = Formats(read, ledger)
        ledger.reasons_to_keep = read.options.keep_rows
        ledger.reasons_to_drop = read.options.drop_rows
    sources = dict[int, set[str]]()
    every = [*pieces]
    last = {piece.input: place for place, (piece, _) in enumerate(every)}
    for place, (piece, receipt) in enumerate(every):
        label = read.inputs[piece.input].label
        _add_piece(ledger, label, receipt)
        sources.setdefault(piece.input, set()).update(receipt.sources)
        rows = ledger.rows_by_input.get(label)
        if work.plan.pair is None and place == last[piece.input] and not rows:
            ledger.note(f"{label}{IS_EMPTY}")
        if formats is not None and not formats.join(receipt.facts, receipt.sources):
            _contradicted(formats, receipt, label)
    for number, given in enumerate(read.inputs):
        known = sources.get(number, set())
        ledger.sources += [(given.label, name) for name in (*SOURCES, PAIRS) if name in known]
    if formats is not None:
        formats.tell()
    Rows(read, ledger).settle()
    if formats is None:
        return CrossRowFacts()
    formats.settle()
    return formats.facts


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
        found = _receipt_of(work, part, PartReceipt)
        if found.candidates != expected[part]:
            problem = f"part {part} has {found.candidates} candidates, not {expected[part]}"
            raise BadInput(work.results, problem, "remove it, and begin again")
        yield found


def _receipt_of(work: Work, part: int, kind: type[T]) -> T:
    """The receipt of a part; raises if it is missing."""
    found = work.receipt(reduce_name(part), kind)
    if found is None:
        raise not_done(work, "reduce", part, work.steps.parts)
    return found
