"""Tensors in safetensors format: which ones there are, where they are, and their numbers.

The header is checked against the size of the data. Tensors of types that are not read here
(bfloat16, float8) may be among them.
"""

import struct
from collections.abc import Callable
from itertools import pairwise
from math import prod

import msgspec

from prefpairs.files.pickle_values import Damaged

LARGEST_HEADER = 100_000_000
_MOST_AXES, _LONGEST_AXIS = 16, 1 << 48
_MOST_BRACES, _MOST_COMMAS = 1000, _MOST_AXES + 4
"""How many signs a header may have in strings, and for each tensor: checked before decoding."""
_CODES = {
    "BOOL": "B", "U8": "B", "I8": "b", "I16": "h", "U16": "H", "I32": "i", "U32": "I", "I64": "q",
    "U64": "Q", "F16": "e", "F32": "f", "F64": "d",
}  # fmt: skip
_SIZES = {**{name: struct.calcsize(f"<{code}") for name, code in _CODES.items()}, "BF16": 2}


_A_TENSOR, _A_NUMBER, _WIDEST = 450, 40, 4
"""The memory that a header's tensor takes, each of its numbers and members, and a character."""


class Tensor(msgspec.Struct, gc=False):
    """One tensor: its type, its shape, and the bytes where it begins and ends."""

    dtype: str = ""
    shape: list[int] = []
    data_offsets: tuple[int, int] = (0, 0)


_tensors_of = msgspec.json.Decoder(dict[str, Tensor]).decode


def memory_of_header(text: bytes) -> int:
    """The memory that the tensors of a header take, estimated before decoding."""
    narrow = text.isascii() and b"\\u" not in text
    names = len(text) * (1 if narrow else _WIDEST)
    return names + _A_TENSOR * text.count(b'"data_offsets"') + _A_NUMBER * text.count(b",")


def read_header(text: bytes, size: int, hold: Callable[[int], object] = int) -> dict[str, Tensor]:
    """The tensors of a header, in the order of their data, which has `size` bytes.

    `hold` is called with the memory they take before they are decoded, and may raise.
    """
    count = text.count(b'"data_offsets"')
    if text.count(b"{") > _MOST_BRACES + 2 * count:
        raise Damaged(0, "not a safetensors header (objects that are not tensors)")
    if text.count(b",") > _MOST_BRACES + _MOST_COMMAS * count:
        raise Damaged(0, "not a safetensors header (more numbers than tensors have)")
    hold(memory_of_header(text))
    try:
        tensors = _tensors_of(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Damaged(0, f"not a safetensors header ({error})") from None
    tensors.pop("__metadata__", None)
    if count != len(tensors):
        raise Damaged(0, "a tensor occurs twice in the header, or has no offsets")
    ordered = sorted(tensors.items(), key=lambda item: item[1].data_offsets)
    ends = [(0, 0), *(tensor.data_offsets for _, tensor in ordered), (size, size)]
    for (_, end), (begin, _) in pairwise(ends):
        if end != begin:
            raise Damaged(0, f"tensors that end at byte {end} and begin at {begin}")
    for name, tensor in ordered:
        _check(name, tensor)
    return dict(ordered)


def _check(name: str, tensor: Tensor) -> None:
    """Raise if the shape of a tensor does not fit the size of its data."""
    begin, end = tensor.data_offsets
    axes = tensor.shape
    sound = len(axes) <= _MOST_AXES and all(0 <= axis < _LONGEST_AXIS for axis in axes)
    itemsize = _SIZES.get(tensor.dtype)
    fits = sound and (itemsize is None or prod(axes) * itemsize == end - begin)
    if begin > end or not fits:
        shape = f"the shape {axes}" if sound else "a shape that no tensor has"
        shown = f"{name[:60]}: {tensor.dtype[:20]} of {shape}"
        raise Damaged(0, f"{shown} has {end - begin} bytes")


def numbers_of(
    name: str, tensor: Tensor, data: bytes, most: int = 1 << 23
) -> list[int | float | bool]:
    """The numbers of a one-dimensional tensor."""
    code = _CODES.get(tensor.dtype)
    if code is None or len(tensor.shape) != 1:
        shown = f"{tensor.dtype[:20]} of the shape {tensor.shape}"
        raise Damaged(0, f"{name[:60]} is not a row of numbers but {shown}")
    if tensor.shape[0] > most:
        raise Damaged(0, f"{name[:60]} has {tensor.shape[0]} numbers, which no row has")
    return list(struct.unpack(f"<{tensor.shape[0]}{code}", data))
