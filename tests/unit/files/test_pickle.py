"""Reads plain data from pickles, and rejects everything that would run code."""

import base64
import math
import os
import pathlib
import pickle
import re
import struct
import time
import tracemalloc
from collections import OrderedDict
from contextlib import suppress
from datetime import datetime
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.files.pickle_reader import unpickled
from prefpairs.files.pickle_values import Damaged, NotRead

STATE = b"(K\x03\x8c\x01%bNNNJ\xff\xff\xff\xffK\x00tb"
DTYPE = b"\x8c\x05numpy\x8c\x05dtype\x93\x8c\x02%b\x89\x88\x87R" + STATE
SCALAR = b"\x80\x05\x8c\x16numpy._core.multiarray\x8c\x06scalar\x93%bC%b%b\x86R."


def _problem(data: bytes) -> str:
    with pytest.raises(Damaged) as caught:
        unpickled(data)
    assert 0 <= caught.value.place <= len(data)
    return caught.value.problem


def _lists(value: Any) -> Any:
    """The value as JSON represents it, with tuples as lists."""
    if isinstance(value, (list, tuple)):
        return [_lists(item) for item in value]
    return {key: _lists(item) for key, item in value.items()} if type(value) is dict else value


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(),
    st.text("ab", min_size=300, max_size=400), st.integers(-(2**200), 2**200), st.binary(),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner),
        st.dictionaries(st.text(), inner),
        st.tuples(inner, inner),
        inner.map(lambda value: [value] * 3),
    ),
)


@given(VALUES, st.sampled_from([4, 5]))
def test_what_python_writes(value: Any, protocol: int) -> None:
    """Values pickled by Python are read back."""
    assert _lists(unpickled(pickle.dumps(value, protocol)).value) == _lists(value)


@pytest.mark.parametrize("size", [0, 255, 256, 70_000])
def test_long_texts_and_lists(size: int) -> None:
    """Each length has its own instruction."""
    value = {"text": "x" * size, "list": ["y"] * size, "numbers": [*range(size)]}
    assert unpickled(pickle.dumps(value, 5)).value == value


def test_half_an_emoji() -> None:
    """Lone surrogates, which Python can pickle, are read."""
    assert unpickled(pickle.dumps("cut \ud83d", 5)).value == "cut \ud83d"


@pytest.mark.parametrize(
    ("value", "simple"),
    [
        ([1, "a", {}], True),
        ([math.inf], False),
        ([math.nan], False),
        ([[{}]] * 2, False),
        (["abc" * 1000] * 1000, False),
        (["abc" * 10] * 2, True),
    ],
)
def test_simple(value: Any, simple: bool) -> None:
    """Values with shared parts, or numbers that JSON lacks, are not simple."""
    assert unpickled(pickle.dumps(value, 5)).simple is simple


def test_keys() -> None:
    """Numbers and similar keys become text, as in JSON."""
    assert unpickled(pickle.dumps({1: "a", None: "b", "c": "d"}, 5)).value == {
        "1": "a", "None": "b", "c": "d"
    }  # fmt: skip


