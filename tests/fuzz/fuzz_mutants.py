"""Rows and files in which something is as hostile as JSON, or broken JSON, can be."""

import gzip
import json
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from backports import zstd
from fuzz_seeds import rows, seeds, tables

from prefpairs.sources import SOURCES

_PRIVATE = "\ue000"
"""Marks where the bytes of a value will be put; no seed contains it."""


def _nested(depth: int, inner: bytes = b"") -> bytes:
    return b"[" * depth + inner + b"]" * depth


NUMBERS = [
    *(
        b"0 -0.0 1 -1 2.5 18446744073709551615 18446744073709551616 -9223372036854775809 1e400"
        b" -1e400 1e-400 NaN Infinity -Infinity 1.7976931348623157e308 8e307 0.30000000000000004"
    ).split(),
    b"9" * 400,
    b"9" * 4300,
    b"9" * 4301,
    b"1" * 5000 + b".5",
]
TEXTS = (
    "",
    " ",
    "\n",
    "\0",
    "\x1b[31m\x07",
    "\x7f\x9b",
    "\u202e\u2066\u200f",
    "\u2028\x85\x1c",
    "\ud800",
    "\udc00\ud83d",
    "😀",
    "é" * 300,
    "a.b",
    "0",
    "0.5",
    "1e400",
    "nan",
    "2024-01-01",
    "null",
    "{}",
    "[1]",
    '{"a": NaN, "a": 18446744073709551616}',
    '{"b":"\\ud800"}',
    "[" * 300,
    "[" * 249 + "]" * 249,
    "<think>",
    "</think>",
    "<think>hm</think>A",
    "<think></think>",
    "<tool_call>",
    "<PLACEHOLDER",
    "TTC_END",
    "system",
    "developer",
    "user",
    "assistant",
    "tool",
    "human",
    "gpt",
    "function_call",
    "observation",
    "message",
    "text",
    "image",
    "output_text",
    "refusal",
    "reasoning",
    "function",
    "0" * 32,
    "prompt:",
    "9" * 4301,
    "~~~`",
)
OTHERS = (
    b'null true false [] {} [[]] [{}] [null] [[[]],1] [{},{}] [1,"a",null] '.split()
    + [_nested(depth) for depth in (5, 240, 245, 246, 247, 248, 249, 250, 251, 1000)]
    + [_nested(3, b"NaN"), _nested(247, b"1e400"), b'{"":' * 248 + b"0" + b"}" * 248]
    + [b'{"a":1,"a":2}', b'{"role":"user","content":"Q"}', b'[{"role":"assistant","content":"A"}]']
    + [b'{"from":"gpt","value":"A"}', b'[{"from":"human","value":null}]', b'{"type":"text"}']
    + [b'[{"type":"image","image":null}]', b'[{"type":"text","text":"A"},"B"]', b'{"name":"f"}']
    + [b'[{"function":{"name":"f","arguments":{"a":NaN}},"id":7}]', b'[{"name":"f"}]']
    + [b"{" + b",".join(b'"k%d":%d' % (key, key) for key in range(300)) + b"}"]
)
RARE = (
    _nested(100_000),
    b'"' + b"x" * 70_000 + b'"',
    b"[" * 100_000,
    b"{" + b",".join(b'"k%d":0' % key for key in range(5_000)) + b"}",
)


_MOST_ROWS = 12


def raw_value(chance: Random) -> bytes:
    """A hostile value, as its bytes."""
    kind = chance.randrange(40)
    if kind == 0:
        return chance.choice(RARE)
    if kind < 10:
        return chance.choice(NUMBERS)
    if kind < 25:
        return _text(chance.choice(TEXTS), chance)
    return chance.choice(OTHERS)


def _text(text: str, chance: Random) -> bytes:
    if chance.randrange(2):
        return json.dumps(text).encode()
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")


def mutant_row(given: tuple[bytes, ...], chance: Random, most: int = 3) -> bytes:
    """A row with up to this many changes."""
    row = _loads(chance.choice(given))
    put: list[bytes] = []
    for _ in range(chance.randint(1, most)):
        _change(row, given, chance, put)
    line = json.dumps(row, ensure_ascii=chance.randrange(2) == 0).encode("utf-8", "surrogatepass")
    for number, value in enumerate(put):
        for mark in (json.dumps(_mark(number)), json.dumps(_mark(number), ensure_ascii=False)):
            line = line.replace(mark.encode(), value)
    return line


