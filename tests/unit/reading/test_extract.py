"""extract: a line for each candidate found."""

from pathlib import Path

import pytest
from rows_and_output import Lines

from prefpairs.errors import BadRecords, NothingCameOut
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.plan import ReadPlan
from run_plans import extract

ROW = b'{"prompt": "Q", "response": "%s", "score": 1}\n'


def _plan(folder: Path, data: bytes) -> ReadPlan:
    path = folder / "r.jsonl"
    path.write_bytes(data)
    return ReadPlan(inputs=find_inputs([str(path)]))


def test_lines_in_order_of_arrival(tmp_path: Path) -> None:
    """Lines are in input order, with origins."""
    output = Lines()
    extract(_plan(tmp_path, ROW % b"A" + ROW % b"B"), output, Ledger())
    group = b'"group":"prompt:a3c7b2cc00e5ce45cc7511a032ee4eb9","prompt":"Q"'
    end = b'"score":1.0,"index":null,"origin":"r.jsonl:%d"}\n'
    assert output.lines == [
        b"{" + group + b',"response":"A",' + end % 1,
        b"{" + group + b',"response":"B",' + end % 2,
    ]


def test_copies_are_all_written(tmp_path: Path) -> None:
    """Copies are all written, since only `pair` can recognize them."""
    output, ledger = Lines(), Ledger()
    extract(_plan(tmp_path, ROW % b"A" * 3), output, ledger)
    assert (len(output.lines), ledger.candidates_kept) == (3, 3)


def test_nothing_more_after_a_bad_row(tmp_path: Path) -> None:
    """After a bad row, the rest is checked for errors, but not written."""
    output = Lines()
    with pytest.raises(BadRecords):
        extract(_plan(tmp_path, ROW % b"A" + b"{\n" + ROW % b"B"), output, Ledger())
    assert len(output.lines) == 1


def test_nothing_came_out(tmp_path: Path) -> None:
    """An empty result is an error, unless it is allowed."""
    plan = _plan(tmp_path, ROW % b" ")
    with pytest.raises(NothingCameOut) as caught:
        extract(plan, Lines(), Ledger())
    assert caught.value.what == "candidate"
    extract(plan, Lines(), Ledger(), allow_empty=True)