class Evil:
    """Would run a command if it were loaded."""

    def __reduce__(self) -> Any:
        """Return what Python's own pickle module would call."""
        return os.system, ("touch /tmp/owned",)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pickle.dumps(Evil(), 5), "it names posix.system, which is code"),
        (pickle.dumps(Evil(), 4), "it names posix.system, which is code"),
        (pickle.dumps(OrderedDict(a=1), 5), "it names collections.OrderedDict"),
        (pickle.dumps(print, 5), "it names builtins.print"),
        (pickle.dumps({1}, 5), "EMPTY_SET"),
        (pickle.dumps(frozenset({1}), 5), "FROZENSET"),
        (pickle.dumps(bytearray(b"x"), 5), "BYTEARRAY8"),
        (pickle.dumps(2**3000, 5), "LONG4"),
        (b"\x80\x05cos\nsystem\n.", "GLOBAL"),
        (b"\x80\x05\x8c\x02os\x8c\x06system\x93.", "it names os.system"),
        (b"\x80\x05(ios\nsystem\n.", "INST"),
        (b"\x80\x05Nr\xff\xff\xff\x07.", "LONG_BINPUT"),
        (b"\x80\x05Nq\x07.", "BINPUT"),
        (b"\x80\x05Np7\n.", "PUT"),
        (b"\x80\x05N2.", "DUP"),
        (b"\x80\x05P7\n.", "PERSID"),
        (b"\x80\x05\x97.", "NEXT_BUFFER"),
        (b"\x80\x05\x82\x01.", "EXT1"),
        (b"\x80\x05N)\x81.", "NEWOBJ"),
        (b"\x80\x05\xff.", "0xff"),
        (b"\x80\x03N.", "not a pickle of protocol 4 or 5"),
        (b"N.", "not a pickle"),
        (b"", "not a pickle"),
        (b"\x80\x05", "ends too early"),
        (b"\x80\x05.", "one value"),
        (b"\x80\x05NN.", "one value"),
        (b"\x80\x05(N.", "one value"),
        (b"\x80\x05N.N", "one value"),
        (b"\x80\x05N", "ends too early"),
        (b"\x80\x05K", "ends too early"),
        (b"\x80\x05G\x00.", "uses a missing value"),
        (b"\x80\x05h\x00.", "uses a missing value"),
        (b"\x80\x05\x94.", "uses a missing value"),
        (b"\x80\x05a.", "uses a missing value"),
        (b"\x80\x05e.", "uses a missing value"),
        (b"\x80\x05N\x86.", "uses a missing value"),
        (b"\x80\x05t.", "uses a missing value"),
        (b"\x80\x05NNa.", "not a list"),
        (b"\x80\x05N(e.", "not a list"),
        (b"\x80\x05]NNs.", "not an object"),
        (b"\x80\x05}(Nu.", "a key without a value"),
        (b"\x80\x05\x8c\x02\xff\xff.", "not UTF-8"),
        (b"\x80\x05\x8c\x09abc.", "9 bytes are announced, and 4 come"),
        (b"\x80\x05X\xff\xff\xff\xff.", "4294967295 bytes are announced"),
        (b"\x80\x05\x8d" + b"\xff" * 8 + b".", "18446744073709551615 bytes are announced"),
        (b"\x80\x05B\xff\xff\xff\xff.", "4294967295 bytes are announced"),
        (b"\x80\x05\x95\xff", "8 bytes are announced"),
        (b"\x80\x05]NR.", "no number of numpy"),
        (b"\x80\x05]Nb.", "no type of numpy"),
        (b"\x80\x05]\x93.", "uses a missing value"),
        (b"\x80\x05]]\x93.", "it names [].[]"),
    ],
)
def test_refused(data: bytes, words: str) -> None:
    """Rejected by name, and nothing in it is run."""
    assert words in _problem(data)


@pytest.mark.parametrize(
    ("code", "order", "data", "value"),
    [
        (b"f4", b"<", struct.pack("<f", 0.5), 0.5),
        (b"f8", b"<", struct.pack("<d", 0.1), 0.1),
        (b"f8", b">", struct.pack(">d", 0.1), 0.1),
        (b"f2", b"<", struct.pack("<e", 0.5), 0.5),
        (b"i8", b"<", struct.pack("<q", -7), -7),
        (b"u1", b"|", b"\x07", 7),
        (b"b1", b"|", b"\x01", True),
    ],
)
def test_numbers_of_numpy(code: bytes, order: bytes, data: bytes, value: Any) -> None:
    """Numbers pickled by numpy, read without it."""
    found = unpickled(SCALAR % (DTYPE % (code, order), bytes([len(data)]), data))
    assert (found.value, type(found.value)) == (value, type(value))


