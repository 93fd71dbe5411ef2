"""Rows by the block are the rows that come one by one."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.files import lines as input_lines
from prefpairs.files import open_input as open_input_module
from prefpairs.files.input_paths import find_inputs
from prefpairs.files.line_blocks import LineBlock, line_blocks, record_blocks
from prefpairs.files.lines import Record, Refused
from prefpairs.files.open_input import open_input

_LINES = [b"\n", b" \t\n", b"\r\n", b"{}\n", b'{"a":1}\n', b"x" * 30 + b"\n", b" " * 30 + b"\n"]


def _records_in(block: LineBlock) -> list[Record]:
    records = [block.record(slot) for slot in range(len(block.lines))]
    assert [record.offset for record in records] == block.offsets
    assert all(line.startswith(r.data) for line, r in zip(block.lines, records, strict=True))
    return records


@examples(300)
@given(
    lines=st.lists(st.sampled_from(_LINES), max_size=12),
    last=st.sampled_from([b"", b"{}", b" ", b"x" * 30]),
    longest=st.sampled_from([8, 29, 31, 1000]),
    at_once=st.sampled_from([1, 20, 1000]),
    buffer=st.sampled_from([16, 1 << 18]),
)
def test_lines_are_the_records(
    lines: list[bytes], last: bytes, longest: int, at_once: int, buffer: int
) -> None:
    """Numbers, offsets, bytes and lines that are too long; all bytes are counted once."""
    content = b"".join([*lines, last])
    counted: list[int] = []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(open_input_module, "_SMALL", 0)
        patched.setattr(input_lines, "AT_ONCE", at_once)
        patched.setattr(input_lines, "_RANGE_BUFFER", buffer)
        path = Path(folder, "rows.jsonl")
        path.write_bytes(content)
        (found,) = find_inputs([str(path)])
        source = found._replace(limits=found.limits._replace(line=longest))
        with open_input(source) as opened:
            expected = list(opened.records)
        with open_input(source) as opened:
            blocks = list(line_blocks(source, opened, 0, counted.append))
    assert [record for block in blocks for record in _records_in(block)] == expected
    assert sum(counted) >= len(content)


def test_counted_once(tmp_path: Path) -> None:
    """Without lines that are too long, each byte is counted once."""
    path, counted = tmp_path / "rows.jsonl", list[int]()
    path.write_bytes(b"{}\n" * 100_000)
    (source,) = find_inputs([str(path)])
    with open_input(source) as opened:
        rows = sum(len(block.lines) for block in line_blocks(source, opened, 3, counted.append))
    assert (rows, sum(counted)) == (99_999, os.path.getsize(path) - 3)


def test_records_that_cannot_be_read() -> None:
    """A row that its container cannot give has an empty line, and its reason."""
    records = [Record(1, 0, b"{}\n"), Record(2, 3, b"half", refused="torn")]
    (block,) = record_blocks(iter(records))
    assert (block.lines, block.offsets) == ([b"{}\n", b""], [0, 3])
    with pytest.raises(Refused, match="torn"):
        block.record(1).complete()
