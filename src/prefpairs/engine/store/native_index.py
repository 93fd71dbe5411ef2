"""Lines of a file into the candidate columns by the native core, in several threads.

A thread takes a window of a megabyte at a time, so a signal waits for a few milliseconds only. They
read on while we add what they found. Lines that the core does not know exactly come back, and are
read as all lines are without it.
"""

import io
from typing import Any

from prefpairs.engine.native import Core
from prefpairs.engine.store.index_lines import LineIndexer
from prefpairs.files.lines import lines_between, record_of
from prefpairs.files.nonblocking import CountBytes
from prefpairs.files.open_input import OpenInput
from prefpairs.model.memory_guard import LIGHT

_AT_ONCE = 1 << 20


class NativeIndexer(LineIndexer):
    """Indexes a file of lines, all at once."""

    def index_file(  # noqa: PLR0913 - the file, for us and for the core, and which lines of it
        self,
        core: Core,
        file: Any,
        opened: OpenInput,
        threads: int,
        passed: CountBytes | None,
        *,
        lines: tuple[int, int] | None = None,
    ) -> None:
        """Index all lines of a file, which the core has opened, too; or a range of whole lines."""
        ledger = self._reader.ledger
        before = ledger.rows_read
        first, end = lines = lines or (opened.lines_from or 0, opened.size)
        longest = min(self._longest, LIGHT)
        windows = core.index_file(file, lines, _AT_ONCE, longest, threads)
        for start, (number, parts) in zip(range(first, end, _AT_ONCE), windows, strict=True):
            for part in parts:
                self._add_part(core, part, opened)
            self.lines += number
            if passed is not None:
                passed(min(_AT_ONCE, end - start))
        ledger.add_rows(self._label, ledger.rows_read - before)

    def _add_part(self, core: Core, part: Any, opened: OpenInput) -> None:
        """Add columns that the core filled, or read a line that it handed up."""
        if isinstance(part[0], int):
            place, offset, line = part
            number = self.lines + 1 + place
            data = _line_at(opened, offset, self._longest) if line is None else line
            self._add_any(record_of(number, offset, data, self._longest))
            return
        self._add_found(core, part, self.lines + 1)


def _line_at(opened: OpenInput, offset: int, longest: int) -> bytes:
    """A long line, or as much of it as shows that it is too long."""
    if opened.content is not None:
        return io.BytesIO(opened.content[offset:]).readline(longest + 1)
    return lines_between(opened.descriptor, offset, opened.size).readline(longest + 1)
