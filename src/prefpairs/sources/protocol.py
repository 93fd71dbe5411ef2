"""What a source is: one module, two functions."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from prefpairs.sources.answer import Reading, ReadOptions


class Opened(NamedTuple):
    """How the records of one file are read, and what the user should know about it."""

    read: Callable[[bytes], Reading]
    notes: tuple[str, ...] = ()


class Source(Protocol):
    """A format of rollouts. Pure: bytes of one record in, candidates and losses out."""

    def looks_like(self, record: bytes) -> bool:
        """Whether a record is of this format."""
        ...

    def open_reader(self, shapes: Mapping[bytes, int], options: ReadOptions, label: str) -> Opened:
        """How the records of one file are read, given the shapes of some (see detect.py)."""
        ...
