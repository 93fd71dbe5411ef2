"""The elements of a JSON array, one after the other, however large the array is.

This module only finds where elements end; they are parsed later. Whatever separates the first two
elements (such as `}, {"id"`) is searched for after each element: if the text up to there is valid
JSON, it is one element. Counting brackets always works, but takes fifteen times as long. It is used
for the first and last element, and where the search fails.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from prefpairs.errors import BadInput
from prefpairs.files.input_file import Input
from prefpairs.files.lines import what_allows

_CHUNK = 1 << 16
_FAR = 1 << 22
_MOST_TRIES = 4
_MOST_MISSES = 16
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{},]', re.DOTALL)
_SEPARATOR = re.compile(rb'\}\s*,\s*\{\s*"[^"\\]*"')
_check = msgspec.json.Decoder(msgspec.Raw).decode


def array_elements(stream: BinaryIO, offset: int, source: Input) -> Iterator[tuple[int, bytes]]:
    """The elements of the array in a stream, each with its offset.

    >>> import io
    >>> x = Input("x.json", "x.json")
    >>> list(array_elements(io.BytesIO(b'[{"a": "]"}, {"b": []}]'), 0, x))
    [(1, b'{"a": "]"}'), (13, b'{"b": []}')]
    """
    return _Array(stream, offset, source).elements()


class _Array:
    """An array that is being read. The next element begins at `_start` in the buffer."""

    def __init__(self, stream: BinaryIO, offset: int, source: Input) -> None:
        self._stream = stream
        self._offset = offset
        self._label = source.label
        self._longest = source.limits.line
        self._buffer = b""
        self._start = 0
        self._separator: bytes | None = None
        self._misses = 0

    def elements(self) -> Iterator[tuple[int, bytes]]:
        """The text between commas. Only an empty array has none."""
        self._open()
        closing, any_before = b",", False
        while closing == b",":
            end = self._quick_end() or self._counted_end()
            text = self._buffer[self._start : end]
            closing = self._buffer[end : end + 1]
            if element := text.lstrip():
                yield self._offset + end - len(element), element.rstrip()
            elif any_before or closing == b",":
                place = self._offset + end + 1
                problem = f"byte {place}: the JSON array has an empty element between its commas"
                raise BadInput(self._label, problem)
            any_before = True
            self._learn(end - len(text) + len(text.rstrip()))
            self._start = end + 1
        self._expect_end(closing)

    def _open(self) -> None:
        while b"[" not in self._buffer and self._load():
            pass
        self._start = self._buffer.index(b"[") + 1

    def _load(self) -> bool:
        """Read on, and drop everything before the next element. False at the end of the stream."""
        chunk = self._stream.read(max(_CHUNK, len(self._buffer) - self._start))
        self._buffer = self._buffer[self._start :] + chunk
        self._offset += self._start
        self._start = 0
        return bool(chunk)

    def _learn(self, end: int) -> None:
        """Remember what separates an element that ends here from the next one."""
        if self._separator is None and self._misses < _MOST_MISSES:
            found = _SEPARATOR.match(self._buffer, max(0, end - 1))
            self._separator = found and found[0]

    def _quick_end(self) -> int | None:
        """Where this element ends, if the next one begins as others did."""
        end = None if self._separator is None else self._end_at(self._separator)
        if end is None:
            self._misses += 1
            self._separator = None
        return end

    def _end_at(self, separator: bytes) -> int | None:
        ahead = 0
        for _ in range(_MOST_TRIES):
            while (place := self._buffer.find(separator, self._start + ahead)) < 0:
                ahead = max(0, len(self._buffer) - self._start - len(separator))
                if ahead > _FAR or not self._load():
                    return None
            try:
                _check(self._buffer[self._start : place + 1])
            except (msgspec.DecodeError, RecursionError):
                ahead = place + 1 - self._start
            else:
                return place + separator.index(b",")
        return None

    def _counted_end(self) -> int:
        """Where this element ends: at a comma, or at the end of the array."""
        ahead, depth = 0, 1
        while True:
            for token in _TOKEN.finditer(self._buffer, self._start + ahead):
                ahead = token.end() - self._start
                found = token.group()
                if found == b'"':  # a string that goes on in the next chunk
                    ahead = token.start() - self._start
                    break
                if found in b"[{":
                    depth += 1
                elif found in b"]}":
                    depth -= 1
                if depth == 0 or (depth == 1 and found == b","):
                    return token.start()
            else:
                ahead = len(self._buffer) - self._start
            if len(self._buffer) - self._start > self._longest:
                problem = f"an element of the JSON array is longer than {what_allows()}"
                hint = "--max-line SIZE allows longer lines"
                if "ulimit" in problem:
                    hint += ", and so does a higher ulimit -v"
                raise BadInput(self._label, problem, hint)
            if not self._load():
                problem = "it was cut off or is still being written"
                raise BadInput(self._label, f"the JSON array ends too early: {problem}")

    def _expect_end(self, closing: bytes) -> None:
        if closing != b"]":
            problem = "a bracket of the JSON array is closed by one of another kind"
            raise BadInput(self._label, problem)
        rest = self._buffer[self._start :]
        while not rest or rest.isspace():
            rest = self._stream.read(_CHUNK)
            if not rest:
                return
        raise BadInput(self._label, "there is more after the end of the JSON array")
