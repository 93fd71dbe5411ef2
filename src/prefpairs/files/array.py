"""The elements of a JSON array, one after the other, however large the array is.

Only the borders of the elements are found here; whoever reads an element parses it.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

from prefpairs.errors import BadInput

_CHUNK = 1 << 20
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{},]', re.DOTALL)


def array_elements(stream: BinaryIO, offset: int, label: str) -> Iterator[tuple[int, bytes]]:
    """The elements of the array that a stream holds, each with its offset in the stream.

    >>> import io
    >>> list(array_elements(io.BytesIO(b'[{"a": "]"}, {"b": []}]'), 0, "x.json"))
    [(1, b'{"a": "]"}'), (13, b'{"b": []}')]
    """
    buffer, searched, depth = b"", 0, 0
    while chunk := stream.read(max(_CHUNK, len(buffer))):
        buffer += chunk
        start = 0
        for token in _TOKEN.finditer(buffer, searched):
            searched = token.end()
            found = token.group()
            if found == b'"':  # a string that goes on in the next chunk
                searched = token.start()
                break
            if found in b"[{":
                depth += 1
                start = searched if depth == 1 else start
            elif found in b"]}":
                depth -= 1
            if depth == 0 or (depth == 1 and found == b","):
                yield from _element(buffer[start : token.start()], offset + start)
                start = searched
            if depth == 0:
                _expect_end(found, buffer[searched:] + stream.read(_CHUNK), label)
                return
        else:
            searched = len(buffer)
        buffer, offset, searched = buffer[start:], offset + start, searched - start
    raise BadInput(label, "the JSON array ends too early: it was cut off or is still being written")


def _element(text: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """What stands between two commas of the array, if anything does."""
    element = text.lstrip()
    if element:
        yield offset + len(text) - len(element), element.rstrip()


def _expect_end(closing: bytes, rest: bytes, label: str) -> None:
    if closing != b"]":
        raise BadInput(label, "a bracket of the JSON array is closed by one of another kind")
    if rest.strip():
        raise BadInput(label, "something follows the end of the JSON array")
