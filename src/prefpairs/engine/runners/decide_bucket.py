"""Steps that decide which pairs of a bucket survive `dedupe`."""

import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator

import msgspec

from prefpairs.engine.pairs.pairs_from_files import FILE_SHIFT, PairTexts, reader_of
from prefpairs.engine.runners.index_candidates import COLUMNS, SPOOL, Place
from prefpairs.engine.runners.index_pairs import IndexReceipt
from prefpairs.engine.runners.pair_pieces import pieces_of_step, source_of
from prefpairs.engine.runners.phases import Phase, step_name
from prefpairs.engine.runners.step_plan import Piece, Work
from prefpairs.errors import BadInput
from prefpairs.fields.pair_row import PairRowOutcome
from prefpairs.files.fetch_records import RecordFetcher, RecordFile
from prefpairs.files.file_system import errors_named
from prefpairs.files.input_file import Input
from prefpairs.ledger import StageCounts
from prefpairs.stages.pair_columns import PairColumns

SURVIVORS = "survivors"


class DecideReceipt(msgspec.Struct, array_like=True):
    """What became of the pairs of a bucket."""

    found: int
    dropped: dict[str, int]
    noticed: dict[str, int]
    survivors: dict[int, Place]
    """By the step that indexed them: their numbers there."""


class _Bucket:
    """The pairs of a bucket, as the steps before found them."""

    def __init__(
        self, work: Work, phase: Phase, bucket: int, records: RecordFetcher[PairRowOutcome]
    ) -> None:
        self._work = work
        self._phase = phase
        self._bucket = bucket
        self._records = records
        self._files: dict[tuple[str, int], int] = {}
        self._steps = array("I")
        self._firsts = array("Q")
        """Steps that have pairs here, and the number of the first pair of each."""
        self._own = array("I")
        """The number of each pair in its step."""

    def __len__(self) -> int:
        """The number of pairs that came."""
        return len(self._own)

    def blocks(self) -> Iterator[PairColumns]:
        """The pairs in the order of the input."""
        work, phase = self._work, self._phase
        for step, receipt in enumerate(work.receipts(phase, 0, IndexReceipt)):
            self._steps.append(step)
            self._firsts.append(len(self._own))
            pieces = zip(pieces_of_step(work, phase, step), receipt.pieces, strict=True)
            for piece, found in pieces:
                place = found.slices.get(self._bucket)
                if place is not None:
                    yield self._block(step, piece, place)

    def _block(self, step: int, piece: Piece, place: Place) -> PairColumns:
        """The pairs that came from a piece."""
        name = f"{step_name(self._phase.first, step)}/{COLUMNS}"
        content = self._work.folder.read_at(name, place.offset, place.length)
        block = PairColumns()
        try:
            block.extend_bytes(*msgspec.msgpack.decode(content, type=list[bytes]))
        except (ValueError, msgspec.DecodeError) as error:
            path = self._work.folder.at(name)
            raise BadInput(path, f"byte {place.offset}: {error}") from None
        file = self._file(step, piece) << FILE_SHIFT
        block.places = array("Q", map(file.__or__, block.places))
        first = len(self._own)
        self._own.extend(array("I", block.numbers))
        block.number_from(first)
        return block

    def _file(self, step: int, piece: Piece) -> int:
        """The number of the record file that the pairs of a piece are fetched from."""
        key = ("lines", piece.input) if piece.lines else ("spool", step)
        if key not in self._files:
            path = self._work.folder.at(f"{step_name(self._phase.first, step)}/{SPOOL}")
            source, dialect = Input(path, path), "auto"
            if piece.lines:
                source = source_of(self._work, self._phase, piece)
                dialect = self._work.plan.read.dialect if self._phase.reads is None else "auto"
            with errors_named(source.path):
                status = os.stat(source.path)
            if piece.lines and self._phase.reads is None:
                self._work.steps.inputs[piece.input].check(status)
            self._files[key] = self._records.add(RecordFile(source, status), reader_of(dialect))
        return self._files[key]

    def place_of(self, number: int) -> tuple[int, int]:
        """The step that indexed a pair, and its number there."""
        place = bisect_right(self._firsts, number) - 1
        return self._steps[place], self._own[number]


def decide_bucket(work: Work, phase: Phase, bucket: int) -> None:
    """Write the numbers of the pairs that survive, step by step; the receipt comes last."""
    name, stage = step_name(phase.first + 1, bucket), StageCounts("")
    work.folder.create(name)
    survivors: dict[int, array[int]] = {}
    with RecordFetcher[PairRowOutcome]() as records:
        pairs, texts = _Bucket(work, phase, bucket, records), PairTexts(records)
        dedupe = phase.dedupe
        assert dedupe is not None
        for block in dedupe.distinct(pairs.blocks(), texts, stage):
            for step, number in map(pairs.place_of, block.numbers):
                survivors.setdefault(step, array("I")).append(number)
        records.check()
    places, offset = {}, 0
    with work.folder.open(f"{name}/{SURVIVORS}") as output:
        for step, numbers in survivors.items():
            output.write(numbers.tobytes())
            places[step] = Place(offset, 4 * len(numbers), len(numbers))
            offset += 4 * len(numbers)
    receipt = DecideReceipt(len(pairs), stage.dropped, stage.noticed, places)
    work.write_receipt(name, receipt)
