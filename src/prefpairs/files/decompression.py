"""What packed streams hold, told by their first bytes."""

import gzip
import io
from collections.abc import Callable
from typing import IO, Any, cast

from prefpairs.errors import BadInput
from prefpairs.files.inputs import Input, too_much
from prefpairs.optional_libraries import missing_library

_BUFFER, _STEP = 1 << 18, 1 << 14
_FRAMES, _BYTES_A_FRAME = 10_000, 32
"""So many frames may be in a file, and another one for so many bytes: a row takes more."""

HEAD = 1 << 16
"""So much of a stream is looked at to tell what it is."""
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PASSED_OVER = tuple(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60))
"""Frames of zstd that hold no data, as pzstd writes them in front."""

PACKED = (_GZIP, _ZSTD, *_PASSED_OVER)
"""How packed streams begin."""


def unpacked(packed: "Counted", head: bytes, source: Input) -> io.BufferedReader:
    """What a packed stream holds, as long as it is no more than the input's limit."""
    unpacking = _open_gzip(packed) if head.startswith(_GZIP) else _open_zstd(packed, source)
    return with_head(io.BufferedReader(_Unpacked(unpacking, packed, source), _BUFFER))


def with_head(stream: io.BufferedIOBase) -> io.BufferedReader:
    """A stream whose first bytes are there to be peeked at, however slowly they come."""
    return io.BufferedReader(_Rejoined(stream.read(HEAD), stream), _BUFFER)


class _Rejoined(io.RawIOBase):
    """A stream together with the head that was read from it."""

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


class Counted(io.RawIOBase):
    """A stream that knows how much was read from it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self.count = 0

    def passed(self) -> int:
        """How much was read."""
        return self.count

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read, and count."""
        count = self._stream.readinto(buffer)
        self.count += count
        return count


class _Unpacked(io.RawIOBase):
    """What a packed stream unpacks to, as long as it is no more than the input's limit."""

    def __init__(self, stream: io.BufferedIOBase, packed: Counted, source: Input) -> None:
        self._stream = stream
        self._packed = packed
        self._source = source
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._stream.readinto1(buffer)
        self._count += count
        if self._count > self._source.limits.unpacked_from(self._packed.count):
            raise too_much(self._source)
        return count


def _open_gzip(stream: io.RawIOBase) -> io.BufferedIOBase:
    return gzip.GzipFile(fileobj=cast("IO[bytes]", io.BufferedReader(stream, _BUFFER)))


def _open_zstd(packed: Counted, source: Input) -> io.BufferedIOBase:
    try:
        from backports import zstd
    except ImportError:
        raise missing_library("reading .zst", "zstd") from None
    return io.BufferedReader(_Frames(packed, zstd.ZstdDecompressor, source), _BUFFER)


class _Frames(io.RawIOBase):
    """What frames of zstd hold, one after the other; those that hold next to nothing are counted.

    Each takes the library 8 us: 24 MB of empty ones would take 20 seconds.
    """

    def __init__(self, packed: Counted, begin: Callable[[], Any], source: Input) -> None:
        self._packed = packed
        self._stream = io.BufferedReader(packed, _BUFFER)
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
                if self._frames > _FRAMES + self._packed.count // _BYTES_A_FRAME:
                    problem = "it holds more frames of next to no bytes than a file of rows should"
                    raise BadInput(
                        self._source.label, problem, "`zstd -dc FILE | zstd > NEW` packs it anew"
                    )
            elif self._frame.needs_input:
                data = self._stream.read(_STEP)
                if not data:
                    raise EOFError
            if found := self._frame.decompress(data, len(view)):
                view[: len(found)] = found
                return len(found)
