"""Experiences written as a frame (TRXP) and as a database: read back, they are the same."""

import io
import json
import pickle
import pickletools
import sqlite3
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.errors import NotJson
from prefpairs.files.input_file import Input
from prefpairs.files.lines import Refused
from prefpairs.files.sqlite_reader import sqlite_rows
from prefpairs.files.sqlite_writer import open_database
from prefpairs.files.trxp_reader import HEAD, trxp_rows
from prefpairs.files.trxp_writer import FrameItems, open_frames

PAIR = {
    "eid": {"batch": "", "task": "g", "run": 0, "step": 0, "suffix": "s"},
    "prompt_length": 2,
    "info": {"pair_id": "s", "score_gap": 0.75},
    "metrics": {"score_gap": 0.75},
    "tools": None,
    "custom_fields": [
        {"source_field": "score_gap", "destination_field": "g", "data_type": "torch.float32"}
    ],
    "tokens": [1, 2],
    "chosen": [3, 2**31 - 1],
    "rejected": [4],
    "chosen_messages": [{"role": "user", "content": "Q \U0001f600"}],
    "rejected_messages": [{"role": "user", "content": "Q\u2028\x00"}],
}
ANSWER = {
    **{name: PAIR[name] for name in ("eid", "prompt_length", "info", "metrics", "custom_fields")},
    "reward": 0.5,
    "tokens": [1, 2, 3],
    "action_mask": [True],
    "messages": [{"role": "user", "content": "Q"}],
}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """What our reader reads of an experience."""
    missing = ("custom_fields",)
    known = {key: value for key, value in row.items() if value is not None and key not in missing}
    return {**known, "multi_modal_input_keys": []}


def _frame(*rows: dict[str, Any]) -> bytes:
    items = FrameItems()
    for row in rows:
        items.add(row)
    return items.frame()


def _read(data: bytes) -> list[dict[str, Any]]:
    lines = []
    for line in trxp_rows(io.BytesIO(data), Input("x.trxp", "x.trxp")):
        assert not isinstance(line, Refused), line
        lines.append(json.loads(line))
    return lines


def _loaded(data: bytes) -> Any:
    """The metadata, as Python's own pickle loads it."""
    _, _, length, _ = HEAD.unpack_from(data)
    return pickle.loads(data[HEAD.size : HEAD.size + length])  # noqa: S301 - it is ours


@pytest.mark.parametrize("rows", [[PAIR], [ANSWER], [PAIR, ANSWER, PAIR], []])
def test_a_frame_is_read_back(rows: list[dict[str, Any]]) -> None:
    """By our reader; what it does not read is in the metadata."""
    data = _frame(*rows)
    assert _read(data) == [_known(row) for row in rows]
    loaded = _loaded(data)
    assert (loaded["version"], loaded["num_items"]) == (1, len(rows))
    assert [item["custom_fields"] for item in loaded["items"]] == [
        PAIR["custom_fields"] for _ in rows
    ]


@examples(100)
@given(info=st.dictionaries(st.text(), VALUES, max_size=4))
def test_any_values(info: dict[str, Any]) -> None:
    """Python's own pickle loads what was meant, and finds nothing that it would have to call."""
    data = _frame({**PAIR, "info": info})
    (item,) = _loaded(data)["items"]
    assert item["info"] == info
    _, _, length, _ = HEAD.unpack_from(data)
    names = {opcode.name for opcode, _, _ in pickletools.genops(data[HEAD.size :][:length])}
    assert names <= {
        *("PROTO", "STOP", "MARK", "EMPTY_DICT", "EMPTY_LIST", "SETITEMS", "APPENDS"),
        *("NONE", "NEWTRUE", "NEWFALSE", "BININT", "LONG1", "BINFLOAT", "BINUNICODE"),
    }


@pytest.mark.parametrize("size", [7, 8, 31, 32, 2039, 2040, 8000])
def test_integers_of_any_size(size: int) -> None:
    """Integers are loaded as they were, on both sides of each form's limit."""
    values = [sign * (2**size + more) for sign in (1, -1) for more in (-1, 0, 1)]
    (item,) = _loaded(_frame({**PAIR, "info": {"values": values}}))["items"]
    assert item["info"]["values"] == values


def test_tensors() -> None:
    """Aligned, without gaps, and of the types that Trinity makes."""
    data = _frame(PAIR, ANSWER)
    _, _, metadata, tensors = HEAD.unpack_from(data)
    start = HEAD.size + metadata
    (length,) = struct.unpack_from("<Q", data, start)
    assert (length % 8, len(data)) == (0, start + tensors)
    header = json.loads(data[start + 8 : start + 8 + length])
    kinds = {name: (each["dtype"], each["shape"]) for name, each in header.items()}
    assert kinds == {
        "0:tokens": ("I32", [2]),
        "0:chosen": ("I32", [2]),
        "0:rejected": ("I32", [1]),
        "1:tokens": ("I32", [3]),
        "1:action_mask": ("BOOL", [1]),
    }


@pytest.mark.parametrize(
    ("row", "column"), [(PAIR, "chosen_message_list"), (ANSWER, "task_id")], ids=["pair", "answer"]
)
def test_a_database_is_read_back(tmp_path: Path, row: dict[str, Any], column: str) -> None:
    """By our reader, and by SQLite; equal rows give equal bytes."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with open_database(str(tmp_path / name / "my buffer.db")) as output:
            for number in range(3):
                eid = {**row["eid"], "suffix": str(number)}
                output.write(json.dumps({**row, "eid": eid}).encode())
    path, other = (tmp_path / name / "my buffer.db" for name in ("one", "two"))
    assert path.read_bytes() == other.read_bytes()
    # which SQLite wrote it would differ between machines
    assert int.from_bytes(path.read_bytes()[96:100], "big") == 3_040_000
    found = [json.loads(line) for line in sqlite_rows(Input(str(path), "x")) if type(line) is bytes]
    assert [each["eid"]["suffix"] for each in found] == ["0", "1", "2"]
    del found[0]["eid"]
    assert found[0] == {key: value for key, value in _known(row).items() if key != "eid"}
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    query = f'SELECT count({column}) FROM "my buffer"'  # noqa: S608 - a column of ours
    (count,) = database.execute(query).fetchone()
    database.close()
    assert count == 3


def test_files_appear_when_all_is_well(tmp_path: Path) -> None:
    """A run that fails leaves the old file."""
    for opening, name in ((open_frames, "x.trxp"), (open_database, "x.db")):
        path = tmp_path / name
        path.write_bytes(b"old")
        with pytest.raises(NotJson), opening(str(path)) as output:
            output.write(b"{")
        assert path.read_bytes() == b"old"


def test_a_database_without_rows(tmp_path: Path) -> None:
    """A database without rows still has its tables."""
    with open_database(str(tmp_path / "x.db")):
        pass
    assert list(sqlite_rows(Input(str(tmp_path / "x.db"), "x"))) == []
