"""Limits on the memory that JSON takes: of the values of a line, and of the JSON libraries.

A value takes many times the bytes of its text: `{},` is three bytes, and takes a hundred. So the
memory of a line's values is estimated before it is decoded.

Under a limit on memory (`ulimit -v`), orjson and msgspec would crash: they do not check whether
they got the memory they asked for. So Python asks for it first, which raises MemoryError, and gives
it back. Without a limit none of this is done.
"""

import resource
from typing import Any

import orjson

from prefpairs.errors import NotJson

LIMITED = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY

_MOST, _TIMES = 256_000_000, 2
"""The memory that the values of a line may take, plus a multiple of the line's length."""

_A_QUOTE = 16
_WEIGHTS = ((b",", 40), (b":", 64), (b'"', _A_QUOTE), (b"[", 64), (b"{", 136))
"""The memory that each sign represents: a value in a list, a member's place in an object, half a
string, an empty list, and an object with a member."""

LIGHT = _MOST // 64
"""Lines up to this length are never rejected: each byte takes less than 64."""

CHECKED_FROM = 0 if LIMITED else LIGHT
"""Longer lines are checked before they are decoded."""

_WIDEST = 4
"""Bytes that a character may take."""

_PIECE = 1 << 20

_RESERVED, _WRITTEN = 8, 6
"""Bytes that orjson reserves for each byte of a string, and the most it writes for it."""

_ITEM_RESERVED, _ITEM_WRITTEN, _MEMBER_TIMES = 160, 32, 2
"""The same for each item of a list without its strings. A member of an object counts twice."""

_LARGEST_COPIED = 1 << 25
"""Larger blocks grow without being copied, on Linux."""

_LITTLE = 1 << 16
"""What anything takes."""


def memory_taken() -> int:
    """The address space of this process, which `ulimit -v` limits. Linux only."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def check_values(line: bytes) -> None:
    """Raise if the values of a line would take more memory than is allowed or available."""
    most = _MOST + _TIMES * len(line)
    if _weight(line) > most and _weight_outside_strings(line, most) > most:
        problem = "its values would take more memory than its length allows"
        raise NotJson(problem, "too_many_values")
    if LIMITED:
        require(memory_of(line))


def memory_of(line: bytes) -> int:
    """The most memory that the values of a line may take, strings included."""
    return _weight(line) + _WIDEST * len(line)


def require(size: int) -> None:
    """Raise MemoryError unless this much memory, and a little more, is available."""
    bytearray(_LITTLE + size)


def _weight(text: bytes) -> int:
    return sum(weight * text.count(sign) for sign, weight in _WEIGHTS)


def _weight_outside_strings(line: bytes, most: int) -> int:
    """The weight without the signs in strings, as far as it is up to `most`."""
    bare = line.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in line else line
    found, in_string = 0, 0
    for start in range(0, len(bare), _PIECE):  # in pieces, for there may be millions of strings
        parts = bare[start : start + _PIECE].split(b'"')
        found += _weight(b"".join(parts[in_string::2])) + _A_QUOTE * (len(parts) - 1)
        if found > most:
            break
        in_string ^= ~len(parts) & 1
    return found


def _guarded_dumps(value: Any, default: None = None, option: int | None = None) -> bytes:
    buffer = 1 << _buffer_size(value).bit_length()  # it doubles until everything fits
    require(buffer + min(buffer // 2, _LARGEST_COPIED))
    return orjson.dumps(value, default, option)


def _buffer_size(value: Any) -> int:
    """How many bytes orjson's buffer must have at most to write a value."""
    written, most, left = 0, 0, [value]
    while left:
        one = left.pop()
        if type(one) is str:
            size = len(one) if one.isascii() else len(one.encode("utf-8", "surrogatepass"))
            written += _WRITTEN * size
            most = max(most, (_RESERVED - _WRITTEN) * size)
        elif type(one) is list or type(one) is dict:
            items = len(one) if type(one) is list else _MEMBER_TIMES * len(one)
            written += _ITEM_WRITTEN * items
            most = max(most, _ITEM_RESERVED * items)
            left += one
            if type(one) is dict:
                left += one.values()
    return written + most


dumps = _guarded_dumps if LIMITED else orjson.dumps