def _loads(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return {"prompt": "Q", "response": "A", "score": 1}


def _mark(number: int) -> str:
    return f"{_PRIVATE}{number}"


def _change(row: Any, given: tuple[bytes, ...], chance: Random, put: list[bytes]) -> None:
    """Change one thing at a random place in a row."""
    at, key = _place(row, chance)
    if key is None:
        return
    kind = chance.randrange(12)
    if kind < 7:
        at[key] = _mark(len(put))
        put.append(raw_value(chance))
    elif kind == 7:
        del at[key]
    elif kind == 8:
        other, there = _place(_loads(chance.choice(given)), chance)
        at[key] = other[there] if there is not None else None
    elif kind == 9:
        at[key] = [at[key]] if chance.randrange(2) else {"content": at[key]}
    elif isinstance(at, list):
        at.extend(at[:50])
    elif kind == 10:
        at[chance.choice(TEXTS)] = at.pop(key)
    else:  # a duplicate key
        name = _mark(len(put))
        put.append(json.dumps(key).encode())
        at[name] = _mark(len(put))
        put.append(raw_value(chance))


def _place(row: Any, chance: Random) -> tuple[Any, Any]:
    """A random place in a row: its container and its key there."""
    at: Any = row
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return at, None
        key = chance.choice(keys)
        if not isinstance(at[key], (dict, list)) or not at[key] or chance.randrange(4) == 0:
            return at, key
        at = at[key]


def mutant_file(given: tuple[tuple[bytes, ...], ...], chance: Random) -> bytes:
    """A file in which some rows are changed, in any of the file formats."""
    whole = chance.choice(given)[:_MOST_ROWS]
    lines = [*whole]
    for at in chance.sample(range(len(whole)), min(len(whole), chance.randint(0, 3))):
        lines[at] = mutant_row((whole[at], chance.choice(whole)), chance, most=2)
    return packed_file(lines, chance)


def packed_file(lines: list[bytes], chance: Random) -> bytes:
    """Lines in one of the formats that files have, sometimes broken."""
    kind = chance.randrange(8)
    if kind == 0:
        data = b"[" + chance.choice([b",", b",\n ", b" ,"]).join(lines) + b"]"
    else:
        end = chance.choice([b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b" \n\t\n", b"\r"])
        data = end.join(lines) + chance.choice([b"", end])
    if chance.randrange(8) == 0:
        data = chance.choice([b"\xef\xbb\xbf", b"\n", b" ", b"\x00", b"\xff\xfe"]) + data
    if chance.randrange(8) == 0:
        data = bent(data, chance)
    if chance.randrange(16) == 0:
        packs: list[Callable[[bytes], bytes]] = [partial(gzip.compress, mtime=0), zstd.compress]
        data = chance.choice(packs)(data)
        data = bent(data, chance) if chance.randrange(2) else data
    return data


def bent(data: bytes, chance: Random) -> bytes:
    """The bytes with some cut off, removed or changed."""
    if not data:
        return b"\xff"
    at = chance.randrange(len(data))
    kind = chance.randrange(4)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[at + chance.randint(1, 9) :]
    if kind == 2:
        return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    return data[:at] + raw_value(chance) + data[at:]


OF_FILES = frozenset(
    {
        "rollouts",
        "ready-pairs",
        "index",
        "engines",
        "engines-of-pairs",
        "surroundings",
        "shards",
        "lines",
        "rules",
    }
)
"""The targets that read files of rows."""


def mutant(target: str, chance: Random) -> bytes:
    """An input for a target, made from its seeds."""
    if target in OF_FILES:
        return mutant_file(tables(target), chance)
    if target in (*SOURCES, "pairs"):
        row = mutant_row(rows(target), chance)
        return row if chance.randrange(10) else bent(row, chance)
    if target == "elements":
        lines = [mutant_row(rows(), chance) for _ in range(chance.randint(0, 3))]
        data = b"[" + b",\n".join(lines) + b"]"
        return data if chance.randrange(3) else bent(data, chance)
    data = chance.choice(seeds(target))
    if target in ("manifest", "tokenizer") and chance.randrange(4):
        return mutant_row((data,), chance)
    for _ in range(chance.randint(1, 4)):
        data = bent(data, chance)
    return data
