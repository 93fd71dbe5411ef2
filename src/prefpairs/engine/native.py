"""The seam to the native core (Rust): whether it is installed, and how rows are read with it.

Python is the law, the core is the speed. A row that the core does not know exactly goes to the
Python reader of its source, so errors, hints and rare shapes are in Python alone.
"""

import os
from array import array
from contextlib import suppress

from prefpairs import __version__

TYPE_CHECKING = False  # `prefpairs --version` does not wait for typing to be loaded
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from prefpairs.fields.row_outcome import RowOutcome
    from prefpairs.files.open_input import OpenInput
    from prefpairs.model.candidate import Candidate
    from prefpairs.sources.base import Native, RecordReader
    from prefpairs.stages.digest_table import DigestTable

VARIABLE = "PREFPAIRS_NATIVE"
_OFF, _ON, _REQUIRE = _WORDS = ("0", "1", "require")
_found: "dict[str, Any]" = {}


def native_core() -> "Any":
    """The module of the core, in the version of this program; None where Python reads all rows."""
    word = os.environ.get(VARIABLE) or _ON
    if word not in _found:
        _found[word] = _find(word)
    return _found[word]


def core_would_help() -> bool:
    """Whether a core would read rows if it were installed."""
    return native_core() is None and os.environ.get(VARIABLE) != _OFF


def _find(word: str) -> "Any":
    if word not in _WORDS:
        raise _refusal(word, None)
    if word == _OFF:
        return None
    core: Any = None
    try:
        import prefpairs_native as core
    except ModuleNotFoundError:
        pass
    except ImportError:
        from prefpairs.model.memory_guard import LIMITED

        if LIMITED:  # there is no memory to load it, and it would read nothing here
            return None
    version = core and core.__version__
    if version != __version__ and word == _REQUIRE:
        raise _refusal(word, version)
    return core if version == __version__ else None


def _refusal(word: str, version: "str | None") -> Exception:
    from prefpairs.errors import UnknownWord, UsageError

    if word != _REQUIRE:
        return UnknownWord(f"value of {VARIABLE}", word, _WORDS)
    problem = f"version {version} is installed" if version else "it is not installed"
    return UsageError(
        f"{VARIABLE}={word} needs the native core of prefpairs {__version__}; {problem}",
        f"unset {VARIABLE}",
    )


def engine() -> str:
    """Which engine reads rows."""
    return f"native {__version__}" if native_core() else "python"


def digest_table() -> "DigestTable":
    """A table that numbers digests: the core's takes a tenth of the time.

    It is not used where memory is limited: the core ends the process when there is none.
    """
    from prefpairs.model.memory_guard import LIMITED
    from prefpairs.stages.digest_table import DigestTable

    core = None if LIMITED else native_core()
    table: DigestTable = DigestTable() if core is None else core.DigestTable()
    return table


def opened_again(source: "bytes | int") -> "Any":
    """A file for the core: all its bytes, or the file of a descriptor; None if it cannot be opened.

    It is opened by way of `/dev/fd`, so the user must have the right to read it.
    """
    if isinstance(source, int):
        with suppress(OSError):
            return native_core().OpenFile(source)
        return None
    return source


class Core:
    """The core's reader of the rows of one source."""

    def __init__(self, native: "Native") -> None:
        self.format = native.reader, native.about
        self._reader: Any = None
        self._candidate = native.candidate
        self.groups = array("I")
        """The numbers that the columns gave to the groups of the reader."""
        self.begin()

    def begin(self) -> None:
        """Forget all questions that were indexed, which frees their memory."""
        reader, about = self.format
        self._reader = getattr(native_core(), reader)(*about)
        self.groups = array("I")

    def index(
        self, lines: "Sequence[bytes]", offsets: "Sequence[int]", longest: int
    ) -> "Iterable[int | tuple[Sequence[bytes], int, Mapping[str, int], bytes]]":
        """Lines to columns of candidates: of how many rows, what to notice, and digests of items.

        Between them are the places of lines that Python must read, the longest among them.
        """
        found: list[Any] = self._reader.index(lines, offsets, longest)
        return found

    def open_file(self, opened: "OpenInput") -> "Any":
        """A file for `index_file`: all its bytes, or itself; None if it cannot be opened again."""
        return opened_again(opened.descriptor if opened.content is None else opened.content)

    def index_file(self, *asked: "Any") -> "Iterator[tuple[int, list[Any]]]":
        """What is in the lines of a file, window by window, as the stub of the core says."""
        found: Iterator[tuple[int, list[Any]]] = self._reader.index_file(*asked)
        return found

    def pair_maker(self, threads: int) -> "Any":
        """What makes the lines of pairs, as the stub of the core says."""
        return self._reader.pair_maker(threads)

    def read(self, record: bytes, origin: str) -> "tuple[Candidate, bytes, list[str]] | None":
        """The candidate of a row, the digest of its response, and what has to be noticed."""
        from prefpairs.model.memory_guard import LIGHT

        if self._candidate is None or len(record) > LIGHT:
            return None
        row = self._reader.read(record)
        return None if row is None else self._candidate(row, origin)


def core_of_pairs() -> "Any":
    """The core's reader of pairs, if there is one."""
    from prefpairs.model.memory_guard import LIMITED

    core = native_core()
    return None if core is None or LIMITED else core.Pairs()


def core_for(how: "RecordReader", known: "dict[Native, Core] | None" = None) -> Core | None:
    """A reader of the core for the rows of a file, if it has one; it may be a known one."""
    from prefpairs.model.memory_guard import LIMITED

    if native_core() is None or how.native is None or LIMITED:
        return None
    known = {} if known is None else known
    if how.native not in known:
        known[how.native] = Core(how.native)
    return known[how.native]


def with_core(how: "RecordReader") -> "RecordReader":
    """How the rows of a file are read, by the core where it can."""
    core, fast_reader, native = core_for(how), how.fast_reader, how.native
    if core is None or fast_reader is None or native is None or native.candidate is None:
        return how

    def read_usual(record: bytes) -> "RowOutcome | None":
        from prefpairs.fields.row_outcome import RowOutcome

        found = core.read(record, "")
        return None if found is None else RowOutcome([found[0]], [1], noticed=found[2])

    def read(record: bytes) -> "RowOutcome":
        return read_usual(record) or how.read(record)

    return how._replace(read=read, fast_reader=fast_reader._replace(read=read_usual))
