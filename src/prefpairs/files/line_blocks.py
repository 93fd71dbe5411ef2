"""Rows by the block: some hundred kilobytes of lines, for readers that take many at a time."""

from collections.abc import Callable, Iterator
from itertools import accumulate, compress
from typing import NamedTuple

from prefpairs.files import lines as input_lines
from prefpairs.files.input_file import Input
from prefpairs.files.lines import LongLine, Record, blocks_of, lines_between, lines_of, record_of
from prefpairs.files.nonblocking import CountBytes
from prefpairs.files.open_input import InputErrorsNamed, OpenInput


class LineBlock(NamedTuple):
    """The lines of rows that follow each other, and where they begin; `record` has all of a row."""

    lines: list[bytes]
    offsets: list[int]
    record: Callable[[int], Record]


def record_blocks(records: Iterator[Record]) -> Iterator[LineBlock]:
    """Records of any input; those that cannot be read have an empty line."""
    for block in blocks_of(records):
        lines = [b"" if record.refused else record.data for record in block]
        yield LineBlock(lines, [record.offset for record in block], block.__getitem__)


def line_blocks(
    source: Input, opened: OpenInput, start: int, passed: CountBytes
) -> Iterator[LineBlock]:
    """The lines of a file from an offset on, without blank ones, and without a record for each."""
    longest = source.limits.line
    with InputErrorsNamed(source):
        lines = lines_between(opened.descriptor, start, opened.size, longest, passed)
        offset, number = start, 1
        try:
            while block := lines.readlines(input_lines.AT_ONCE):
                yield from _with_lines(block, offset, number, longest)
                offset += sum(map(len, block))
                number += len(block)
        except LongLine:
            lines.seek(offset)
            rest = lines_of(lines, offset, longest, blank=False)
            yield from record_blocks(
                record._replace(number=number - 1 + record.number) for record in rest
            )


def _with_lines(lines: list[bytes], start: int, first: int, longest: int) -> Iterator[LineBlock]:
    """The block of these lines, unless all of them are blank."""
    offsets = [*accumulate(map(len, lines[:-1]), initial=start)]
    numbers = [*range(first, first + len(lines))]
    rows = [not (line.isspace() and len(line) <= longest) for line in lines]
    if not all(rows):
        lines, offsets, numbers = ([*compress(all_, rows)] for all_ in (lines, offsets, numbers))

    def record(slot: int) -> Record:
        return record_of(numbers[slot], offsets[slot], lines[slot][: longest + 1], longest)

    if lines:
        yield LineBlock(lines, offsets, record)