@pytest.mark.parametrize(
    ("dtype", "data"),
    [
        (DTYPE % (b"O8", b"|"), b"12345678"),
        (DTYPE % (b"f8", b"?"), b"12345678"),
        (DTYPE % (b"f8", b"<"), b"1234"),
        (b"N", b"1234"),
    ],
)
def test_what_is_no_number_of_numpy(dtype: bytes, data: bytes) -> None:
    """Rejects objects, unknown byte orders, missing bytes and missing types."""
    assert "numpy" in _problem(SCALAR % (dtype, bytes([len(data)]), data))


def test_not_a_number_of_numpy() -> None:
    """NaN in numpy's form makes its container not simple."""
    data = SCALAR % (DTYPE % (b"f4", b"<"), b"\x04", struct.pack("<f", math.nan))
    assert not unpickled(data).simple


OF_NUMPY = (
    "gAWVNAEAAAAAAAB9lCiMB3Jld2FyZHOUXZQojBZudW1weS5fY29yZS5tdWx0aWFycmF5lIwGc2NhbGFylJOUjAVudW1weZSM"
    "BWR0eXBllJOUjAJmOJSJiIeUUpQoSwOMAT6UTk5OSv////9K/////0sAdJRiQwg/uZmZmZmZmpSGlFKUaAVoC0MIP+zMzMzM"
    "zM2UhpRSlGgFaAiMAmY0lImIh5RSlChLA4wBPJROTk5K/////0r/////SwB0lGJDBAAAAD+UhpRSlGWMBWNvdW50lGgFaAiM"
    "Amk4lImIh5RSlChLA2gXTk5OSv////9K/////0sAdJRiQwgHAAAAAAAAAJSGlFKUjAJva5RoBWgIjAJiMZSJiIeUUpQoSwOM"
    "AXyUTk5OSv////9K/////0sAdJRiQwEBlIaUUpR1Lg=="
)
"""Pickled by numpy 2.4.6, with two big-endian numbers.

The value is {"rewards": [Of(0.1), Of(0.9), float32(0.5)], "count": int64(7), "ok": bool_(True)},
where Of(x) reduces to (scalar, (dtype(">f8"), array(x, ">f8").tobytes())), as big-endian numbers
do.
"""


def test_numbers_that_numpy_wrote() -> None:
    """The second big-endian number refers to the first one's type, whose state came later."""
    found = unpickled(base64.b64decode(OF_NUMPY)).value
    assert found == {"rewards": [0.1, 0.9, 0.5], "count": 7, "ok": True}


@pytest.mark.parametrize("protocol", [0, 1, 2, 3])
@given(VALUES)
def test_older_protocols(protocol: int, value: Any) -> None:
    """Older protocols are rejected, since frames never use them."""
    with pytest.raises(Damaged, match="not a pickle of protocol 4 or 5"):
        unpickled(pickle.dumps(value, protocol))


INSTRUCTIONS = [
    b"N", b"\x88", b"\x89", b"K\x07", b"M\x07\x07", b"J\xff\xff\xff\xff", b"\x8a\x01\xfe",
    b"\x8a\x00",
    b"G\x3f\xe0\0\0\0\0\0\0", b"\x8c\x01a", b"X\x01\0\0\0b", b"\x8d\x01\0\0\0\0\0\0\0c", b"C\x01x",
    b"B\x01\0\0\0y", b"]", b"}", b")", b"(", b"a", b"e", b"s", b"u", b"\x85", b"\x86", b"\x87",
    b"t", b"\x94", b"h\x00", b"h\x01", b"j\x02\0\0\0",
]  # fmt: skip


def _as_text(value: Any) -> str:
    """A value as text, also if it contains itself; keys are texts here."""
    return re.sub(r"'([^']*)': ", r"\1: ", repr(value))


