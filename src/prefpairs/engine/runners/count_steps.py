"""What all steps counted, added up and held against each other: the ledger of the whole run."""

from collections import Counter
from collections.abc import Iterable, Iterator

from prefpairs.engine.inputs.row_reader import Rows
from prefpairs.engine.inputs.source_choice import Formats
from prefpairs.engine.pairs.stage_runner import note_empty_sides
from prefpairs.engine.runners.count_keys import keys_of_sides
from prefpairs.engine.runners.decide_bucket import DecideReceipt
from prefpairs.engine.runners.index_candidates import IS_EMPTY, PieceReceipt
from prefpairs.engine.runners.index_pairs import IndexReceipt
from prefpairs.engine.runners.pair_bucket import PairReceipt, pieces_of
from prefpairs.engine.runners.phases import DATASET, DEDUPE, PAIR, Phase, step_name
from prefpairs.engine.runners.step_output import Written, Wrote, add_stages, sides_of
from prefpairs.engine.runners.step_plan import Piece, Work
from prefpairs.engine.runners.write_rows import RowsReceipt
from prefpairs.engine.runners.write_survivors import SurvivorsReceipt
from prefpairs.engine.store.decide import may_flood
from prefpairs.errors import BadInput, BadRecord, NothingCameOut, TooManyPairs, TwoReadings
from prefpairs.fields.cross_row_facts import CrossRowFacts
from prefpairs.ledger import FIRST_FEW, Ledger, StageCounts
from prefpairs.plan import ReadPlan
from prefpairs.sources import SOURCES
from prefpairs.sources.detect import PAIRS
from prefpairs.stages.split import SplitFacts
from prefpairs.strategies.options import MOST_PAIRS


def count_all(work: Work, ledger: Ledger) -> list[tuple[str, Written]]:
    """Add up what all steps counted; raises what only all steps together show.

    The files of the results, each with the folder of its step.
    """
    plan = work.plan
    wrote: list[Wrote] = []
    for phase in work.phases:
        if phase.kind == DATASET:
            wrote = [*work.receipts(phase, 0, Wrote)]
        elif phase.kind == DEDUPE:
            wrote = _count_dedupe(work, phase, ledger, wrote)
        else:
            wrote = (_count_pairing if phase.kind == PAIR else _count_rows)(work, phase, ledger)
    came_out = ledger.candidates_kept if plan.makes == "candidates" else ledger.pairs
    if not came_out and not plan.write.allow_empty:
        raise NothingCameOut(plan.makes.removesuffix("s"))
    last = work.phases[-1]
    files = [
        (step_name(last.last, step), file)
        for step, written in enumerate(wrote)
        for file in written.files
    ]
    if plan.export is not None:
        from prefpairs.engine.runners.conclude import conclude

        files += conclude(work, ledger, wrote)
    return files


def _count_rows(work: Work, phase: Phase, ledger: Ledger) -> list[Wrote]:
    """Count the steps of a phase that treats every row alike."""
    parts = [*work.receipts(phase, 1, RowsReceipt)]
    pieces = zip(work.steps.pieces, parts, strict=True)
    _count_pieces(
        work,
        ledger,
        (found for planned, part in pieces for found in zip(planned, part.pieces, strict=True)),
    )
    return _count_wrote(work, phase, ledger, [part.wrote for part in parts])


def _count_pairing(work: Work, phase: Phase, ledger: Ledger) -> list[Wrote]:
    """Count the steps of `pair`."""
    plan = work.plan.pair
    assert plan is not None
    found = pieces_of(work, phase)
    facts = _count_pieces(work, ledger, ((piece, receipt) for _, piece, receipt in found))
    parts = [*_parts(work, phase)]
    wrote = _count_wrote(work, phase, ledger, [part.wrote for part in parts])
    ledger.groups_of_several_tasks = sum(part.groups_of_several_tasks for part in parts)
    repeated = sum(part.repeated_items for part in parts)
    if repeated:
        ledger.noticed["repeated_item_id"] += repeated
    facts.check_answers(lambda: sum(part.constant_groups for part in parts))
    mixed = Counter[str]()
    for part in parts:
        mixed.update(part.mixed_references)
    facts.check_references(mixed, plan.read.options)
    made = sum(part.pairs for part in parts)
    if may_flood(plan) and made > MOST_PAIRS:
        raise TooManyPairs(made, MOST_PAIRS)
    return wrote


