"""The columns of candidates, divided into buckets by their groups.

A bucket has all candidates of its groups. The buckets are in the order of the groups' keys, so the
pairs of all buckets, one bucket after the other, are the pairs of all groups in that order.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import groupby, repeat

import msgspec

from prefpairs.engine.candidate_columns import Block, CandidateColumns
from prefpairs.engine.candidate_reader import CandidateReader
from prefpairs.model.identity import DIGEST, digest


class Slice(msgspec.Struct, array_like=True):
    """What a piece of the input has for one bucket."""

    block: Block | None = None
    """Its candidates, if there are any; lines are counted within the piece."""
    tasks: dict[int, bytes] = {}
    """The tasks of candidates whose groups do not name them, by their places in the block."""
    items: bytes = b""
    """The digests of rows that should not occur twice."""
    named: list[tuple[bytes, bytes, bool]] = []
    """Names of groups that do not name their task, the first task of each, and whether there are
    more of them."""

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
) -> dict[int, Slice]:
    """What a piece has for each bucket, of which so many lines of its file come before it."""
    slices: dict[int, Slice] = {}
    keys = columns.group_keys()
    order = sorted(range(len(keys)), key=keys.__getitem__)
    for bucket, groups in groupby(order, key=lambda group: bucket_of(keys[group], buckets)):
        slices[bucket] = _of_groups(columns, [*groups], lines_before)
    for item in sorted(reader.items):
        slices.setdefault(bucket_of(item, buckets), Slice()).items += item
    for group, task in sorted(reader.task_of.items()):
        name, own = digest("name", group.encode()), digest("task", task.encode())
        found = slices.setdefault(bucket_of(name, buckets), Slice())
        found.named = [*found.named, (name, own, group in reader.groups_of_several_tasks)]
    return slices


def _of_groups(columns: CandidateColumns, groups: Sequence[int], lines_before: int) -> Slice:
    given = columns.by_name()
    by_group, starts = given["by_group"]
    numbers, own = array("I"), array("I")
    for place, group in enumerate(groups):
        members = by_group[starts[group] : starts[group + 1]]
        numbers.extend(members)
        own.extend(repeat(place, len(members)))
    keys, questions = columns.group_keys(), given["questions"]
    size = 3 * DIGEST
    slots = given["slots"]
    slots = None if slots is None else [slots[n] if n < len(slots) else 0 for n in numbers]

    def taken(name: str) -> "array[int]":
        column = given[name]
        return array(column.typecode, map(column.__getitem__, numbers))

    block = Block(
        own.tobytes(),
        b"".join(keys[group] for group in groups),
        b"".join(questions[size * group : size * (group + 1)] for group in groups),
        taken("scores").tobytes(),
        b"".join(map(columns.digest, numbers)),
        taken("indexes").tobytes(),
        taken("offsets").tobytes(),
        taken("lengths").tobytes(),
        b"" if slots is None else array("I", slots).tobytes(),
        array("I", [max(0, line - lines_before) for line in taken("lines")]).tobytes(),
    )
    tasks = {
        place: columns.task_of[number].to_bytes(DIGEST)
        for place, number in enumerate(numbers if columns.task_of else ())
        if number in columns.task_of
    }
    return Slice(block, tasks)


def join_slice(columns: CandidateColumns, found: Slice, lines_before: int) -> None:
    """Add the candidates of a slice to those of the record file that the columns are at."""
    if found.block is None:
        return
    first = len(columns)
    columns.add_block(found.block, array("I"), lines_before)
    for place, task in found.tasks.items():
        columns.task_of[first + place] = int.from_bytes(task)


class RowsCompared:
    """What only all pieces together show about rows: it is counted bucket by bucket."""

    def __init__(self) -> None:
        self._items: set[bytes] = set()
        self._task_of: dict[bytes, bytes] = {}
        self._several: set[bytes] = set()
        self.repeated_items = 0
        """Rows whose digest occurs in an earlier piece, too."""

    @property
    def groups_of_several_tasks(self) -> int:
        """How many names of groups have several tasks."""
        return len(self._several)

    def add(self, found: Slice) -> None:
        """Compare the rows of one more piece with those of the earlier ones."""
        for item in _digests(found.items):
            self.repeated_items += item in self._items
            self._items.add(item)
        for name, task, several in found.named:
            if several or self._task_of.setdefault(name, task) != task:
                self._several.add(name)


def _digests(joined: bytes) -> Iterator[bytes]:
    return (joined[place : place + DIGEST] for place in range(0, len(joined), DIGEST))