@examples(1000)
@given(st.lists(st.sampled_from(INSTRUCTIONS), max_size=40), st.sampled_from([4, 5]))
def test_what_is_read_is_what_python_reads(program: list[bytes], protocol: int) -> None:
    """For any sequence of instructions, the value is Python's, or is rejected."""
    data = b"\x80" + bytes([protocol]) + b"]\x94}\x94" + b"".join(program) + b"\x87."
    with suppress(Damaged):
        found = _as_text(unpickled(data).value)
        if "NotRead" not in found:
            assert found == _as_text(pickle.loads(data))  # noqa: S301 - it calls nothing


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (print, "it names builtins.print"),
        (OrderedDict(a=1), "it names collections.OrderedDict"),
        ({1}, "EMPTY_SET"),
        (frozenset({1}), "FROZENSET"),
        (2**3000, "LONG4"),
        (pathlib.PurePosixPath("x"), f"it names {pathlib.PurePosixPath.__module__}.PurePosixPath"),
        (datetime(2026, 1, 1), "it names datetime.datetime"),  # noqa: DTZ001 - none is wanted
        (Fraction(1, 2), "it names fractions.Fraction"),
        (SimpleNamespace(a=[1]), "it names types.SimpleNamespace"),
    ],
)
@pytest.mark.parametrize("protocol", [4, 5])
def test_what_is_not_read_leaves_the_rest(value: Any, words: str, protocol: int) -> None:
    """Only the rejected value is replaced by the reason."""
    given_ = ["before", {"a": value, "b": [value]}, "after"]
    before, inner, after = unpickled(pickle.dumps(given_, protocol)).value
    assert (before, after) == ("before", "after")
    for unread in (inner["a"], *inner["b"]):
        assert type(unread) is NotRead
        assert words in unread.damage.problem


def test_a_key_that_is_not_read() -> None:
    """A rejected key marks its object."""
    ((key, value),) = unpickled(pickle.dumps({(1, 2): "a"}, 5)).value.items()
    assert (type(key), value) == (NotRead, None)


SIZE = 100_000
BOMBS = {
    **{
        f"{code!r} again and again": b"\x80\x05]\x94}\x94(" + code * (SIZE // len(code)) + b"t."
        for code in (
            *INSTRUCTIONS,
            b"]\x94",
            b"}\x94",
            b"}NNs",
            b"](NNe",
            b"(t",
            b"\x8f",
            b"(\x91",
            b"\x8c\x00\x8c\x00\x93",
            b"\x8c\x02\xc3\xa4",
            b"\x8c\x04\xf0\x9f\x98\x80",
        )
    },
    "a place far away": b"\x80\x05Nr\xff\xff\xff\x07.",
    "lists": b"\x80\x05" + b"]" * SIZE,
    "objects": b"\x80\x05" + b"}" * SIZE,
    "lists in lists": b"\x80\x05" + b"]" * SIZE + b"a" * SIZE,
    "marks": b"\x80\x05" + b"(" * SIZE,
    "tuples": b"\x80\x05N" + b"\x85" * SIZE,
    "objects with a member": b"\x80\x05](" + b"}NNs" * (SIZE // 4) + b"e.",
    "texts": b"\x80\x05(" + b"\x8c\x02ab" * (SIZE // 4),
    "a memo": b"\x80\x05N" + b"\x94" * SIZE + b".",
    "keys that collide": b"\x80\x05}("
    + b"".join(b"\x8a\x0c%bN" % ((2**61 - 1) * n).to_bytes(12, "little") for n in range(20_000))
    + b"u.",
    "doubled": b"\x80\x05N" + b"\x85\x94h\x00" * (SIZE // 4) + b".",
}


@pytest.mark.full
@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str) -> None:
    """A value or an error, soon, with memory proportional to the bytes."""
    data = BOMBS[name]
    tracemalloc.start()
    begin = time.process_time()
    try:
        unpickled(data)
    except Damaged:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 1_500_000 + 40 * len(data)
    assert time.process_time() - begin < 10


@given(VALUES, st.data())
def test_any_byte_may_be_wrong(value: Any, data: st.DataObject) -> None:
    """A value or a rejection, but no other exception."""
    pickled = bytearray(pickle.dumps(value, 5))
    for _ in range(data.draw(st.integers(1, 3))):
        pickled[data.draw(st.integers(0, len(pickled) - 1))] = data.draw(st.integers(0, 255))
    with suppress(Damaged):
        unpickled(bytes(pickled))
