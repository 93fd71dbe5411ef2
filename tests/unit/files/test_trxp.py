"""Frames of Trinity-RFT (TRXP): their rows as JSON, and what is rejected."""

import gzip
import io
import json
import math
import pickle
import re
import struct
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trinity_files import around, frame, item, packed, run, tensors, whole, with_tokens

from hypothesis_examples import examples
from prefpairs.errors import BadInput
from prefpairs.files.input_file import Input, Limits
from prefpairs.files.lines import Refused
from prefpairs.files.open_input import open_input
from prefpairs.files.trxp_reader import trxp_rows

SOURCE = Input("x.trxp", "x.trxp")
NO_TENSORS = tensors({})
SQUARES = {f"{at}:tokens": ("U8", [1, 1], b"7") for at in range(5000)}


def _taken(data: bytes, source: Input = SOURCE) -> list[bytes | Refused]:
    return list(trxp_rows(io.BytesIO(data), source))


def _lines(data: bytes, source: Input = SOURCE) -> list[bytes]:
    return [row for row in _taken(data, source) if not isinstance(row, Refused)]


def _rows(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _lines(data)]


def _problem(data: bytes) -> str:
    """The error of the one rejected row, or of the file."""
    try:
        (refused,) = (row for row in _taken(data) if isinstance(row, Refused))
    except BadInput as error:
        return f"{error.problem} ({error.path})"
    return refused.problem


def _metadata(value: Any) -> bytes:
    return around(pickle.dumps(value, protocol=5), NO_TENSORS)


def test_row() -> None:
    """Fields keep their names, tokens are added, nulls are omitted."""
    assert _rows(with_tokens([item()])) == [
        {
            "eid": {"batch": 5, "task": 0, "run": 0, "step": 0, "suffix": "dbe565"},
            "prompt_length": 2,
            "info": {"model_version": 5},
            "metrics": {},
            "prompt_text": "Q: 2+2?\nA: ",
            "response_text": "4",
            "reward": 1.0,
            "multi_modal_input_keys": [],
            "tokens": [1, 2, 3, 4],
            "action_mask": [1, 1],
        }
    ]


def test_several_items_and_frames() -> None:
    """Items and frames are read in order, each with its own tokens."""
    first = with_tokens([run(0, 1.0, "4"), run(1, 0.0, "5")])
    second = with_tokens([run(2, 0.5, "four")], ids=[9, 8, 7])
    found = _rows(first + second)
    assert [row["response_text"] for row in found] == ["4", "5", "four"]
    assert [row["tokens"] for row in found] == [[1, 2, 3, 4], [1, 2, 3, 4], [9, 8, 7]]
    assert _rows(b"") == _rows(frame([])) == []


def test_identity_that_lacks() -> None:
    """A missing identity is empty; keys may be missing."""
    rows = _rows(frame([item(eid=None, prompt_length=None), {"reward": 1}]))
    assert [row["eid"] for row in rows] == [{}, {}]
    assert [row["prompt_length"] for row in rows] == [None, None]


@pytest.mark.parametrize(
    ("value", "as_json"),
    [
        ("cut \ud83d", "cut \ud83d"),
        (2**100, 2**100),
        (b"\xff", {"raw_base64": "/w=="}),
        ((1, (2,)), [1, [2]]),
        ([["shared"]] * 3, [["shared"]] * 3),
        (math.inf, math.inf),
    ],
)
def test_values_that_json_has_no_form_for(value: Any, as_json: Any) -> None:
    """Values that JSON cannot hold become the closest JSON value."""
    assert _rows(frame([item(info=value)]))[0]["info"] == as_json


def test_not_a_number_stays_none() -> None:
    """NaN does not become null, so the two can be told apart."""
    assert b'"reward": NaN' in _lines(frame([item(reward=math.nan)]))[0]
    floats = "F32", [2], struct.pack("<2f", 1.0, math.nan)
    assert b"[1.0, NaN]" in _lines(frame([item()], {"0:tokens": floats}))[0]


def test_images_in_a_frame() -> None:
    """Keys of images may contain colons, and their types may be any."""
    pixels = "BF16", [1, 2], b"1234"
    given = {"0:multi_modal_inputs:a:b": pixels, "0:tokens": whole([1])}
    (row,) = _rows(frame([item(multi_modal_input_keys=["a:b"])], given))
    assert (row["multi_modal_input_keys"], row["tokens"]) == (["a:b"], [1])


