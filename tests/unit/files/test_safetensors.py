"""Checks headers of safetensors against their data."""

import json
import tracemalloc
from typing import Any

import pytest
from trinity_files import tensors, whole

from prefpairs.files.pickle_values import Damaged
from prefpairs.files.safetensors import Tensor, memory_of_header, numbers_of, read_header


def _header(given: Any, size: int) -> dict[str, Tensor]:
    return read_header(json.dumps(given).encode(), size)


def _entry(dtype: Any = "I32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def test_header() -> None:
    """Sorted by position in the data, not in the header; types may be unknown."""
    given = {
        "__metadata__": {"format": "pt"},
        "b": _entry("F8_E4M3", [3], [12, 15]),
        "c": _entry("BF16", [1, 2], [8, 12]),
        "a": _entry(),
    }
    assert list(_header(given, 15)) == ["a", "c", "b"]
    assert _header({}, 0) == {}


@pytest.mark.parametrize(
    ("given", "size", "words"),
    [
        ({"a": _entry()}, 9, "end at byte 8 and begin at 9"),
        ({"a": _entry()}, 7, "end at byte 8 and begin at 7"),
        ({"a": _entry(), "b": _entry()}, 16, "end at byte 8 and begin at 0"),
        ({"a": _entry(offsets=[4, 12])}, 12, "end at byte 0 and begin at 4"),
        ({"a": _entry(shape=[3])}, 8, "I32 of the shape [3] has 8 bytes"),
        ({"a": _entry(shape=[-2])}, 8, "has 8 bytes"),
        ({"a": _entry(shape=[2**49, 0])}, 8, "has 8 bytes"),
        ({"a": _entry(shape=[1] * 17)}, 8, "has 8 bytes"),
        ({"a": _entry(shape=[10**400])}, 8, "a shape that no tensor has"),
        ({"a": _entry("F4", [1], [0, 8]), "b": _entry("F4", [1], [8, 4])}, 4, "has -4 bytes"),
        ({"a": {"dtype": "I32", "shape": [0]}}, 0, "has no offsets"),
        ({"a": _entry(7)}, 8, "not a safetensors header"),
        ({"a": 7}, 8, "not a safetensors header"),
        ([], 0, "not a safetensors header"),
    ],
)
def test_wrong_headers(given: Any, size: int, words: str) -> None:
    """Each wrong header is rejected."""
    with pytest.raises(Damaged) as caught:
        _header(given, size)
    assert words in caught.value.problem


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 5000])
def test_no_json(text: bytes) -> None:
    """Invalid JSON is rejected."""
    with pytest.raises(Damaged, match="not a safetensors header"):
        read_header(text, 0)


def test_a_name_that_occurs_twice() -> None:
    """Duplicate names are rejected, since readers differ on which one to use."""
    entry = json.dumps(_entry())
    with pytest.raises(Damaged, match="occurs twice"):
        read_header(f'{{"a": {entry}, "a": {entry}}}'.encode(), 8)


@pytest.mark.parametrize("dtype", ["I32", "I64", "U8", "U16", "F32"])
def test_numbers(dtype: str) -> None:
    """Reads numbers of every type used for tokens."""
    given = whole([1, 2, 200], dtype)
    (tensor,) = read_header(
        tensors({"a": given})[8:].partition(b"}}")[0] + b"}}", len(given[2])
    ).values()
    assert numbers_of("a", tensor, given[2]) == [1, 2, 200]


@pytest.mark.parametrize(("dtype", "shape"), [("BF16", [2]), ("I32", [1, 1]), ("I32", [])])
def test_no_row_of_numbers(dtype: str, shape: list[int]) -> None:
    """Rejects other types, and tensors with several axes."""
    with pytest.raises(Damaged, match="not a row of numbers"):
        numbers_of("a", Tensor(dtype, shape, (0, 4)), b"1234")


@pytest.mark.parametrize(("axes", "axis"), [(0, 0), (1, 0), (1, 300), (16, 300), (4, 1 << 40)])
@pytest.mark.parametrize("name", ["", "long" * 100, "\U0001f600" + "long" * 100, "\\u4e16"])
def test_memory_of_a_header(axes: int, axis: int, name: str) -> None:
    """A header takes no more memory than was estimated before reading it."""
    count = 500
    told = []
    for place in range(1000, 1000 + count):
        told.append(f'"{name}{place}":{{"dtype":"F4","shape":{[axis] * axes},')
        told[-1] += f'"data_offsets":[{place},{place + 1}]}}'
    text = f"{{{','.join(told)}}}".replace("[1000,1001]", "[0,1001]").replace(" ", "").encode()
    tracemalloc.start()
    try:
        assert len(read_header(text, 1000 + count)) == count
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert memory_of_header(text) / 3 < peak < memory_of_header(text)
