"""The columns of candidates, divided into buckets by their groups.

A bucket has all candidates of its groups. The buckets are in the order of the groups' keys, so the
pairs of all buckets, one bucket after the other, are the pairs of all groups in that order.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, repeat
from typing import Any

import msgspec

from prefpairs.engine.inputs.candidate_reader import CandidateReader
from prefpairs.engine.store.candidate_columns import QUESTION, Block, CandidateColumns
from prefpairs.model.identity import DIGEST


class Slice(msgspec.Struct, array_like=True):
    """What a piece of the input has for one bucket."""

    block: Block | None = None
    """Its candidates, if there are any; lines are counted within the piece."""
    items: bytes = b""
    """The digests of rows that should not occur twice."""

    def __len__(self) -> int:
        """The number of candidates."""
        return 0 if self.block is None else len(self.block.scores) // 8


def bucket_of(key: bytes, buckets: int) -> int:
    """The bucket of a key. Larger keys never have lower buckets.

    >>> [bucket_of(bytes([first]) * 16, 4) for first in (0, 63, 64, 255)]
    [0, 0, 1, 3]
    """
    return int.from_bytes(key[:8], "big") * buckets >> 64


def slices_of(
    columns: CandidateColumns, reader: CandidateReader, lines_before: int, buckets: int
) -> Iterator[tuple[int, Slice]]:
    """What a piece has for each bucket, of which so many lines of its file come before it."""
    key_of, given = columns.keys.__getitem__, columns.by_name()
    order = sorted(range(columns.groups), key=key_of)
    compared = _compared(reader, buckets)
    for bucket, groups in groupby(order, key=lambda group: bucket_of(key_of(group), buckets)):
        found = compared.pop(bucket, Slice())
        _add_candidates(found, columns, given, [(key_of(group), group) for group in groups])
        if lines_before and found.block is not None:
            lines = array("I", found.block.lines)
            lines = array("I", map((-lines_before).__add__, lines))
            found.block = found.block._replace(lines=lines.tobytes())
        yield bucket, found
    yield from compared.items()


def _compared(reader: CandidateReader, buckets: int) -> dict[int, Slice]:
    """What has to be compared with the rows of other pieces, by bucket."""
    slices: dict[int, Slice] = {}
    for item in sorted(reader.items):
        slices.setdefault(bucket_of(item, buckets), Slice()).items += item
    return slices


def _add_candidates(
    found: Slice,
    columns: CandidateColumns,
    given: Mapping[str, Any],
    groups: Sequence[tuple[bytes, int]],
) -> None:
    """Add the candidates of groups, which come with their keys, to a slice."""
    by_group, starts = given["by_group"]
    numbers, own = array("I"), array("I")
    for place, (_, group) in enumerate(groups):
        members = by_group[starts[group] : starts[group + 1]]
        numbers.extend(members)
        own.extend(repeat(place, len(members)))
    slots = given["slots"]

    def taken(name: str) -> bytes:
        column = given[name]
        return array(column.typecode, map(column.__getitem__, numbers)).tobytes()

    def slot(number: int) -> int:
        return slots[number] if number < len(slots) else 0

    found.block = Block(
        groups=own.tobytes(),
        group_keys=b"".join(key for key, _ in groups),
        questions=b"".join(
            given["questions"][QUESTION * group : QUESTION * (group + 1)] for _, group in groups
        ),
        scores=taken("scores"),
        digests=b"".join(map(columns.digest, numbers)),
        indexes=taken("indexes"),
        offsets=taken("offsets"),
        lengths=taken("lengths"),
        slots=b"" if slots is None else array("I", map(slot, numbers)).tobytes(),
        lines=taken("lines"),
        references=columns.references.of(group for _, group in groups),
        task_marks=columns.task_marks.of(group for _, group in groups),
        tasks=b"".join(map(columns.task, numbers)) if given["tasks"] else b"",
    )


def join_slice(columns: CandidateColumns, found: Slice, lines_before: int) -> None:
    """Add the candidates of a slice to those of the record file that the columns are at."""
    if found.block is not None:
        columns.add_block(found.block, array("I"), lines_before)


class RowsCompared:
    """What only all pieces together show about rows: it is counted bucket by bucket."""

    def __init__(self) -> None:
        self._items: set[bytes] = set()
        self.repeated_items = 0
        """Rows whose digest occurs in an earlier piece, too."""

    def add(self, found: Slice) -> None:
        """Compare the rows of one more piece with those of the earlier ones."""
        for item in _digests(found.items):
            self.repeated_items += item in self._items
            self._items.add(item)


def _digests(joined: bytes) -> Iterator[bytes]:
    return (joined[place : place + DIGEST] for place in range(0, len(joined), DIGEST))