SOUND = frame([item()])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (SOUND[:3], "byte 3: the frame ends too early"),
        (SOUND[:20], "byte 20: the frame ends too early"),
        (SOUND[:-1], f"byte {len(SOUND) - 1}: the frame ends too early"),
        (SOUND + b"\n", f"byte {len(SOUND)}: no frame begins here"),
        (SOUND + b"TRX", f"byte {len(SOUND) + 3}: the frame ends too early"),
        (around(b"", b"", version=2), "byte 4: a frame of version 2"),
        (around(b"\x80\x05N.", NO_TENSORS), "byte 21: the metadata has no items"),
        (_metadata({"items": {}}), "byte 21: the metadata has no items"),
        (_metadata({"items": [7]}), "byte 21: item 0: an item that is not an object"),
        (_metadata({"items": [], "num_items": 1}), "byte 21: num_items is not 0"),
        (_metadata(print), "it names builtins.print"),
        (around(b"\x80\x05q", b""), "byte 23: the instruction BINPUT"),
        (around(SOUND[21:-10], b""), "safetensors"),
        (around(SOUND[21:-10], bytes(7)), "do not fit into 7 bytes"),
        (around(SOUND[21:-10], b"\xff" * 8), "which is too large"),
        (around(SOUND[21:-10], packed({}, b"1")), "end at byte 0 and begin at 1"),
        (frame([item()], {"1:tokens": whole([1])}), "only 1 items"),
        (frame([item()], {"x:tokens": whole([1])}), "belongs to no item"),
        (frame([item()], {"99999999999:tokens": whole([1])}), "belongs to no item"),
        (frame([item()], {"0:tokens": ("I32", [1, 1], b"1234")}), "item 0: tokens is not a row"),
        (b"TRXP\x01" + b"\xff" * 16, "the frame ends too early"),
    ],
)  # fmt: skip
def test_refused(data: bytes, words: str) -> None:
    """Rejected with the byte and the reason."""
    assert words in _problem(data)


def _laughs() -> list[Any]:
    value: list[Any] = ["ha"]
    for _ in range(60):
        value = [value, value]
    return value


def _cycle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def _deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(300):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (_laughs(), "it repeats itself too often"),
        (["x" * 10_000] * 10_000, "it repeats itself too often"),
        (_cycle(), "it repeats itself too often"),
        (_deep(), "nested too deeply"),
    ],
)
def test_values_without_end(value: Any, words: str) -> None:
    """Cyclic values, whose text would be endless, are not written."""
    assert f"byte 21: item 1: {words}" in _problem(frame([item(), item(info=value)]))


@pytest.mark.parametrize(
    ("info", "tensors"),
    [(_laughs(), {}), ([*[0] * 100_000, {1, 2}], {}), ([0] * 100_000, SQUARES)],
    ids=["by its size", "by its end", "by its tensors"],
)
def test_an_item_that_is_refused_many_times(info: Any, tensors: Any) -> None:
    """A rejected item is checked once, however often it is referenced."""
    data = frame([item(info=info)] * 5000, tensors)
    begin = time.process_time()
    rows = _taken(data)
    assert len(rows) == 5000
    assert all(isinstance(row, Refused) for row in rows)
    assert time.process_time() - begin < 2


def test_tensors_that_take_memory() -> None:
    """Rejects a small compressed header that lists half a million empty tensors."""
    one = b'"%d":{"data_offsets":[0,0]}'
    header = b"{%s}" % b",".join(one % number for number in range(500_000))
    whole_part = struct.pack("<Q", len(header)) + header
    data = around(pickle.dumps({"items": [item()]}, protocol=5), whole_part)
    (row,) = trxp_rows(io.BytesIO(data), SOURCE, lambda: 100_000)
    assert isinstance(row, Refused)
    assert "more than should be in memory" in row.problem


def test_a_prompt_that_all_share() -> None:
    """A shared prompt is stored once in the frame and written with each item."""
    shared = "x" * 10_000
    data = frame([item(prompt_text=shared) for _ in range(200)])
    assert len(data) < 40_000
    assert [row["prompt_text"] for row in _rows(data)] == [shared] * 200


def test_a_frame_that_unpacks_to_too_much() -> None:
    """Shared content counts for each item, and may exceed the limit."""
    data = frame([item(prompt_text="x" * 10_000) for _ in range(200)])
    with pytest.raises(BadInput, match="unpacks to more"):
        _lines(data, SOURCE._replace(limits=Limits(unpacked=1_000_000)))


def test_a_type_of_numpy_is_no_value() -> None:
    """A dtype alone is no value."""
    dtype = b"\x8c\x05numpy\x8c\x05dtype\x93\x8c\x02f4\x89\x88\x87R"
    data = b"\x80\x05}\x8c\x05items]}\x8c\x06reward" + dtype + b"sas."
    assert "a type of numpy" in _problem(around(data, NO_TENSORS))


