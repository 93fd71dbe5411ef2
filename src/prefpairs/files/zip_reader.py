"""The records in a zip archive whose layout is known; nothing is unpacked to the disk.

Members may be deflated, or compressed with zstd, which Python's own module reads from 3.14 on.
"""

import os
import posixpath
import shutil
import struct
import tempfile
import zlib
from collections.abc import Iterator
from typing import IO, NamedTuple, NoReturn

from prefpairs.errors import BadInput
from prefpairs.files.decompression import zstd_decompressor
from prefpairs.files.input_file import Input, too_much
from prefpairs.files.lines import Record, record_of
from prefpairs.model.record_layout import RecordLayout, joined

_END, _END64, _LOCATOR = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_MEMBER, _DATA = b"PK\x01\x02", b"PK\x03\x04"
_END_SIZE, _LOCATOR_SIZE, _END64_SIZE = 22, 20, 56
_LONGEST_COMMENT = 65_535
_HEAD = struct.Struct("<4s4xHHHHIIIHHHHHII")
_DATA_HEAD = struct.Struct("<4s22xHH")
_IN_EXTRA, _NUMBER64 = 0xFFFFFFFF, struct.Struct("<Q")
_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_ENCRYPTED = 1
_BLOCK = 1 << 18
_LARGEST_DIRECTORY = 1 << 25
"""Of some 300,000 members."""
_FRAMES, _BYTES_A_FRAME = 10_000, 32
"""How many zstd frames a member may have, and the bytes that allow one more."""


class _Member(NamedTuple):
    """A file in an archive: how and where it is stored."""

    name: str
    flags: int
    method: int
    checksum: int
    packed: int
    offset: int


def zip_records(stream: IO[bytes], source: Input) -> Iterator[Record]:
    """The records of an archive, each with the name of its member, in the order of the archive."""
    if stream.seekable():
        yield from _Archive(stream, source).records()
        return
    with tempfile.TemporaryFile() as spool:
        shutil.copyfileobj(stream, spool)
        yield from _Archive(spool, source).records()


