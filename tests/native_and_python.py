"""Compares how the native core and Python read a row."""

import os
from array import array
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from prefpairs.engine import native
from prefpairs.engine.native import Core, native_core
from prefpairs.engine.pairs.pairs_from_files import entry_of
from prefpairs.engine.pairs.pairs_from_trainer_rows import unwrap
from prefpairs.engine.store.candidate_columns import Block, CandidateColumns, group_key
from prefpairs.errors import BadRecord, TwoReadings
from prefpairs.fields.pair_row import read_pair
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.candidate import Candidate
from prefpairs.model.marks import marks_of
from prefpairs.model.pair import make_pair, pair_line, pair_of_line
from prefpairs.sources import nemo_gym, source_named
from prefpairs.sources.base import RecordReader
from prefpairs.stages.pair_columns import PairColumns

LONGEST = 4_000_000
_OFFSET = 7

needs_core = pytest.mark.skipif(
    os.environ.get(native.VARIABLE) != "require" and native_core() is None,
    reason="the native core is not installed, or not wanted",
)
"""Marks tests of the core. If the core is required, a missing one is an error."""


def opened() -> RecordReader:
    """Reads NeMo Gym rollouts in Python alone; it has not been given to the engine yet."""
    return nemo_gym.open_reader([], ReadOptions(), "r.jsonl")


def core(how: RecordReader | None = None) -> Core:
    """A new reader of the core, for NeMo Gym unless another reader is given."""
    native_core()
    native = (how or opened()).native
    assert native
    return Core(native)


def read_by_python(line: bytes) -> RowOutcome | None:
    """The row as the general reader reads it; None if it is bad."""
    try:
        return nemo_gym.read_any_shape(line, ReadOptions(), "r.jsonl")
    except BadRecord:
        return None


def known(line: bytes) -> bool:
    """Whether the core can read a row; if so, its whole result equals Python's."""
    read = core().read(line, "")
    whole = None
    if read is not None:
        candidate, digest, noticed = read
        whole = RowOutcome([candidate], [1], noticed=noticed)
        assert repr(read_by_python(line)) == repr(whole)
        assert digest == _columns_of([candidate]).digest(0)
    return known_by(core(), line, whole)


def known_by(reader: Core, line: bytes, told: RowOutcome | None) -> bool:
    """Whether this reader of the core indexes a row; if so, its result equals Python's."""
    (found,) = reader.index([line], [_OFFSET], LONGEST)
    if isinstance(found, int):
        assert found == 0
        return False
    columns, rows, counts, items = found
    assert told is not None
    assert (rows, told.lost, told.pairs, told.row_lost) == (1, [], [], None)
    assert (counts, items) == (Counter(told.noticed), told.item or b"")
    assert Block(*columns) == _block_of(told.kept, len(line))
    for slot in range(len(told.kept)):
        paired(line, told.kept, reader, slot)
    return True


def known_like(sample: bytes, line: bytes, source: str) -> bool:
    """Whether the core, opened on a sample, indexes a row; if so, its result equals Python's."""
    with suppress(BadRecord, TwoReadings):
        how = source_named(source).open_reader([sample], ReadOptions(), "r.jsonl")
        told = None
        with suppress(BadRecord, TwoReadings):
            told = how._replace(fast_reader=None).read(line)
        return how.native is not None and known_by(core(how), line, told)
    return False


def paired(line: bytes, kept: list[Candidate], reader: Core, slot: int = 0) -> bool:
    """Whether the core pairs a row's candidate; if so, its line equals Python's.

    The candidate is paired with itself, so the line contains all that is read of both sides.
    """
    columns = _columns_of(kept, len(line))
    numbers = array("I", [slot])
    label, data = 'a "name".jsonl', b" " * _OFFSET + line
    maker = reader.pair_maker(1)
    asked = numbers, numbers, columns.by_name(), lambda _: (data, label)
    assert maker.begin(*asked, LONGEST, 1) == 1
    made = maker.made(0)
    if made == [(slot, slot)]:
        return False
    number = f"#{slot + 1}" if len(kept) > 1 else ""
    candidate = kept[slot]._replace(origin=kept[slot].origin or f"{label}:0{number}")
    ((written, *numbers_of_pair),) = made
    assert written == pair_line(make_pair(candidate, candidate))
    assert [array("d", column)[0] for column in numbers_of_pair] == [0.0, *[candidate.score] * 2]
    return True


def _columns_of(candidates: list[Candidate], length: int = 0) -> CandidateColumns:
    columns = CandidateColumns()
    columns.begin_file(0)
    columns.add_row(candidates, _OFFSET, length, 0)
    return columns


def _block_of(candidates: list[Candidate], length: int) -> Any:
    (block,) = _columns_of(candidates, length).blocks()
    assert block.group_keys == b"".join(dict.fromkeys(map(group_key, candidates)))
    return block


def written_pair(line: bytes) -> bytes:
    """A row's pair as prefpairs writes it, or the line itself if it is no pair."""
    try:
        return pair_line(read_pair(line, lambda row: unwrap(row, "auto")).pair)
    except (BadRecord, TwoReadings):
        return line


def pair_known(line: bytes) -> str:
    """Whether the core can read a pair: "as written" if its line can be copied, otherwise "known".

    If so, its whole result equals Python's.
    """
    (kind,), *columns = native_core().Pairs().index([line], LONGEST)
    if not kind:
        return ""
    read = read_pair(line, lambda row: unwrap(row, "auto"))
    assert (read.noticed, read.lost) == ([], None)
    expected, found = PairColumns(), PairColumns()
    expected.add([entry_of(read, 3, _OFFSET, len(line))])
    known = expected.numbers, expected.places, expected.lengths, expected.line_crcs
    numbers, places, lengths, crcs = (column.tobytes() for column in known)
    found.extend_bytes(numbers, places, lengths, *columns[:3], crcs, *columns[3:])
    assert repr(list(found)) == repr(list(expected))
    if kind > 1:
        assert line == pair_line(read.pair)
        assert repr(pair_of_line(line)) == repr(read.pair)
        assert not any(marks_of(read.pair.meta or {}))
        return "as written"
    return "known"