def test_memory_is_that_of_what_is_wanted() -> None:
    """Unused tensors are skipped; false lengths take no memory."""
    large = "F32", [5_000_000], bytes(20_000_000)
    data = frame([item()], {"0:routed_experts": large, "0:tokens": whole([1])})
    for given_, most in ((data, 3_000_000), (b"TRXP\x01" + b"\xff" * 16 + bytes(1000), 100_000)):
        stream = io.BytesIO(given_)
        tracemalloc.start()
        try:
            list(trxp_rows(stream, SOURCE))
        except BadInput:
            pass
        finally:
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert peak < most


@pytest.mark.parametrize("dtype", ["I32", "U8", "F32", "I64"])
@pytest.mark.parametrize("count", [12_000, 300_000])
def test_many_tokens_and_short_texts(dtype: str, count: int) -> None:
    """The number of tokens does not depend on the length of texts."""
    ids = [number % 256 for number in range(count)]
    mask = [1] * (count - 2)
    given_ = {"0:tokens": whole(ids, dtype), "0:action_mask": whole(mask, "BOOL")}
    (row,) = _rows(frame([item()], given_))
    assert (row["tokens"], row["action_mask"]) == (ids, mask)


@pytest.mark.parametrize("counts", [(8_000_001, 1), (4_000_001, 4_000_000)])
def test_more_tokens_than_a_line_may_have(counts: tuple[int, int]) -> None:
    """All tensors of an item count towards the limit."""
    given_ = {
        f"0:{name}": ("U8", [count], bytes(count))
        for name, count in zip(("tokens", "action_mask"), counts, strict=True)
    }
    problem = _problem(frame([item()], given_))
    assert re.search(r"item 0: \w+ has \d+ numbers, which no row has", problem)


def test_recognised_by_content(tmp_path: Path) -> None:
    """Recognized by content, under any name, compressed or not; not seekable."""
    for name, data in (("rows.jsonl", SOUND), ("rows", gzip.compress(SOUND))):
        (tmp_path / name).write_bytes(data)
        with open_input(Input(str(tmp_path / name), name)) as opened:
            assert not opened.seekable
            (record,) = opened.records
        assert json.loads(record.complete())["reward"] == 1.0


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_old_pickles(tmp_path: Path, protocol: int) -> None:
    """Older pickles contain the toolkit's own types and would run code, so they are rejected."""
    (tmp_path / "old.pkl").write_bytes(pickle.dumps({"reward": 1.0}, protocol))
    with (
        pytest.raises(BadInput, match="byte 0: a pickle") as caught,
        open_input(Input(str(tmp_path / "old.pkl"), "old.pkl")) as opened,
    ):
        list(opened.records)
    assert caught.value.hint is not None


def test_a_long_item_is_a_long_line(tmp_path: Path) -> None:
    """A long item is bad, like any other overlong row."""
    (tmp_path / "x").write_bytes(frame([item(prompt_text="x" * 5000), item()]))
    with open_input(Input(str(tmp_path / "x"), "x", Limits(line=1000))) as opened:
        assert [record.whole for record in opened.records] == [False, True]


@examples(300)
@given(st.data())
def test_any_byte_may_be_wrong(data: st.DataObject) -> None:
    """Rows or an error, soon; no other exception."""
    given_ = bytearray(with_tokens([run(0, 1.0, "4"), run(1, 0.0, "5", messages=[{"a": 1}])]))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(given_) - 1))
        if data.draw(st.booleans()):
            given_[place] = data.draw(st.integers(0, 255))
        else:
            del given_[place : place + data.draw(st.integers(1, 9))]
    begin = time.process_time()
    try:
        for line in _lines(bytes(given_)):
            json.loads(line)
    except BadInput:
        pass
    assert time.process_time() - begin < 2


def test_tensors_that_are_read_if_named() -> None:
    """Log probabilities and the like are as long as answers; without an option they are skipped."""
    values = struct.pack("<2f", -0.5, 0.25)
    names = ("logprobs", "token_level_reward", "advantages", "returns", "teacher_logprobs")
    more = {f"0:{name}": ("F32", [2], values) for name in (*names, "routed_experts")}
    metadata = pickle.dumps({"version": 1, "num_items": 1, "items": [item()]}, protocol=5)
    data = around(metadata, tensors(more))
    (plain,) = _rows(data)
    assert plain.keys().isdisjoint([*names, "routed_experts"])
    source = SOURCE._replace(named=frozenset({"logprobs", "returns", "routed_experts", "other"}))
    (line,) = _lines(data, source)
    assert json.loads(line) == {**plain, "logprobs": [-0.5, 0.25], "returns": [-0.5, 0.25]}
