"""The elements of a JSON array, one after the other, however large the array is.

Only the borders of the elements are found here; whoever reads an element parses it.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

from prefpairs.errors import BadInput

_CHUNK = 1 << 20
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["\[\]{}]', re.DOTALL)
_BETWEEN = b" \t\r\n,"


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
                end = searched if depth else token.start()
                if depth < 2:
                    yield from _element(buffer[start:end], offset + start)
                    start = searched
                if depth == 0:
                    _expect_nothing(buffer[searched:] + stream.read(_CHUNK), label)
                    return
        else:
            searched = len(buffer)
        buffer, offset, searched = buffer[start:], offset + start, searched - start
    raise BadInput(label, "the JSON array ends too early: it was cut off or is still being written")


def _element(text: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """The element in a stretch of text that begins with what stands between elements."""
    element = text.lstrip(_BETWEEN)
    if element:
        yield offset + len(text) - len(element), element.rstrip(_BETWEEN)


def _expect_nothing(rest: bytes, label: str) -> None:
    if rest.strip():
        raise BadInput(label, "something follows the end of the JSON array")
