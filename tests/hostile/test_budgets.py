"""The memory and time that a small file may take in every reader, and files that are still read."""

import gzip
import json
import pickle
import struct
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from backports import zstd
from hostile_kit import run
from pyarrow.parquet import write_table

from prefpairs.files.input_file import Limits
from prefpairs.model import memory_guard

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak of memory")

MEGABYTE = 1_000_000
at_length = partial(pytest.param, marks=pytest.mark.stress)
NO_TENSORS = struct.pack("<Q", 2) + b"{}"
ROW = b'{"prompt":"Q","response":"A","score":1,"x":['


def repeated(unit: bytes, size: int) -> Iterator[bytes]:
    """A unit repeated up to this many bytes."""
    block = unit * (MEGABYTE // len(unit))
    for _ in range(size // len(block)):
        yield block


def packed(path: Path, *parts: bytes | Iterator[bytes]) -> Path:
    """A gzip file with these parts."""
    with gzip.open(path, "wb", 6) as file:
        for part in parts:
            for piece in [part] if isinstance(part, bytes) else part:
                file.write(piece)
    return path


def frame(metadata: bytes) -> bytes:
    """A frame (TRXP) with this pickle and no tensors."""
    return head(len(metadata)) + metadata + NO_TENSORS


def head(size: int, tensors: int = len(NO_TENSORS)) -> bytes:
    """The header before a pickle of this size."""
    return b"TRXP\x01" + struct.pack("<QQ", size, tensors)


def items(*given: dict[str, Any]) -> bytes:
    """A frame with these experiences."""
    return frame(pickle.dumps({"items": [*given], "num_items": len(given)}, 5))


def experience(run_: int, **more: Any) -> dict[str, Any]:
    """One of several answers to one prompt."""
    eid = {"batch": 1, "task": 0, "run": run_, "step": 0, "suffix": f"{run_}"}
    texts = {"prompt_text": "Q", "response_text": f"A{run_}", "reward": float(run_)}
    return {"eid": eid, "prompt_length": 1, "info": {}, **texts, **more}


@pytest.mark.parametrize(
    ("begin", "unit", "end"),
    [
        (b"(", b"N", b"t."),
        (b"", b"]", b"."),
        (b"(", b"\x8c\x02ab", b"t."),
        at_length(b"", b"}", b"."),
        at_length(b"N", b"\x94", b"."),
        at_length(b"(", b"M\x07\x07", b"t."),
        at_length(b"(", b"\x8f", b"t."),
    ],
)
def test_a_pickle_that_grows(begin: bytes, unit: bytes, end: bytes, tmp_path: Path) -> None:
    """Less than 150 KB of pickle, each byte of which would take many in memory."""
    pieces = [*repeated(unit, 120 * MEGABYTE)]
    size = 2 + len(begin) + sum(map(len, pieces)) + len(end)
    start = head(size) + b"\x80\x05" + begin
    path = packed(tmp_path / "in", start, iter(pieces), end + NO_TENSORS)
    began = time.monotonic()
    code, said, peak = run("pair", path)
    assert (code, "in:1: byte " in said) == (1, True), said
    assert "memory" in said
    assert peak < 60 + Limits().held_from(path.stat().st_size) / MEGABYTE
    assert time.monotonic() - began < 30


def test_a_tensor_that_grows(tmp_path: Path) -> None:
    """A row of numbers of one byte each."""
    metadata = pickle.dumps({"items": [experience(0)]}, 5)
    for size in (100 * MEGABYTE, 300 * MEGABYTE):
        tensor = {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}
        header = json.dumps({"0:tokens": tensor}).encode()
        begin = head(len(metadata), 8 + len(header) + size) + metadata
        begin += struct.pack("<Q", len(header)) + header
        path = packed(tmp_path / "in", begin, repeated(b"\0", size), items(experience(1)))
        code, said, peak = run("extract", path, "--on-error", "skip")
        assert (code, "2 read = 1 used + 0 dropped + 1 bad" in said, peak < 330) == (0, True, True)


@pytest.mark.parametrize("unit", [b'"a":{},', b'"a":{"shape":[' + b"0," * 500 + b"0]},"])
def test_a_header_of_tensors_that_grows(unit: bytes, tmp_path: Path) -> None:
    """Objects that are not tensors, and shapes that no tensor has."""
    metadata = pickle.dumps({"items": []}, 5)
    pieces = [b"{", *repeated(unit, 80 * MEGABYTE), b'"b":{}}']
    size = sum(map(len, pieces))
    begin = head(len(metadata), 8 + size) + metadata + struct.pack("<Q", size)
    code, said, peak = run("extract", packed(tmp_path / "in", begin, iter(pieces)))
    assert (code, "not a safetensors header" in said, peak < 330) == (1, True, True)


def keys(size: int) -> Iterator[bytes]:
    """Members of an object with distinct keys, up to this many bytes."""
    for block in range(size // 720_000):
        yield b"".join(b'"%07x":1,' % (block * 60_000 + number) for number in range(60_000))


HEAVY = {
    "lists": b"[],",
    "objects": b'{"a":1},',
    "nested": b'{"":[{}]},',
    "texts": b'"ab",',
    "numbers": b"999,",
    "fractions": b"0.5,",
    "digits": b"7,",
}


@pytest.mark.parametrize("kind", [*HEAVY, "keys"])
@pytest.mark.parametrize(("command", "field"), [("pair", "prompt"), at_length("stats", "y")])
def test_a_line_of_values(kind: str, command: str, field: str, tmp_path: Path) -> None:
    """A row that unpacks to 60 MB and would take up to a gigabyte is one bad row."""
    given = {"prompt": b'"Q"', "response": b'"A"', "score": b"1", "z": b"NaN"}
    given.pop(field, None)
    begin = b"".join(b'"%b":%b,' % (name.encode(), value) for name, value in given.items())
    size = 60 * MEGABYTE
    many: list[bytes | Iterator[bytes]]
    if kind == "keys":
        many = [b"{", keys(size), b'"":0}']
    else:
        many = [b"[", repeated(HEAVY[kind], size), b"0]"]
    good = ROW + b"]}\n"
    path = packed(tmp_path / "in", good, b'{%b"%b":' % (begin, field.encode()), *many, b"}\n", good)
    code, said, peak = run(command, path)
    assert (code, "in:2: its values would take more memory" in said) == (1, True), said
    assert peak < 160


MESSAGE = b'{"role":"user","content":"x"},'
TURNS = b'{"role":"assistant","content":"a"},' + MESSAGE
CALL = b'{"type":"function","function":{"name":"f","arguments":"{}"}},'
CANDIDATE = (
    b'"group":"g","prompt":"Q","response":"A","origin":"a:1","tokens":{"prompt":[1],"response":['
)


@pytest.mark.parametrize(
    ("begin", "unit", "end"),
    [
        (b'"response":"A","prompt":[', MESSAGE, MESSAGE[:-1] + b"]"),
        at_length(b'"prompt":"Q","response":[', TURNS, TURNS[: -1 - len(MESSAGE)] + b"]"),
        (
            b'"prompt":"Q","response":[{"role":"assistant","content":"a","tool_calls":[',
            CALL,
            CALL[:-1] + b"]}]",
        ),
        at_length(b'"prompt":"Q","response":"A","tools":[', CALL, CALL[:-1] + b"]"),
        at_length(CANDIDATE, b"31234,", b"1]}"),
        at_length(b'"prompt":"Q","response":"A","y":"\\ud83d","x":[', b'"ab",', b"1]"),
        (b'"response":"A","prompt":"\xf0\x9f\x98\x80', b"x", b'"'),
    ],
)
def test_the_largest_row_that_is_read(
    begin: bytes, unit: bytes, end: bytes, tmp_path: Path
) -> None:
    """The largest row that is read takes at most 400 MB plus twelve times its size."""
    signs = sum(each * unit.count(sign) for sign, each in memory_guard._WEIGHTS)  # noqa: SLF001
    most = 60 * MEGABYTE // len(unit)
    if signs > 2 * len(unit):
        most = min(most, 250 * MEGABYTE // (signs - 2 * len(unit)))
    line = b'{"score":1,' + begin + unit * most + end + b"}\n"
    path = packed(tmp_path / "in", ROW + b"]}\n", line)
    code, said, peak = run("extract", path, "-o", tmp_path / "out")
    assert (code, peak < 400 + 12 * len(line) / MEGABYTE) == (0, True), (said, peak)


def test_large_rows_of_honest_runs(tmp_path: Path) -> None:
    """Reads an answer of 12,000 tokens with 20 alternatives each, and 20 MB of turns with tools."""
    token = {"token": " the", "logprob": -0.123456789, "bytes": [32, 116, 104, 101]}
    logprobs = [{**token, "top_logprobs": [token] * 20}] * 12_000
    call = {"name": "run", "arguments": json.dumps({"code": "print({'a': [1, 2]})\n" * 90})}
    turn = [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"type": "function", "function": call}],
        },
        {"role": "tool", "content": json.dumps([{"x": 1, "y": [2, 3]}] * 300)},
    ]
    answer = [*turn * 1600, {"role": "assistant", "content": "Done."}]
    rows = [
        {"prompt": "Q", "response": "A", "score": 1, "logprobs": {"content": logprobs}},
        {"prompt": "Q", "response": answer, "score": 0},
    ]
    lines = [orjson.dumps(row) + b"\n" for row in rows]
    assert all(len(line) > 15 * MEGABYTE for line in lines)
    (tmp_path / "in").write_bytes(b"".join(lines))
    code, said, _ = run("extract", tmp_path / "in", "-o", tmp_path / "out", "--keep", "logprobs")
    assert (code, "2 read = 2 used" in said) == (0, True), said


def test_brackets_in_texts_are_no_lists(tmp_path: Path) -> None:
    """Brackets inside texts do not count as lists; half a million real lists are read, too."""
    brackets = b'{"prompt":"Q","response":"%b","score":1}\n' % (b'[{\\"' * 5 * MEGABYTE)
    path = packed(tmp_path / "in", brackets, ROW, b"[1]," * 499_000, b"[]]}\n")
    assert run("extract", path, "-o", tmp_path / "out")[0] == 0


@pytest.mark.parametrize("unit", [b"\n", b" \t\r\n"])
def test_blank_lines(unit: bytes, tmp_path: Path) -> None:
    """300 MB of blank lines in a 300 KB file take seconds; later lines keep their numbers."""
    size = 300 * MEGABYTE
    lines = sum(piece.count(b"\n") for piece in repeated(unit, size))
    path = packed(tmp_path / "in", ROW + b"]}\n", repeated(unit, size), b"no row\n")
    began = time.monotonic()
    code, said, _ = run("extract", path)
    assert (code, f"in:{lines + 2}: not JSON" in said) == (1, True), said
    assert time.monotonic() - began < 20


def test_frames_of_nothing(tmp_path: Path) -> None:
    """24 MB of empty zstd frames are rejected quickly; one frame per row is read."""
    empty = zstd.compress(b"")
    (tmp_path / "in").write_bytes(empty * (24 * MEGABYTE // len(empty)))
    began = time.monotonic()
    code, said, _ = run("extract", tmp_path / "in")
    assert (code, "more frames of next to no bytes" in said) == (1, True)
    assert time.monotonic() - began < 10
    (tmp_path / "in").write_bytes(zstd.compress(ROW + b"]}\n") * 20_000)
    assert "20,000 read = 20,000 used" in run("extract", tmp_path / "in", "-o", tmp_path / "o")[1]


def tokens_of(count: int) -> bytes:
    """A frame of two experiences with this many tokens each."""
    header = {
        f"{n}:tokens": {
            "dtype": "I64",
            "shape": [count],
            "data_offsets": [n * 8 * count, (n + 1) * 8 * count],
        }
        for n in range(2)
    }
    told = json.dumps(header).encode()
    tensors = struct.pack("<Q", len(told)) + told + struct.pack(f"<{count}q", *range(count)) * 2
    metadata = pickle.dumps({"items": [experience(0), experience(1)]}, 5)
    return head(len(metadata), len(tensors)) + metadata + tensors


def large_field(kind: str) -> bytes:
    """A field of a row that takes much memory."""
    if kind == "turns":
        return b'"system":[%b],' % (MESSAGE * 20_000)[:-1]
    if kind == "text":
        return b'"system":"%b",' % (b"x" * MEGABYTE)
    tool = b'"tools":[{"type":"function","function":{"name":"f","parameters":%b}}],'
    if kind == "tools":
        return tool % (b'{"x":[%b1]}' % (b"1," * 400_000))
    return tool % (b"{%b}" % b",".join(b'"%x":1' % number for number in range(200_000)))


@pytest.mark.parametrize("memory", [at_length(60), 120, at_length(300), 500, at_length(600)])
@pytest.mark.parametrize(
    "kind", ["tokens", "numbers in frames", "tools", "objects", "turns", "text"]
)
def test_libraries_that_crash_get_what_they_ask_for(kind: str, memory: int, tmp_path: Path) -> None:
    """The run succeeds or ends with an error; orjson and msgspec never check allocations."""
    if kind == "tokens":
        data = tokens_of(MEGABYTE)
    elif kind == "numbers in frames":
        large = {"x": list(range(100_000, 100_000 + MEGABYTE))}
        data = items(*(experience(n, info=large) for n in range(2)))
    else:
        row = b'{"prompt":"Q",%b"response":"A%d","score":%d}\n'
        data = b"".join(row % (large_field(kind), n, n) for n in range(2))
    (tmp_path / "in").write_bytes(data)
    words: list[str | Path] = ["pair", tmp_path / "in", "-o", tmp_path / "out"]
    code, said, _ = run(*words, memory=memory * MEGABYTE)
    assert (code in (0, 1, 2, 3, 5), "Traceback" in said) == (True, False), said
    assert code != 5 or "out of memory" in said


def test_a_limit_that_is_wide_enough_changes_nothing(tmp_path: Path) -> None:
    """A memory limit that is wide enough does not change the output, whichever code writes it."""
    odd = {"x": [1e16, 1e-7, 0.1, 2**63, -0.0, '\u00e9\U0001f600\x7f\u2028\\"']}
    frames = items(*(experience(n, info=odd, messages=[]) for n in range(3))) + tokens_of(5)
    lines = b"".join(
        json.dumps({"prompt": "Q", "response": f"A{n}", "score": n, **odd}).encode() + b"\n"
        for n in range(3)
    )
    for data in (frames, lines):
        (tmp_path / "in").write_bytes(data)
        written = []
        for memory in (None, 2000 * MEGABYTE):
            words: list[str | Path] = ["extract", tmp_path / "in", "-o", tmp_path / "out"]
            assert run(*words, memory=memory)[0] == 0
            written.append((tmp_path / "out").read_bytes())
        assert written[0] == written[1]


@pytest.mark.parametrize("memory", [at_length(200), 300, at_length(800)])
@pytest.mark.parametrize("kind", ["letters", "signs", "lists", "numbers", "frames", "items"])
def test_a_limit_on_memory(kind: str, memory: int, tmp_path: Path) -> None:
    """Any `ulimit -v` gives an error message; libraries that would crash are not called."""
    texts = {"letters": "x" * 40 * MEGABYTE, "signs": "\u20ac" * 13 * MEGABYTE}
    if kind in texts:
        rows = [{"prompt": "Q", "response": f"{n}{texts[kind]}", "score": n} for n in range(2)]
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    elif kind in ("lists", "numbers"):
        many = b"[1]," * 450_000 if kind == "lists" else b"1," * 9 * MEGABYTE
        row = ROW + many + b"[]]}\n"
        data = row + row.replace(b'"A","score":1', b'"B","score":0')
    elif kind == "frames":
        data = items(*(experience(n, info={"x": f"{n}" + "x" * 40 * MEGABYTE}) for n in range(2)))
    else:
        data = items(*(experience(n, info={"x": f"{n}" * 500}) for n in range(20_000)))
    (tmp_path / "in").write_bytes(data)
    words: list[str | Path] = ["pair", tmp_path / "in", "-o", tmp_path / "out"]
    code, said, _ = run(*words, memory=memory * MEGABYTE)
    assert code in (0, 1, 5), said
    assert "Traceback" not in said
    assert code == 0 or said.startswith(("error: ", "read as"))


def test_values_that_parquet_repeats(tmp_path: Path) -> None:
    """A kilobyte of repeated values may take gigabytes; long lists are read in small batches."""
    for rows, length, most, why in (
        (1, 30_000_000, 300, "it unpacks to more than"),
        (1, 30_000_000, 1000, "its rows hold 30,000,000 values in one column"),
        (500, 60_000, 300, ""),
    ):
        ones = pa.repeat(pa.scalar(1, pa.int32()), length * rows)
        numbers = pa.ListArray.from_arrays(range(0, length * rows + 1, length), ones)
        made = {"prompt": ["Q"] * rows, "response": ["A"] * rows, "score": [1.0] * rows}
        write_table(pa.table({**made, "x": numbers}), tmp_path / "in", compression="zstd")
        del numbers, ones
        assert (tmp_path / "in").stat().st_size < 10_000
        words: list[str | Path] = [
            "extract",
            tmp_path / "in",
            "--limit",
            "20",
            "-o",
            tmp_path / "o",
            *(["--max-unpacked", "1GB"] if most == 1000 else []),
        ]
        code, said, peak = run(*words)
        assert (code, why in said) == (bool(why), True), said
        assert peak < most, peak


class Code:
    """Code that would run if it were loaded."""

    def __reduce__(self) -> Any:
        """Return what Python's own pickle module would call."""
        return print, ("code was run",)


def mixed() -> bytes:
    """Two good items around a rejected one, then a rejected frame, then another good item."""
    first = items(experience(0), experience(1, info={"x": Code()}), experience(2))
    return first + frame(b"\x80\x05Nq\x07.") + items(experience(3))


def test_one_refused_item_is_one_bad_row(tmp_path: Path) -> None:
    """A rejected item is one bad row; the next item and the next frame are still read."""
    (tmp_path / "in").write_bytes(mixed())
    code, said, _ = run("pair", tmp_path / "in")
    assert (code, "in:2: byte " in said, "it names builtins.print" in said) == (1, True, True)
    words: list[str | Path] = [
        "--on-error",
        "quarantine",
        "--quarantine",
        tmp_path / "bad",
        "-o",
        tmp_path / "out",
    ]
    code, said, _ = run("pair", tmp_path / "in", "--strategy", "exhaustive", *words)
    assert (code, "5 read = 3 used + 0 dropped + 2 bad" in said) == (0, True), said
    pairs = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
    assert {(pair["chosen"], pair["rejected"]) for pair in pairs} == {
        ("A2", "A0"), ("A3", "A0"), ("A3", "A2")
    }  # fmt: skip
    bad = [json.loads(line) for line in (tmp_path / "bad").read_bytes().splitlines()]
    assert [(row["line"], row["reason"]) for row in bad] == [
        (2, "refused_row"), (4, "refused_row")
    ]  # fmt: skip
    assert "item 1: it names builtins.print" in bad[0]["message"]
    assert "the instruction BINPUT" in bad[1]["message"]


def test_a_frame_that_was_cut_off_ends_the_file(tmp_path: Path) -> None:
    """A truncated frame ends the file with an error even with --on-error skip."""
    (tmp_path / "in").write_bytes(mixed()[:-5])
    code, said, _ = run("pair", tmp_path / "in", "--on-error", "skip")
    assert (code, "the frame ends too early" in said) == (1, True)
