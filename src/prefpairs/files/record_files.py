"""Files from which records are read again by offset and length: inputs, and temporary spools."""

import os
import resource
import tempfile
import time
from collections import OrderedDict
from contextlib import suppress
from typing import IO

from prefpairs.errors import FileError, InputChanged
from prefpairs.files.file_stamps import TICK
from prefpairs.files.file_system import BUFFER, errors_named, temporary_folder
from prefpairs.files.held_signals import held_signals
from prefpairs.files.inputs import Input
from prefpairs.files.open_input import fingerprint

_MOST_OPEN = 16
_SHARE_OPEN = 4
"""Record files take at most a quarter of the descriptors that the system allows."""
_MOST_HELD = 16 << 20
"""Bytes of small files kept in memory, so that they need not be opened a second time."""


class RecordFile:
    """A regular input file that was read once; any change to it since then is an error.

    `content` is the whole file if it is small.
    """

    def __init__(self, source: Input, seen: os.stat_result, content: bytes | None = None) -> None:
        self.label = source.label
        self.content = content
        self._source = source
        self._seen = fingerprint(seen)
        long_ago = abs(time.time_ns() - seen.st_ctime_ns) > TICK
        self._changed = seen.st_ctime_ns if long_ago else None
        """When the file last changed, if any later change would have another timestamp."""

    def open(self) -> int:
        """A descriptor of the same file to read from; InputChanged if it is another one."""
        if self._source.is_stdin:
            return os.dup(0)
        with errors_named(self.label):
            descriptor = os.open(self._source.path, os.O_RDONLY)
        self.check(descriptor)
        return descriptor

    def flush(self) -> None:
        """Do nothing: we never write to an input."""

    def check(self, descriptor: int) -> None:
        """Raise InputChanged if the file has changed."""
        self._compare(descriptor)

    def check_content(self, content: bytes) -> None:
        """Raise InputChanged if the file has changed, or its content is not this one.

        The time of the last change (ctime) cannot be set by users. The content is compared only
        where that time differs, or is too recent to show a change.
        """
        status = self._compare(self._source.path)
        if status.st_ctime_ns != self._changed:
            with errors_named(self.label), open(self._source.path, "rb") as file:
                same = file.read(len(content) + 1) == content
            if not same:
                raise InputChanged(self.label)

    def _compare(self, file: int | str) -> os.stat_result:
        try:
            status = os.stat(file)
        except OSError as error:
            raise FileError.of(self.label, error) from None
        if fingerprint(status) != self._seen:
            raise InputChanged(self.label)
        return status

    def close(self) -> None:
        """Do nothing: this object keeps no descriptor open."""


class Spool:
    """Lines written to an unnamed temporary file, which disappears with the process."""

    label = "the temporary file"

    def __init__(self, folder: str | None) -> None:
        with held_signals(), errors_named(folder or temporary_folder()):
            self._file: IO[bytes] = tempfile.TemporaryFile(  # noqa: SIM115 - closed by close()
                buffering=BUFFER, dir=folder, prefix="prefpairs-"
            )
        self._size = 0
        self._unflushed = False

    def append(self, line: bytes) -> int:
        """Write a line and return its offset."""
        offset = self._size
        try:
            self._file.write(line)
        except OSError as error:
            raise FileError.of(self.label, error) from None
        self._size += len(line)
        self._unflushed = True
        return offset

    def open(self) -> int:
        """A descriptor to read from."""
        return os.dup(self._file.fileno())

    def flush(self) -> None:
        """Make everything appended so far readable; more may follow."""
        if not self._unflushed:
            return
        with errors_named(self.label):
            self._file.flush()
        self._unflushed = False

    def check(self, descriptor: int) -> None:
        """Do nothing: no other process can reach an unnamed file."""

    def close(self) -> None:
        """Close the file, which deletes it."""
        with suppress(OSError):
            self._file.close()


class RecordFiles:
    """All record files of a run by number, with a bounded number of open descriptors."""

    def __init__(self) -> None:
        self._files: list[RecordFile | Spool] = []
        self._open: OrderedDict[int, int] = OrderedDict()
        self._held: dict[int, tuple[RecordFile, bytes]] = {}
        self._size_held = 0
        self._read_from_memory: set[int] = set()
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        few = allowed if allowed != resource.RLIM_INFINITY else _MOST_OPEN * _SHARE_OPEN
        self._most_open = max(1, min(_MOST_OPEN, few // _SHARE_OPEN))

    def add(self, file: RecordFile | Spool) -> int:
        """Add a file and return its number."""
        number = len(self._files)
        self._files.append(file)
        if isinstance(file, RecordFile) and file.content is not None:
            content, file.content = file.content, None
            if self._size_held + len(content) <= _MOST_HELD:
                self._held[number] = file, content
                self._size_held += len(content)
        return number

    def read(self, number: int, offset: int, length: int) -> bytes:
        """The bytes of a record of the file with this number."""
        held = self._held.get(number)
        if held is not None:
            self._read_from_memory.add(number)
            return held[1][offset : offset + length]
        self._files[number].flush()
        descriptor = self._open.get(number)
        if descriptor is None:
            descriptor = self._descriptor(number)
        try:
            data = os.pread(descriptor, length, offset)
            while len(data) < length:
                more = os.pread(descriptor, length - len(data), offset + len(data))
                if not more:
                    raise InputChanged(self._files[number].label)
                data += more
        except OSError as error:
            raise FileError.of(self._files[number].label, error) from None
        return data

    def check(self) -> None:
        """Raise InputChanged if a file that is open or was read from memory has changed."""
        for number in sorted(self._read_from_memory):
            file, content = self._held[number]
            file.check_content(content)
        for number, descriptor in self._open.items():
            self._files[number].check(descriptor)

    def close(self) -> None:
        """Close all files."""
        while self._open:
            with suppress(OSError):
                os.close(self._open.popitem()[1])
        for file in self._files:
            file.close()

    def _descriptor(self, number: int) -> int:
        """A newly opened descriptor; the one opened first is checked and closed to make room."""
        if len(self._open) >= self._most_open:
            oldest, unused = self._open.popitem(last=False)
            self._files[oldest].check(unused)
            with suppress(OSError):
                os.close(unused)
        descriptor = self._open[number] = self._files[number].open()
        return descriptor
