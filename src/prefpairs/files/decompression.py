"""Decompression of gzip and zstd, within the limits of an input."""

import gzip
import io
from collections.abc import Callable
from typing import IO, Any, cast

from prefpairs.errors import BadInput
from prefpairs.files.file_signatures import GZIP, HEAD
from prefpairs.files.input_file import Input, too_much
from prefpairs.optional_libraries import missing_library

_BUFFER, _STEP = 1 << 18, 1 << 14
_FRAMES, _BYTES_A_FRAME = 10_000, 32
"""How many frames a file may have at least, and one more for every 32 bytes: a row has more."""


def decompressed(compressed: "CountedStream", head: bytes, source: Input) -> io.BufferedReader:
    """The content of a compressed stream, up to the limit of the input."""
    is_gzip = head.startswith(GZIP)
    content = _open_gzip(compressed) if is_gzip else _open_zstd(compressed, source)
    return with_head(io.BufferedReader(_LimitedStream(content, compressed, source), _BUFFER))


def with_head(stream: io.BufferedIOBase) -> io.BufferedReader:
    """A stream whose first bytes can be peeked at, however slowly they come."""
    return io.BufferedReader(_StreamWithHead(stream.read(HEAD), stream), _BUFFER)


class _StreamWithHead(io.RawIOBase):
    """A stream, and the head that was already read from it."""

    def __init__(self, head: bytes, rest: io.BufferedIOBase) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        if not self._head:
            return self._rest.readinto1(view)
        count = min(len(view), len(self._head))
        view[:count] = self._head[:count]
        self._head = self._head[count:]
        return count


class CountedStream(io.RawIOBase):
    """A stream that counts how much is read from it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self.count = 0

    def bytes_read(self) -> int:
        """How many bytes were read."""
        return self.count

    def readable(self) -> bool:
        """It always is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read a block and count it."""
        count = self._stream.readinto(buffer)
        self.count += count
        return count


class _LimitedStream(io.RawIOBase):
    """Decompressed content, up to the limit of the input."""

    def __init__(self, stream: io.BufferedIOBase, compressed: CountedStream, source: Input) -> None:
        self._stream = stream
        self._compressed = compressed
        self._source = source
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._stream.readinto1(buffer)
        self._count += count
        if self._count > self._source.limits.unpacked_from(self._compressed.count):
            raise too_much(self._source)
        return count


def _open_gzip(stream: io.RawIOBase) -> io.BufferedIOBase:
    return gzip.GzipFile(fileobj=cast("IO[bytes]", io.BufferedReader(stream, _BUFFER)))


def _open_zstd(compressed: CountedStream, source: Input) -> io.BufferedIOBase:
    return io.BufferedReader(_Frames(compressed, zstd_decompressor(), source), _BUFFER)


def zstd_decompressor() -> Callable[[], Any]:
    """What begins to decompress a zstd frame."""
    try:
        from backports import zstd
    except ImportError:
        raise missing_library("reading zstd", "zstd") from None
    return zstd.ZstdDecompressor


class _Frames(io.RawIOBase):
    """The content of zstd frames, one after the other. The number of tiny frames is limited.

    Each takes the library 8 us: 24 MB of empty ones would take 20 seconds.
    """

    def __init__(self, compressed: CountedStream, begin: Callable[[], Any], source: Input) -> None:
        self._compressed = compressed
        self._stream = io.BufferedReader(compressed, _BUFFER)
        self._begin = begin
        self._source = source
        self._frame = begin()
        self._frames = 1

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        while True:
            data = b""
            if self._frame.eof:
                data = self._frame.unused_data or self._stream.read(_STEP)
                if not data:
                    return 0
                self._frame = self._begin()
                self._frames += 1
                if self._frames > _FRAMES + self._compressed.count // _BYTES_A_FRAME:
                    problem = "it holds more frames of next to no bytes than a file of rows should"
                    raise BadInput(
                        self._source.label,
                        problem,
                        "`zstd -dc FILE | zstd > NEW` compresses it again",
                    )
            elif self._frame.needs_input:
                data = self._stream.read(_STEP)
                if not data:
                    raise EOFError
            if found := self._frame.decompress(data, len(view)):
                view[: len(found)] = found
                return len(found)