def _count_dedupe(work: Work, phase: Phase, ledger: Ledger, read: list[Wrote]) -> list[Wrote]:
    """Count the steps of a phase that compares pairs, and reads what an earlier one wrote."""
    indexed = [*work.receipts(phase, 0, IndexReceipt)]
    if phase.reads is None:
        pieces = zip(work.steps.pieces, indexed, strict=True)
        _count_pieces(
            work,
            ledger,
            (found for planned, step in pieces for found in zip(planned, step.pieces, strict=True)),
        )
    else:
        for step, (receipt, wrote) in enumerate(zip(indexed, read, strict=True)):
            _compare(
                work,
                f"step {step}",
                sum(it.counts.used for it in receipt.pieces),
                wrote.files[0].records or 0,
            )
    compared, survived = Counter[int](), Counter[int]()
    for receipt in indexed:
        for piece in receipt.pieces:
            compared.update({bucket: place.count for bucket, place in piece.slices.items()})
    stages: list[StageCounts] = []
    for receipt in indexed:
        add_stages(stages, receipt.stages)
    for bucket, decided in enumerate(work.receipts(phase, 1, DecideReceipt)):
        _compare(work, f"bucket {bucket}", decided.found, compared[bucket])
        stages[-1].dropped.update(decided.dropped)
        stages[-1].noticed.update(decided.noticed)
        survived.update({step: place.count for step, place in decided.survivors.items()})
    ledger.stages += stages
    parts = [*work.receipts(phase, 2, SurvivorsReceipt)]
    for step, part in enumerate(parts):
        _compare(work, f"part {step}", part.found, survived[step])
    return _count_wrote(work, phase, ledger, [part.wrote for part in parts])


def _compare(work: Work, what: str, found: int, expected: int) -> None:
    """Raise if pairs got lost between steps."""
    if found != expected:
        problem = f"{what} has {found} pairs, not {expected}"
        raise BadInput(work.results, problem, "remove it, and begin again")


def _count_wrote(work: Work, phase: Phase, ledger: Ledger, wrote: list[Wrote]) -> list[Wrote]:
    """Count what the last round of a phase wrote."""
    stages: list[StageCounts] = []
    sides, fields = Counter[str](), SplitFacts()
    for step in wrote:
        ledger.add_pair_counts(step.counts)
        add_stages(stages, step.stages)
        sides.update(step.sides)
        fields.add_fields(step.fields)
    ledger.stages += stages
    split = phase.plan.split
    if split is not None:
        ledger.sides = {side: sides[side] for side in split.sides}
        split.note(keys_of_sides(work, phase, wrote), fields, stages[-1])
        note_empty_sides(phase.plan, ledger)
    elif phase.plan.sides:
        ledger.sides = {side: sides[side] for side in sides_of(phase.plan)}
    return wrote


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
        if place == last[piece.input] and not rows:
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


def _parts(work: Work, phase: Phase) -> Iterator[PairReceipt]:
    """The receipt of every part; raises if one is missing, or has not the candidates it should."""
    expected = Counter[int]()
    for _, _, receipt in pieces_of(work, phase):
        for bucket, place in receipt.slices.items():
            expected[bucket] += place.count
    for part, found in enumerate(work.receipts(phase, 1, PairReceipt)):
        if found.candidates != expected[part]:
            problem = f"part {part} has {found.candidates} candidates, not {expected[part]}"
            raise BadInput(work.results, problem, "remove it, and begin again")
        yield found
