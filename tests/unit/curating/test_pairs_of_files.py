"""Pairs of files, as stages see them."""

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import data_of

from prefpairs.engine.inputs.row_reader import reading_rows
from prefpairs.engine.pairs.pairs_from_files import Keep, PairsFromFiles
from prefpairs.errors import BadRecords, InputChanged
from prefpairs.fields.pair_row import PairRowOutcome
from prefpairs.files.fetch_records import RecordFetcher
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.model.identity import digest, digest_prompt, digest_response, digest_tools
from prefpairs.model.pair import pair_line, pair_of
from prefpairs.plan import InputPlan
from prefpairs.stages.base import IndexedPair
from prefpairs.stages.pair_columns import blocks_of as column_blocks

ROWS: list[dict[str, Any]] = [
    {"prompt": f"Q{n}", "chosen": f"A{n}", "rejected": "B", "chosen_score": n, "rejected_score": 0}
    for n in range(1, 7)
]


@contextmanager
def _filed(
    folder: Path,
    *contents: bytes,
    keep: Keep = "lines",
    ledger: Ledger | None = None,
    **plan: Any,
) -> Iterator[PairsFromFiles]:
    paths = [folder / f"{number}.jsonl" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    read = InputPlan(inputs=find_inputs(list(map(str, paths))), **plan)
    ledger = ledger or Ledger()
    with RecordFetcher[PairRowOutcome]() as records, reading_rows(read, ledger) as rows:
        yield PairsFromFiles(rows, records, keep=keep, temp_dir=None)


def test_what_is_known_of_a_pair(tmp_path: Path) -> None:
    """An entry has digests, numbers, and its position."""
    tools = [{"name": "t"}]
    row = {**ROWS[1], "tools": tools, "group": "g", "meta": {"prompt_of_rejected": "0a" * 16}}
    line = json.dumps(row).encode() + b"\n"
    with _filed(tmp_path, b"\n" + line) as pairs:
        (entry,) = pairs.entries()
    assert entry._asdict() == {
        "number": 1,
        "place": 1,
        "length": len(line),
        "gap": 2.0,
        "chosen_score": 2.0,
        "rejected_score": 0.0,
        "id": bytes.fromhex(pair_of(row)[0].id),
        "prompt": digest_prompt("Q2"),
        "tools": digest_tools(tools),
        "chosen": digest_response("A2"),
        "rejected": digest_response("B"),
        "group": digest("name", b"g"),
        "other_prompt": b"\x0a" * 16,
        "line_crc": 0,
    }


@pytest.mark.parametrize(
    "pack",
    [
        lambda data: data,
        gzip.compress,
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n\r\n"),
        lambda data: b"[ " + data.strip().replace(b"\n", b" ,\n") + b"]",
        lambda data: data.rstrip(),
    ],
    ids=["lines", "gzip", "byte order mark", "crlf", "array", "no last newline"],
)
def test_pairs_can_be_fetched_again(tmp_path: Path, pack: Any) -> None:
    """Pairs of two files can be fetched again in any order."""
    with _filed(tmp_path, pack(data_of(ROWS[:3])), pack(data_of(ROWS[3:]))) as pairs:
        entries = list(pairs.entries())
        assert [entry.number for entry in entries] == [1, 2, 3, 4, 5, 6]
        fetched = [pairs.pair(entries[place]).chosen for place in (5, 0, 3, 2, 0)]
    assert fetched == ["A6", "A1", "A4", "A3", "A1"]


def test_some_can_be_sought_and_some_cannot(tmp_path: Path) -> None:
    """The rows of compressed files are in one temporary file, one after the other."""
    parts = gzip.compress(data_of(ROWS[:2])), data_of(ROWS[2:4]), gzip.compress(data_of(ROWS[4:]))
    with _filed(tmp_path, *parts) as pairs:
        entries = list(pairs.entries())
        fetched = [pairs.pair(entry).chosen for entry in reversed(entries)]
    assert fetched == ["A6", "A5", "A4", "A3", "A2", "A1"]
    assert [entry.place >> 44 for entry in entries] == [0, 0, 1, 1, 2, 2]
    copied = [*entries[:2], *entries[4:]]
    ends = [*accumulate(entry.length for entry in copied)]
    assert [entry.place % (1 << 44) for entry in copied] == [0, *ends[:-1]]


def test_pair_that_came_last_is_at_hand(tmp_path: Path) -> None:
    """Pairs that are used as they are read need no fetch and no spool."""
    with _filed(
        tmp_path, data_of(ROWS[:3]), gzip.compress(data_of(ROWS[3:])), keep="nothing"
    ) as pairs:
        seen = [(pairs.pair(entry).chosen, pairs.pair(entry).gap) for entry in pairs.entries()]
    assert seen == [(f"A{n}", float(n)) for n in range(1, 7)]


def test_ledger_of_rows(tmp_path: Path) -> None:
    """Rows read are used, dropped or bad; repairs are counted in all of them."""
    rows = [
        ROWS[0],
        {"prompt": "Q", "chosen": "A", "rejected": "A", "x": 1},
        {"prompt": "", "chosen": "A", "rejected": "B"},
        {"prompt": "Q", "chosen": "A", "rejected": "", "gap": 0},
        {**ROWS[1], "id": "old", "y": 1},
    ]
    ledger = Ledger()
    data = data_of(rows) + b"{torn\n"
    with _filed(tmp_path, data, b"", ledger=ledger, on_error="skip") as pairs:
        assert [entry.number for entry in pairs.entries()] == [1, 5]
    assert (ledger.rows_read, ledger.rows_used, ledger.rows_bad) == (6, 2, 1)
    assert ledger.rows_dropped == {"sides_equal": 1, "no_prompt": 1, "empty_answer": 1}
    assert ledger.noticed == {"moved_to_meta": 2, "id_renewed": 1, "not_preferred": 1}
    assert ledger.sources == [("0.jsonl", "pairs"), ("1.jsonl", "pairs")]
    assert ledger.notes == ["1.jsonl is empty"]


def test_nothing_more_comes_after_a_bad_row(tmp_path: Path) -> None:
    """After a bad row no entry follows, but all bad rows are counted."""
    ledger = Ledger()
    seen: list[int] = []
    with _filed(
        tmp_path, data_of(ROWS[:2]) + b"{\n" + data_of(ROWS[2:]), b"{\n", ledger=ledger
    ) as pairs:
        with pytest.raises(BadRecords) as caught:
            seen.extend(entry.number for entry in pairs.entries())
        assert (caught.value.count, seen) == (2, [1, 2])
    assert (ledger.rows_read, ledger.rows_used) == (8, 6)


@pytest.mark.parametrize("limit", [0, 2])
def test_limit(tmp_path: Path, limit: int) -> None:
    """With a limit, a file that was not read is not called empty."""
    ledger = Ledger()
    with _filed(tmp_path, data_of(ROWS), b"", limit=limit, ledger=ledger) as pairs:
        assert (len(list(pairs.entries())), ledger.notes) == (limit, [])


@pytest.mark.parametrize(
    ("old", "new"), [(b"A1", b"A9"), (b'e": 1', b'e": 2'), (b'e": 0', b'e":-1'), (b'gr"', b'go"')]
)
@pytest.mark.usefixtures("nothing_held")
def test_file_that_changed_behind_the_clocks_back(tmp_path: Path, old: bytes, new: bytes) -> None:
    """Another pair in a file of the same size and time is an error, never a wrong pair."""
    path = tmp_path / "0.jsonl"
    rows = data_of([{**row, "group": "gr"} for row in ROWS[:2]])
    with _filed(tmp_path, rows) as pairs:
        entries, status = list(pairs.entries()), path.stat()
        with path.open("r+b") as file:
            file.write(rows.replace(old, new, 1))
        assert path.stat().st_size == status.st_size
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        with pytest.raises(InputChanged) as caught:
            pairs.pair(entries[0])
    assert caught.value.path == "0.jsonl"


OURS = [pair_line(pair_of(row)[0]) for row in ROWS]


def _lines(pairs: PairsFromFiles, entries: Sequence[IndexedPair]) -> list[bytes | None]:
    """The lines of entries that can be copied, None for the others."""
    found: list[bytes | None] = []
    for block in column_blocks(entries):
        for slots, lines in pairs.lines(block):
            found += lines or [None] * len(slots)
    return found


def test_lines_that_can_be_copied(tmp_path: Path) -> None:
    """Our own lines can be copied, also from a spool; others are encoded."""
    others = [
        OURS[0].replace(b":1.0,", b":1.00,"),
        OURS[0].replace(b'"A1"', b'"\\u00411"'),
        OURS[0].replace(b',"chosen"', b', "chosen"'),
        OURS[0].replace(b"\n", b"\r\n"),
        b'{"group":"g",' + OURS[0][1:],
        data_of(ROWS[:1]),
        OURS[0].rstrip(),
    ]
    packed = gzip.compress(b"".join([others[0], *OURS[4:]]))
    with _filed(tmp_path, b"".join([*OURS[:4], *others]), packed) as pairs:
        entries = list(pairs.entries())
        assert len({entry.id for entry in entries[4:11]}) == 1
        lines = _lines(pairs, entries)
    assert lines == [*OURS[:4], *[None] * len(others), OURS[0], *OURS[4:]]


@pytest.mark.parametrize("keep", ["nothing", "pairs"])
def test_lines_that_are_not_wanted(tmp_path: Path, keep: Keep) -> None:
    """Lines that are not needed are not compared."""
    with _filed(tmp_path, b"".join(OURS), keep=keep) as pairs:
        assert {entry.line_crc for entry in pairs.entries()} == {0}


@pytest.mark.parametrize("other", [b'"chosen_score":7.0', b'"chosen_index":   7', b""])
@pytest.mark.usefixtures("nothing_held")
def test_line_that_changed_behind_the_clocks_back(tmp_path: Path, other: bytes) -> None:
    """Any change of a line in a file of the same size and time is an error."""
    path = tmp_path / "0.jsonl"
    with _filed(tmp_path, OURS[0] + OURS[1]) as pairs:
        (entry, _), status = list(pairs.entries()), path.stat()
        changed = OURS[0].replace(b'"chosen_score":1.0', other) if other else b"[" + OURS[0][1:]
        path.write_bytes(changed.ljust(len(OURS[0])) + OURS[1])
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        with pytest.raises(InputChanged) as caught:
            _lines(pairs, [entry])
    assert caught.value.path == "0.jsonl"


@pytest.mark.usefixtures("nothing_held")
def test_file_that_is_torn_afterwards(tmp_path: Path) -> None:
    """A line that is torn after it was read is a changed input, not a bad row."""
    path = tmp_path / "0.jsonl"
    with _filed(tmp_path, data_of(ROWS[:2])) as pairs:
        entries, status = list(pairs.entries()), path.stat()
        with path.open("r+b") as file:
            file.write(b"[")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        with pytest.raises(InputChanged):
            pairs.pair(entries[0])
