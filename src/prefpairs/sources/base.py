"""What a source is: how rows of one rollout format are read, and what else is known of it."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.candidate import Candidate

if TYPE_CHECKING:
    from prefpairs.model.candidate import Trace

IndexedRow = tuple[bytes, float, int | None, bytes, tuple[str, ...]]
"""What the index stores of a row with one candidate: a digest of its question, its score, its
index, and the digest of its response; and what has to be noticed. Rows with equal questions have
equal group, prompt and tools."""


class Native(NamedTuple):
    """How the native core reads the usual rows of a source, where it is installed."""

    reader: str
    """The name of the class in the core that knows them."""
    candidate: Callable[[Any, str], tuple[Candidate, bytes, list[str]] | None] | None = None
    """What that class read in a row, and the row's origin, to its candidate, the digest of the
    response, and what has to be noticed. None if the core only indexes rows and makes pairs."""
    about: tuple[Any, ...] = ()
    """What that class must know of the rows."""


class FastReader(NamedTuple):
    """A fast reader for rows of the usual shape; for any other row it returns None.

    It must find exactly what the general reader finds: one candidate in each row.
    """

    index_rows: Callable[[Sequence[bytes]], Sequence[IndexedRow | None]]
    read: Callable[[bytes], RowOutcome | None]
    read_question: Callable[[bytes], Candidate | None] | None = None
    """A candidate with the question of an indexed row and no answer; faster than `read`."""


class RecordReader(NamedTuple):
    """How the records of one file are read, and notes for the user."""

    read: Callable[[bytes], RowOutcome]
    notes: tuple[str, ...] = ()
    fast_reader: FastReader | None = None
    native: Native | None = None
    facts: tuple[tuple[str, ...], ...] = ()
    """The facts that each row shows which the fast reader or the core reads."""


class Source(NamedTuple):
    """A format of rollouts. Pure: the bytes of one record in, candidates and losses out."""

    looks_like: Callable[[bytes], bool]
    """Whether a record is of this format."""
    open_reader: Callable[[Sequence[bytes], ReadOptions, str], RecordReader]
    """How the records of one file are read.

    A sample may decide which rows a fast reader reads, never what is read from them.
    """
    added_fields: Mapping[str, Any] = MappingProxyType({})
    """Fields that options may name although no row has them, each with an example of its value."""
    paths_start_at_row: bool = True
    """Whether the paths in options start at the row, rather than at a part of it."""
    advice: Mapping[str, str] = MappingProxyType({})
    """What to do about a reason for which most rows were dropped."""
    read_trace: "Callable[[bytes, str | None, bool], Trace] | None" = None
    """The trace in a record, for targets that are made from traces. Its reward is in a field of
    this name, if one is named; the pairs that it holds are read if they are asked for."""
