"""orjson and msgspec, kept from crashing where memory is limited (`ulimit -v`).

Neither looks whether it got the memory that it asked for. So what they may need is asked for once
by Python, which raises MemoryError, and given back. Without a limit none of this is done.
"""

import resource
from typing import Any

import orjson

LIMITED = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY

_RESERVED, _WRITTEN = 8, 6
"""Bytes that orjson reserves for each byte of a text, and those that it may write of it."""

_ITEM_RESERVED, _ITEM_WRITTEN, _MEMBER_TIMES = 160, 32, 2
"""The same for each item of a list, without its texts; and for a member of an object as for two."""

_LARGEST_COPIED = 1 << 25
"""Larger blocks grow without a copy of them, where Linux gives them."""

_LITTLE = 1 << 16
"""What anything takes."""


def spare(size: int) -> None:
    """Raise MemoryError if there is no room for so many bytes, and a little more."""
    bytearray(_LITTLE + size)


def _dumps_with_care(value: Any, default: None = None, option: int | None = None) -> bytes:
    buffer = 1 << _reserved(value).bit_length()  # it doubles until all goes into it
    spare(buffer + min(buffer // 2, _LARGEST_COPIED))
    return orjson.dumps(value, default, option)


def _reserved(value: Any) -> int:
    """At most so many bytes must go into the buffer of orjson while it writes a value."""
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


dumps = _dumps_with_care if LIMITED else orjson.dumps