class _Archive:
    """An archive that is being read, and how many bytes it may still unpack to."""

    def __init__(self, stream: IO[bytes], source: Input) -> None:
        self._stream = stream
        self._source = source
        self._size = stream.seek(0, os.SEEK_END)
        self._left = source.limits.unpacked_from(self._size)
        self._beside: tuple[str, bytes] = "", b""

    def records(self) -> Iterator[Record]:
        members = {member.name: member for member in self._members()}
        for layout in self._source.layouts:
            found = [member for name, member in members.items() if layout.records.search(name)]
            for member in found:
                yield self._record(member, layout, members)
            if found:
                return
        problem = "none of the files in this zip archive is known to hold rollouts"
        raise BadInput(self._source.label, problem, "unpack it, and name the files with rollouts")

    def _record(self, member: _Member, layout: RecordLayout, members: dict[str, _Member]) -> Record:
        data = self._content(member)
        folder = posixpath.dirname(member.name)
        for other in layout.beside:
            path = posixpath.normpath(posixpath.join(folder, other))
            if path in members:
                data = joined(data, layout.key, self._content_beside(members[path]))
                break
        longest = self._source.limits.line
        return record_of(1, 0, data, longest)._replace(member=member.name)

    def _content_beside(self, member: _Member) -> bytes:
        """The content of a file that many records share; the last one is remembered."""
        if self._beside[0] != member.name:
            self._beside = member.name, self._content(member)
        return self._beside[1]

    def _content(self, member: _Member) -> bytes:
        """What a member unpacks to, or one byte more than a line may have."""
        most = self._source.limits.line + 1
        parts: list[bytes] = []
        for part in self._unpacked(member):
            parts.append(part)
            most -= len(part)
            self._left -= len(part)
            if self._left < 0:
                raise too_much(self._source)
            if most <= 0:
                break
        content = b"".join(parts)
        if most > 0 and zlib.crc32(content) != member.checksum:
            self._refuse(f"{member.name} is damaged: its checksum differs")
        return content

    def _unpacked(self, member: _Member) -> Iterator[bytes]:
        if member.flags & _ENCRYPTED:
            self._refuse(f"{member.name} is encrypted")
        packed = self._packed(member)
        if member.method == _STORED:
            yield from packed
        elif member.method == _DEFLATED:
            inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            for block in packed:
                data, part = block, b""
                while data or len(part) == _BLOCK:  # what a full block leaves comes with the next
                    part = inflate.decompress(data, _BLOCK)
                    data = inflate.unconsumed_tail
                    yield part
            if not inflate.eof:
                raise EOFError
        elif member.method == _ZSTD:
            yield from self._of_frames(packed, member)
        else:
            self._refuse(f"{member.name} is compressed by method {member.method}")

    def _of_frames(self, packed: Iterator[bytes], member: _Member) -> Iterator[bytes]:
        """The content of zstd frames, one after the other. The number of frames is limited."""
        begin = zstd_decompressor()
        frame, frames = begin(), 1
        for block in packed:
            data = block
            while data or not (frame.eof or frame.needs_input):
                if frame.eof:
                    frame, frames = begin(), frames + 1
                    if frames > _FRAMES + member.packed // _BYTES_A_FRAME:
                        self._refuse(f"{member.name} holds frames of next to no bytes")
                yield frame.decompress(data, _BLOCK)
                data = frame.unused_data if frame.eof else b""
        if not frame.eof:
            raise EOFError

    def _packed(self, member: _Member) -> Iterator[bytes]:
        signature, name, extra = _DATA_HEAD.unpack(self._read(member.offset, _DATA_HEAD.size))
        if signature != _DATA:
            self._refuse(f"{member.name} is not where the archive says")
        place = member.offset + _DATA_HEAD.size + name + extra
        end = place + member.packed
        while place < end:
            block = self._read(place, min(_BLOCK, end - place))
            place += len(block)
            yield block

    def _members(self) -> Iterator[_Member]:
        """The members that the directory at the end of the archive lists."""
        place, end = self._directory()
        while place < end:
            head = _HEAD.unpack(self._read(place, _HEAD.size))
            if head[0] != _MEMBER:
                self._refuse("its directory is damaged")
            _, flags, method, _, _, checksum, packed, size, name, extra, comment, *rest = head
            place += _HEAD.size
            words = self._read(place, name + extra)
            place += name + extra + comment
            offset = rest[-1]
            if _IN_EXTRA in (packed, size, offset):
                packed, offset = self._large(words[name:], size, packed, offset)
            text = words[:name].decode("utf-8", "backslashreplace")
            yield _Member(text, flags, method, checksum, packed, offset)

    def _large(self, extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int]:
        """Sizes of more than 4 GB, which are in a field of their own (zip64)."""
        while len(extra) >= 4:
            kind, length = struct.unpack_from("<HH", extra)
            field, extra = extra[4 : 4 + length], extra[4 + length :]
            if kind != 1:
                continue
            numbers = [number for (number,) in _NUMBER64.iter_unpack(field[: length // 8 * 8])]
            if size == _IN_EXTRA and numbers:
                numbers.pop(0)
            if packed == _IN_EXTRA and numbers:
                packed = numbers.pop(0)
            if offset == _IN_EXTRA and numbers:
                offset = numbers.pop(0)
        return packed, offset

    def _directory(self) -> tuple[int, int]:
        """Where the directory begins and ends."""
        begin = max(0, self._size - _END_SIZE - _LONGEST_COMMENT)
        tail = self._read(begin, self._size - begin)
        found = tail.rfind(_END)
        if found < 0 or len(tail) - found < _END_SIZE:
            self._refuse("it ends too early: it was cut off or is still being written")
        size, place = struct.unpack_from("<II", tail, found + 12)
        locator = begin + found - _LOCATOR_SIZE
        if locator >= 0 and (mark := self._read(locator, _LOCATOR_SIZE)).startswith(_LOCATOR):
            (of_end,) = _NUMBER64.unpack_from(mark, 8)
            end = self._read(of_end, _END64_SIZE)
            if not end.startswith(_END64):
                self._refuse("its directory is damaged")
            size, place = struct.unpack_from("<QQ", end, 40)
        if place + size > self._size or size > _LARGEST_DIRECTORY:
            self._refuse("its directory is damaged")
        return place, place + size

    def _read(self, place: int, count: int) -> bytes:
        if place > self._size:
            self._refuse("it is damaged")
        self._stream.seek(place)
        data = self._stream.read(count)
        if len(data) < count:
            self._refuse("it ends too early: it was cut off or is still being written")
        return data

    def _refuse(self, problem: str) -> NoReturn:
        raise BadInput(self._source.label, f"not a zip archive that can be read ({problem})")
