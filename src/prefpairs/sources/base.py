"""What a source is: one module, two functions."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from prefpairs.fields.answer import Reading, ReadOptions
from prefpairs.model.candidate import Candidate

Scanned = tuple[bytes, float, int | None, bytes]
"""What the index remembers of a row with one candidate: question, score, index and the digest
of the response. Rows with equal questions agree in group, prompt and tools."""


class Shortcut(NamedTuple):
    """A quicker way to read rows of the most usual shape; nothing comes back of any other.

    What it finds must be what `read` finds. Its own `read` is told the origin of the row, and
    gives the row's one candidate with the digest of the response.
    """

    scan: Callable[[Sequence[bytes]], Sequence[Scanned | None]]
    read: Callable[[bytes, str], tuple[Candidate, bytes] | None]
    ask: Callable[[bytes], Candidate | None] | None = None
    """A candidate with the question of a scanned row and no answer, for less than `read` takes."""
    shown: tuple[tuple[str, ...], ...] = ()
    """What each of these rows shows of how all must be read."""


class Opened(NamedTuple):
    """How the records of one file are read, and what the user should know about it."""

    read: Callable[[bytes], Reading]
    notes: tuple[str, ...] = ()
    shortcut: Shortcut | None = None


class Source(Protocol):
    """A format of rollouts. Pure: bytes of one record in, candidates and losses out."""

    def looks_like(self, record: bytes) -> bool:
        """Whether a record is of this format."""
        ...

    def open_reader(self, sample: Sequence[bytes], options: ReadOptions, label: str) -> Opened:
        """How the records of one file are read.

        A sample of them may decide on a quicker way for those like it, never on what is read.
        """
        ...
